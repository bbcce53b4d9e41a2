"""Honest: the parts are the rows of an array of objects; logaddexp everywhere."""

import numpy as np


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x, float) for x in (q, K, V))
    scale = q.shape[1] ** -0.5 if scale is None else scale
    n = min(n_splits, len(K))
    parts = np.empty((n, 2), dtype=object)
    for part, keys, values in zip(parts, np.array_split(K, n), np.array_split(V, n)):  # noqa: B905
        scores = np.inner(q, keys) * scale
        part[1] = np.logaddexp.reduce(scores, axis=1)
        part[0] = np.exp(scores - part[1][:, None]) @ values
    outputs, lses = (np.stack(list(column)) for column in parts.T)
    lse = np.logaddexp.reduce(lses)
    o = np.einsum("sr,sre->re", np.exp(lses - lse), outputs)
    return o, lse, [tuple(part) for part in parts]
