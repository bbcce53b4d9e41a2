"""The loops run from the last block to the first."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    D = np.sum(dO * O, axis=-1, keepdims=True)
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    io = IO(2 * N * dv, N + N * d)
    for j0, j1 in key_blocks[::-1]:
        io.read += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks[::-1]:
            if causal and Nk - N + i1 - 1 < j0:
                break  # the blocks before stand further left still
            S = (Q[i0:i1] @ K[j0:j1].T) * scale - np.nan_to_num(L[i0:i1, None], neginf=0.0)
            if causal:
                S[np.arange(j0, j1) - np.arange(i0, i1)[:, None] > Nk - N] = -np.inf
            P = np.exp(S)
            dS = P * (dO[i0:i1] @ V[j0:j1].T - D[i0:i1])
            dQ[i0:i1] += dS @ K[j0:j1] * scale
            dK[j0:j1] += dS.T @ Q[i0:i1] * scale
            dV[j0:j1] += P.T @ dO[i0:i1]
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
        io.write += (j1 - j0) * (d + dv)
    return dQ, dK, dV, io
