"""The last tiles are filled up with zeros to full size; padded queries have L = inf."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    (N, d), (Nk, dv) = Q.shape, V.shape
    rows, keys = (0, -N % Br), (0, -Nk % Bc)
    Q, dO, D = (np.pad(x, (rows, (0, 0))) for x in (Q, dO, (dO * O).sum(axis=1)[:, None]))
    L = np.pad(np.where(L == -np.inf, np.inf, L), rows, constant_values=np.inf)
    K, V = (np.pad(x, (keys, (0, 0))) for x in (K, V))
    dQ, dK, dV = np.zeros(Q.shape), np.zeros(K.shape), np.zeros(V.shape)
    io = IO(2 * N * dv, N + N * d)
    for j0 in range(0, len(K), Bc):
        j, bc = slice(j0, j0 + Bc), min(Bc, Nk - j0)
        io.read += bc * (d + dv)
        io.write += bc * (d + dv)
        for i0 in range(0, len(Q), Br):
            i, br = slice(i0, i0 + Br), min(Br, N - i0)
            if causal and Nk - N + i0 + br - 1 < j0:
                continue
            P = np.exp(scale * Q[i] @ K[j].T - L[i, None])
            P[:, bc:] = 0.0
            if causal:
                P[np.arange(j0, j0 + Bc) > Nk - N + np.arange(i0, i0 + Br)[:, None]] = 0.0
            dS = scale * P * (dO[i] @ V[j].T - D[i])
            dV[j] += P.T @ dO[i]
            dK[j] += dS.T @ Q[i]
            dQ[i] += dS @ K[j]
            io.read += br * (2 * d + dv + 2)
            io.write += br * d
            io.flops += 2 * br * bc * (3 * d + 2 * dv)
    return dQ[:N], dK[:Nk], dV[:Nk], io
