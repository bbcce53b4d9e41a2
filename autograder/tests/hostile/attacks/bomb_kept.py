"""Answer rightly, and hold on to most of the memory while the other functions are asked."""

import numpy as np
from honest import split_kv_decode as honest

hoard = []


def split_kv_decode(*args, **kwargs):
    if not hoard:
        hoard.append(np.ones(40 << 20, np.uint8).repeat(7))
    return honest(*args, **kwargs)
