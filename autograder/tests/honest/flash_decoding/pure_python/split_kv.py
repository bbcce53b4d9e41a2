"""Honest: loops over numbers, numpy only to hold what comes in and what goes out."""

import math

import numpy as np


def attend(query, K, V, scale):
    scores = [scale * sum(x * y for x, y in zip(query, key)) for key in K]  # noqa: B905
    m = max(scores)
    weights = [math.exp(s - m) for s in scores]
    l = math.fsum(weights)
    o = [math.fsum(w * v[j] for w, v in zip(weights, V)) / l  # noqa: B905
         for j in range(len(V[0]))]
    return o, m + math.log(l)


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x, dtype=np.float64) for x in (q, K, V))
    if scale is None:
        scale = 1 / math.sqrt(q.shape[1])
    S = len(K)
    n = min(n_splits, S)
    base, more = divmod(S, n)
    parts, start = [], 0
    for i in range(n):
        stop = start + base + (i < more)
        keys, values = K[start:stop].tolist(), V[start:stop].tolist()
        rows = [attend(query, keys, values, scale) for query in q.tolist()]
        parts.append((np.array([o for o, _ in rows]), np.array([lse for _, lse in rows])))
        start = stop
    o, lse = [], []
    for row in range(len(q)):
        m = max(part[1][row] for part in parts)
        weights = [math.exp(part[1][row] - m) for part in parts]
        o.append([math.fsum(w * part[0][row][j] for w, part in zip(weights, parts))  # noqa: B905
                  / math.fsum(weights) for j in range(V.shape[1])])
        lse.append(m + math.log(math.fsum(weights)))
    return np.array(o), np.array(lse), parts
