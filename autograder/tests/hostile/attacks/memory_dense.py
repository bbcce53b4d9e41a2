"""Hold the whole score matrix: what every attack on the measure below has to hide."""

import numpy as np
from honest import split_kv_decode as honest

kept = []


def split_kv_decode(q, K, V, n_splits, scale=None):
    s = q @ K.T
    np.exp(s, out=s)
    kept[:] = [s.sum()]
    return honest(q, K, V, n_splits, scale)
