"""Grades one submission: intake, the grader's end of a worker, results.json, the table."""
