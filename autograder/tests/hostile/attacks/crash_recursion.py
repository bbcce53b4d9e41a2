"""Recurse without a limit, until the stack ends."""

import sys


def split_kv_decode(*args, **kwargs):
    sys.setrecursionlimit(1 << 30)
    nested = []
    for _ in range(1 << 20):
        nested = [nested]
    return repr(nested)
