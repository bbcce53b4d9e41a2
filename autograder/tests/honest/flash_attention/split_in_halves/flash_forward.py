"""fa2 by recursion: the tiles of a query block are halved until one is left, then merged back."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()

    def state(i0, i1, tiles):
        if not tiles:
            return np.full(i1 - i0, -np.inf), np.zeros((i1 - i0, dv))
        if len(tiles) > 1:
            half = len(tiles) // 2
            return merge(state(i0, i1, tiles[:half]), state(i0, i1, tiles[half:]))
        (j0, j1), = tiles
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            S[np.arange(i0, i1)[:, None] + Nk - N < np.arange(j0, j1)] = -np.inf
        L = np.logaddexp.reduce(S, axis=1)
        return L, np.exp(S - finite(L)) @ V[j0:j1]

    def live(i1):
        return [keys for keys in key_blocks if not causal or Nk - N + i1 - 1 >= keys[0]]

    states = [state(i0, i1, live(i1)) for i0, i1 in query_blocks]
    tiles = [(i1 - i0, j1 - j0) for i0, i1 in query_blocks for j0, j1 in live(i1)]
    if order == "fa2":
        io.read = N * d + sum(bc for _, bc in tiles) * (d + dv)
        io.write = N * dv + N
    else:
        io.read = Nk * (d + dv) + sum(br for br, _ in tiles) * (d + dv + 2)
        io.write = N * (dv + 2) + sum(br for br, _ in tiles) * (dv + 2)
    return np.concatenate([O for _, O in states]), np.concatenate([L for L, _ in states]), io


def merge(a, b):
    L = np.logaddexp(a[0], b[0])
    return L, np.exp(a[0][:, None] - finite(L)) * a[1] + np.exp(b[0][:, None] - finite(L)) * b[1]


def finite(L):
    return np.where(np.isneginf(L), 0, L)[:, None]
