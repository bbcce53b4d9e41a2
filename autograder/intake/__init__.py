"""Reads what a student handed in, whatever it is, into source texts; runs nothing of it."""
