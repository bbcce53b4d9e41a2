"""One boolean mask for the whole matrix, sliced per tile; a tile is live when any entry is."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    sees = np.tri(N, Nk, Nk - N, dtype=bool) if causal else np.ones((N, Nk), dtype=bool)
    O, l, m, io = np.zeros((N, dv)), np.zeros((N, 1)), np.full((N, 1), -np.inf), IO()

    def tile(i0, i1, j0, j1):
        visible = sees[i0:i1, j0:j1]
        if not visible.any():
            return False
        i = slice(i0, i1)
        S = np.where(visible, scale * Q[i] @ K[j0:j1].T, -np.inf)
        new = np.maximum(m[i], S.max(axis=1, keepdims=True))
        base = np.where(new > -np.inf, new, 0)
        P, old = np.exp(S - base), np.exp(m[i] - base) * l[i]
        total = old + P.sum(axis=1, keepdims=True)
        O[i] = np.where(total > 0, (O[i] * old + P @ V[j0:j1]) / np.where(total > 0, total, 1), 0)
        l[i], m[i] = total, new
        io.flops += 2 * visible.size * (d + dv)
        return True

    if order == "fa1":
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                live = tile(i0, i1, j0, j1)
                io.read += live * (i1 - i0) * (d + dv + 2)
                io.write += live * (i1 - i0) * (dv + 2)
    else:
        for i0, i1 in query_blocks:
            io.read += (i1 - i0) * d
            for j0, j1 in key_blocks:
                io.read += tile(i0, i1, j0, j1) * (j1 - j0) * (d + dv)
            io.write += (i1 - i0) * (dv + 1)
    return O, (m + np.log(np.where(l > 0, l, 1)))[:, 0], io
