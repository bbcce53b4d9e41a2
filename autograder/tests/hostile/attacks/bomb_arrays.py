"""Fill the memory with arrays, and go on after each MemoryError."""

import numpy as np


def split_kv_decode(*args, **kwargs):
    hoard, size = [], 1 << 24
    while True:
        try:
            hoard.append(np.ones(size))
        except MemoryError:
            size = max(1, size // 2)
