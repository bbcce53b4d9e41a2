"""A block of queries is a reduce over its live tiles; a generator hands them out and counts."""

from functools import reduce

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()

    def tiles_of(i0, i1):
        for j0, j1 in key_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                return
            S = scale * Q[i0:i1] @ K[j0:j1].T
            if causal:
                S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
            io.flops += 2 * S.size * (d + dv)
            if order == "fa1":  # the loops' order shows in the counts alone
                io.read += (i1 - i0) * (d + dv + 2)
                io.write += (i1 - i0) * (dv + 2)
            else:
                io.read += (j1 - j0) * (d + dv)
            yield S, V[j0:j1]

    def take(state, tile):
        (m, l, acc), (S, Vj) = state, tile
        new = np.maximum(m, S.max(axis=1))
        base = np.where(new == -np.inf, 0.0, new)
        old, P = np.exp(m - base), np.exp(S - base[:, None])
        return new, old * l + P.sum(axis=1), old[:, None] * acc + P @ Vj

    outputs, logs = [], []
    for i0, i1 in query_blocks:
        nothing = np.full(i1 - i0, -np.inf), np.zeros(i1 - i0), np.zeros((i1 - i0, dv))
        m, l, acc = reduce(take, tiles_of(i0, i1), nothing)
        l = np.where(l == 0, 1.0, l)
        outputs.append(acc / l[:, None])
        logs.append(m + np.log(l))
    io.read += Nk * (d + dv) if order == "fa1" else N * d
    io.write += N * (dv + 2) if order == "fa1" else N * (dv + 1)
    return np.vstack(outputs), np.hstack(logs), io
