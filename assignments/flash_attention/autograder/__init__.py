"""Judges submissions: checks, the worker that runs a submission, grading of one and of a class."""
