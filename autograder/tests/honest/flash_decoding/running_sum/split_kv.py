"""Honest: parts are computed from the last key to the first; o keeps a running (m, l, acc)."""

import numpy as np


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x, dtype=np.float64) for x in (q, K, V))
    scale = q.shape[1] ** -0.5 if scale is None else scale
    S, n = len(K), min(n_splits, len(K))
    m = np.full((len(q), 1), -1e300)
    l = np.zeros((len(q), 1))
    acc = np.zeros((len(q), V.shape[1]))
    parts = []
    stop = S
    for left in range(n, 0, -1):
        start = stop - -(-stop // left)
        s = q @ K[start:stop].T
        s *= scale
        own = s.max(axis=1, keepdims=True)
        s -= own
        np.exp(s, out=s)
        total, summed = s.sum(axis=1, keepdims=True), s @ V[start:stop]
        new = np.maximum(m, own)
        l = l * np.exp(m - new) + total * np.exp(own - new)
        acc = acc * np.exp(m - new) + summed * np.exp(own - new)
        m, stop = new, start
        parts.insert(0, (summed / total, (own + np.log(total)).ravel()))
    return acc / l, (m + np.log(l)).ravel(), parts
