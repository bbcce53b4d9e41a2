"""Scores in base 2, as fast kernels keep them; L becomes natural at the end."""

import math

import numpy as np
from attention import IO, attention_arguments, blocks

LN2 = math.log(2)


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()
    m, l, O = np.full(N, -np.inf), np.zeros(N), np.zeros((N, dv))

    def tile(i0, i1, j0, j1):
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
        S = (scale / LN2) * (Q[i0:i1] @ K[j0:j1].T)
        if causal:
            S = np.where(np.arange(j0, j1) <= Nk - N + np.arange(i0, i1)[:, None], S, -np.inf)
        m_new = np.maximum(m[i0:i1], S.max(axis=1))
        base = np.where(np.isinf(m_new), 0.0, m_new)
        old, P = np.exp2(m[i0:i1] - base), np.exp2(S - base[:, None])
        l[i0:i1] = old * l[i0:i1] + P.sum(axis=1)
        O[i0:i1] = old[:, None] * O[i0:i1] + P @ V[j0:j1]
        m[i0:i1] = m_new

    def dead(i1, j0):
        return causal and Nk - N + i1 - 1 < j0

    if order == "fa2":
        for i0, i1 in query_blocks:
            io.read += (i1 - i0) * d
            for j0, j1 in key_blocks:
                if not dead(i1, j0):
                    io.read += (j1 - j0) * (d + dv)
                    tile(i0, i1, j0, j1)
            io.write += (i1 - i0) * (dv + 1)
    else:
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if not dead(i1, j0):
                    io.read += (i1 - i0) * (d + dv + 2)
                    tile(i0, i1, j0, j1)
                    io.write += (i1 - i0) * (dv + 2)
    safe = np.where(l > 0, l, 1.0)
    return O / safe[:, None], LN2 * (m + np.log2(safe)), io
