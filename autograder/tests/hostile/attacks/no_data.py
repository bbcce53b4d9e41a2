"""Return what is no data: generators, modules, functions, frames, files, the interpreter."""

import itertools
import sys

import numpy as np

KINDS = itertools.cycle((
    (n for n in itertools.count()), sys, sys._getframe(), sys.stdout,
    type, object(), iter([]), memoryview(b"x"), range(10**9), np, lambda: 1, b"bytes", {1, 2},
    1j, Exception("x"), NotImplemented, ..., slice(None),
))


def split_kv_decode(*args, **kwargs):
    return next(KINDS)
