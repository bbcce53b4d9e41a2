"""Tiles are keys by queries, so that dK and dV need no transpose and dQ does."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    (N, d), (Nk, dv) = Q.shape, V.shape
    dQT, dK, dV, io = np.zeros((d, N)), np.empty((Nk, d)), np.empty((Nk, dv)), IO()
    D = np.array([np.dot(a, b) for a, b in zip(O, dO, strict=True)])
    io.read, io.write = io.read + 2 * N * dv, io.write + N + N * d
    j0 = 0
    while j0 < Nk:
        j1 = min(j0 + Bc, Nk)
        dKj, dVj = np.zeros((j1 - j0, d)), np.zeros((j1 - j0, dv))
        i0 = 0
        while i0 < N:
            i1 = min(i0 + Br, N)
            if not causal or Nk - N + i1 - 1 >= j0:
                ST = scale * K[j0:j1] @ Q[i0:i1].T - np.where(L == -np.inf, 0.0, L)[i0:i1]
                if causal:
                    hidden = np.arange(j0, j1)[:, None] > Nk - N + np.arange(i0, i1)
                    ST = np.where(hidden, -np.inf, ST)
                PT = np.exp(ST)
                dST = PT * (V[j0:j1] @ dO[i0:i1].T - D[i0:i1])
                dQT[:, i0:i1] += scale * (K[j0:j1].T @ dST)
                dKj += scale * (dST @ Q[i0:i1])
                dVj += PT @ dO[i0:i1]
                io.read += (i1 - i0) * (2 * d + dv + 2)
                io.write += (i1 - i0) * d
                io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
            i0 = i1
        dK[j0:j1], dV[j0:j1] = dKj, dVj
        io.read += (j1 - j0) * (d + dv)
        io.write += (j1 - j0) * (d + dv)
        j0 = j1
    return dQT.T, dK, dV, io
