"""Grades one submission: the grader's end of a worker, results.json, the table."""

import ctypes
import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the oracle's matrices are small: threads cost, not help

try:  # and the C library keeps their memory from one to the next instead of clearing it each time
    for _what, _bytes in ((-3, 32 << 20), (-1, 128 << 20)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
        ctypes.CDLL(None).mallopt(_what, _bytes)
except (OSError, AttributeError):
    pass  # another C library
