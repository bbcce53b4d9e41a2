"""Honest: computed and returned in long double; Fortran-ordered outputs; heads one by one."""

import numpy as np


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x).astype(np.longdouble) for x in (q, K, V))
    scale = 1 / np.sqrt(np.longdouble(q.shape[1])) if scale is None else scale
    edges = np.unique(np.linspace(0, len(K), n_splits + 1).astype(int))
    parts = []
    for start, stop in zip(edges[:-1], edges[1:]):  # noqa: B905
        o = np.empty((len(q), V.shape[1]), np.longdouble, order="F")
        lse = np.empty(len(q), np.longdouble)
        for row, head in enumerate(q):
            s = K[start:stop] @ head * scale
            w = np.exp(s - s.max())
            lse[row] = s.max() + np.log(w.sum())
            o[row] = w @ V[start:stop] / w.sum()
        parts.append((o, lse))
    top = np.maximum.reduce([lse for _, lse in parts])
    total = sum(np.exp(lse - top) for _, lse in parts)
    o = sum((np.exp(lse - top) / total)[:, None] * o for o, lse in parts)
    return np.asfortranarray(o), top + np.log(total), parts
