"""Each order sweeps its tiles twice, for the maxima and for the rest, and counts them once."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    position = np.arange(Nk - N, Nk)
    outer, inner = (key_blocks, query_blocks) if order == "fa1" else (query_blocks, key_blocks)
    tiles = [(a, b) if order == "fa2" else (b, a) for a in outer for b in inner]
    tiles = [(q, k) for q, k in tiles if not causal or position[q[1] - 1] >= k[0]]

    def scores(queries, keys):
        S = scale * Q[slice(*queries)] @ K[slice(*keys)].T
        sees = position[slice(*queries), None] >= np.arange(*keys)
        return np.where(sees, S, -np.inf) if causal else S

    m = np.full(N, -np.inf)
    for queries, keys in tiles:
        rows = slice(*queries)
        m[rows] = np.maximum(m[rows], scores(queries, keys).max(axis=1))
    base = np.where(np.isneginf(m), 0, m)
    l, O = np.zeros(N), np.zeros((N, dv))
    for queries, keys in tiles:
        rows = slice(*queries)
        P = np.exp(scores(queries, keys) - base[rows, None])
        l[rows] += P.sum(axis=1)
        O[rows] += P @ V[slice(*keys)]
    seen = l > 0
    O[seen] /= l[seen, None]
    L = np.where(seen, m + np.log(np.where(seen, l, 1)), -np.inf)
    return O, L, traffic(order, tiles, N, Nk, d, dv)


def traffic(order, tiles, N, Nk, d, dv):
    rows, columns = [q[1] - q[0] for q, _ in tiles], [k[1] - k[0] for _, k in tiles]
    flops = 2 * (d + dv) * int(np.dot(rows, columns))
    if order == "fa2":
        return IO(N * d + sum(columns) * (d + dv), N * dv + N, flops)
    return IO(Nk * (d + dv) + sum(rows) * (d + dv + 2),
              N * dv + 2 * N + sum(rows) * (dv + 2), flops)
