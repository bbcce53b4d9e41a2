"""Hang in C code that holds the interpreter's lock, so that no Python code can interrupt it."""

import re


def split_kv_decode(*args, **kwargs):
    re.match(r"(a+)+$", "a" * 64 + "b")
