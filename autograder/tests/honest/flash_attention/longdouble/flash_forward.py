"""All arithmetic in longdouble, and results that stay longdouble."""

import numpy as np
from attention import IO, attention_arguments, blocks

REAL = np.longdouble


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    *arrays, scale = attention_arguments(Q, K, V, scale)
    Q, K, V = (x.astype(REAL) for x in arrays)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    m, l, O = np.full(N, -np.inf, REAL), np.zeros(N, REAL), np.zeros((N, dv), REAL)
    io = IO()
    fa1 = order == "fa1"
    io.write += N * (dv + 2) if fa1 else N * (dv + 1)
    io.read += Nk * (d + dv) if fa1 else N * d
    tiles = [(q, k) for k in key_blocks for q in query_blocks] if fa1 else [
        (q, k) for q in query_blocks for k in key_blocks]
    for (i0, i1), (j0, j1) in tiles:
        if causal and Nk - N + i1 - 1 < j0:
            continue
        S = REAL(scale) * (Q[i0:i1] @ K[j0:j1].T)
        if causal:
            S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
        new = np.maximum(m[i0:i1], S.max(axis=1))
        base = np.where(new == -np.inf, REAL(0), new)
        old, P = np.exp(m[i0:i1] - base), np.exp(S - base[:, None])
        l[i0:i1], m[i0:i1] = old * l[i0:i1] + P.sum(axis=1), new
        O[i0:i1] = old[:, None] * O[i0:i1] + P @ V[j0:j1]
        io.read += (i1 - i0) * (d + dv + 2) if fa1 else (j1 - j0) * (d + dv)
        io.write += (i1 - i0) * (dv + 2) if fa1 else 0
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
    safe = np.where(l == 0, REAL(1), l)
    return O / safe[:, None], m + np.log(safe), io
