"""Return NaN and infinities wherever a number is expected."""

import itertools

import numpy as np
from honest import split_kv_decode as honest

VALUES = itertools.cycle((np.nan, np.inf, -np.inf))


def split_kv_decode(*args, **kwargs):
    o, lse, parts = honest(*args, **kwargs)
    value = next(VALUES)
    return o * value, lse * value, [(a * value, b * value) for a, b in parts]
