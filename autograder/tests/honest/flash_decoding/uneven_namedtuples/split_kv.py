"""Honest: the last part is twice as long as the others, as it may be; results are namedtuples."""

from collections import namedtuple

import numpy as np

Part = namedtuple("Part", "o lse")
Decoded = namedtuple("Decoded", "o lse parts")


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x, dtype=np.float64) for x in (q, K, V))
    scale = q.shape[1] ** -0.5 if scale is None else scale
    S = len(K)
    size = max(1, S // n_splits)
    edges = list(range(0, S, size))[:n_splits]
    if S - edges[-1] > 2 * -(-S // n_splits):  # the remainder is too long for one part
        edges = [S * i // n_splits for i in range(n_splits)]
    elif len(edges) > 2 and S - edges[-2] <= 2 * -(-S // n_splits):
        edges.pop()
    parts = []
    for start, stop in zip(edges, [*edges[1:], S]):  # noqa: B905
        s = q @ K[start:stop].T * scale
        lse = np.logaddexp.reduce(s, axis=1)
        parts.append(Part(np.exp(s - lse[:, None]) @ V[start:stop], lse))
    lse = parts[0].lse
    for part in parts[1:]:
        lse = np.logaddexp(lse, part.lse)
    o = np.zeros_like(parts[0].o)
    for part in reversed(parts):
        o = o + part.o * np.exp(part.lse - lse).reshape(-1, 1)
    return Decoded(o, lse, parts)
