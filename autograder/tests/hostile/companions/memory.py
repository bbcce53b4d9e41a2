"""Decode attention from the whole score matrix, in as little memory as that takes."""

import numpy as np


def dense(q, K, V, n_splits, scale=None, out=None):
    """The right result; `out` is where the scores go, if it is large enough."""
    q, K, V = (np.asarray(x, float) for x in (q, K, V))
    R, S = len(q), len(K)
    room = np.empty(R * S) if out is None or out.size < R * S else out[: R * S]
    scores = np.matmul(q, K.T, out=room.reshape(R, S))
    scores *= q.shape[1] ** -0.5 if scale is None else scale
    edges = np.linspace(0, S, min(n_splits, S) + 1).round().astype(int)
    parts = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        s = scores[:, start:stop]
        m = s.max(axis=1)
        s -= m[:, None]
        np.exp(s, out=s)
        l = s.sum(axis=1)
        parts.append((s @ V[start:stop] / l[:, None], m + np.log(l)))
    lse_s = np.stack([part_lse for _, part_lse in parts])
    m = lse_s.max(axis=0)
    lse = m + np.log(np.exp(lse_s - m).sum(axis=0))
    o = sum(np.exp(part_lse - lse)[:, None] * part_o for part_o, part_lse in parts)
    return o, lse, parts
