"""One boolean mask for the whole matrix; P is 0 by multiplication with its tile."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    sees = np.arange(Nk) <= np.arange(N)[:, None] + (Nk - N if causal else Nk)
    gradients = [np.zeros(x.shape) for x in (Q, K, V)]
    dQ, dK, dV = gradients
    D = (dO * O).sum(axis=1)
    io = IO(2 * N * dv, N + N * d)
    for j0, j1 in key_blocks:
        io.read += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks:
            visible = sees[i0:i1, j0:j1]
            if not visible.any():
                continue
            exponent = scale * Q[i0:i1] @ K[j0:j1].T - np.where(L == -np.inf, 0, L)[i0:i1, None]
            P = np.exp(np.minimum(exponent, 50.0)) * visible
            dS = P * (dO[i0:i1] @ V[j0:j1].T - D[i0:i1, None]) * scale
            dQ[i0:i1] = dQ[i0:i1] + dS @ K[j0:j1]
            dK[j0:j1] = dK[j0:j1] + dS.T @ Q[i0:i1]
            dV[j0:j1] = dV[j0:j1] + P.T @ dO[i0:i1]
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * visible.size * (3 * d + 2 * dv)
        io.write += (j1 - j0) * (d + dv)
    return (*gradients, io)
