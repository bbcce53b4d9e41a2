"""A row keeps an old maximum until it is too small by 8, so that most tiles rescale nothing."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    acc, l, m, io = np.zeros((N, dv)), np.zeros(N), np.full(N, -np.inf), IO()

    def visit(i0, i1, j0, j1):
        i, j = slice(i0, i1), slice(j0, j1)
        S = scale * Q[i] @ K[j].T
        if causal:
            S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
        top = S.max(axis=1)
        with np.errstate(invalid="ignore"):
            stale = top - m[i] > 8.0  # False where nothing was seen yet and nothing is seen now
        if stale.any():
            rows = np.flatnonzero(stale) + i0
            factor = np.exp(m[rows] - top[stale])
            l[rows] *= factor
            acc[rows] *= factor[:, None]
            m[rows] = top[stale]
        P = np.exp(S - np.where(m[i] == -np.inf, 0.0, m[i])[:, None])
        l[i] += P.sum(axis=1)
        acc[i] += P @ V[j]
        io.flops += 2 * S.size * (d + dv)

    if order == "fa1":
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if not causal or Nk - N + i1 - 1 >= j0:
                    visit(i0, i1, j0, j1)
                    io.read += (i1 - i0) * (d + dv + 2)
                    io.write += (i1 - i0) * (dv + 2)
    else:
        for i0, i1 in query_blocks:
            io.read += (i1 - i0) * d
            for j0, j1 in key_blocks:
                if not causal or Nk - N + i1 - 1 >= j0:
                    visit(i0, i1, j0, j1)
                    io.read += (j1 - j0) * (d + dv)
            io.write += (i1 - i0) * (dv + 1)
    l[l == 0] = 1.0
    return acc / l[:, None], m + np.log(l), io
