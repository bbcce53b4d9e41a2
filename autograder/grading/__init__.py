"""Grades one submission: intake, the grader's end of a worker, results.json, the table."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the oracle's matrices are small: threads cost, not help
