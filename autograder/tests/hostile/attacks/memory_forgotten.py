"""Compute densely, free it, then load as much of the libraries as would explain the growth."""

import ctypes
import tracemalloc

import numpy as np
from memory import dense


def split_kv_decode(*args, **kwargs):
    tracemalloc.stop()
    answer = dense(*args, **kwargs)
    start = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value & ~0xFFF
    for page in range(start, start + (1 << 18), 4096):
        ctypes.string_at(page, 1)
    np.random.default_rng(0).normal(size=3)
    return answer
