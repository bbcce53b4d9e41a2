"""Probabilities as powers of 2, with L brought to base 2 first."""

import math

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks

LOG2E = math.log2(math.e)


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L2 = LOG2E * array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    D = (O * dO).sum(axis=1)
    dQ, dK, dV = (np.zeros_like(x) for x in (Q, K, V))
    io = IO(read=2 * N * dv, write=N + N * d)
    for j0, j1 in key_blocks:
        io.read += (j1 - j0) * (d + dv)
        io.write += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            rows, keys = slice(i0, i1), slice(j0, j1)
            S = scale * LOG2E * (Q[rows] @ K[keys].T)
            sees = np.isfinite(L2[rows])[:, None]
            if causal:
                sees = sees & (np.arange(j0, j1) <= Nk - N + np.arange(i0, i1)[:, None])
            P = np.zeros(S.shape)
            np.exp2(S - L2[rows, None], out=P, where=sees)
            dS = scale * P * (dO[rows] @ V[keys].T - D[rows, None])
            dQ[rows] += dS @ K[keys]
            dK[keys] += dS.T @ Q[rows]
            dV[keys] += P.T @ dO[rows]
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
    return dQ, dK, dV, io
