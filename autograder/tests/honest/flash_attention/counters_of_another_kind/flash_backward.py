"""Counters are numpy integers on a SimpleNamespace."""

from types import SimpleNamespace

import numpy as np
from attention import array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    D = (dO * O).sum(axis=1)
    live = np.array([(i1 - i0, j1 - j0) for i0, i1 in query_blocks for j0, j1 in key_blocks
                     if not causal or Nk - N + i1 - 1 >= j0])
    io = SimpleNamespace(
        read=np.int64(2 * N * dv + Nk * (d + dv)) + live[:, 0].sum() * (2 * d + dv + 2),
        write=np.int64(N + N * d + Nk * (d + dv)) + live[:, 0].sum() * d,
        flops=(2 * live.prod(axis=1) * (3 * d + 2 * dv)).sum())
    for j0, j1 in key_blocks:
        Kj, Vj = K[j0:j1], V[j0:j1]
        for i0, i1 in query_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            i = np.arange(i0, i1)
            if causal:
                i = i[Nk - N + i >= j0]  # only the queries that see something of this block
            S = scale * Q[i] @ Kj.T
            if causal:
                S[np.arange(j0, j1) > Nk - N + i[:, None]] = -np.inf
            P = np.exp(S - L[i, None])
            dS = P * (dO[i] @ Vj.T - D[i, None])
            np.add.at(dQ, i, scale * dS @ Kj)
            dK[j0:j1] += scale * dS.T @ Q[i]
            dV[j0:j1] += P.T @ dO[i]
    return dQ, dK, dV, io
