"""All queries with a live tile at once against one key block; the scale comes at the end."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    D = np.matmul(dO[:, None, :], O[:, :, None])[:, 0]
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    reads = writes = flops = 0
    for j0, j1 in key_blocks:
        first = min(i0 for i0, i1 in query_blocks if not causal or Nk - N + i1 - 1 >= j0)
        P = np.exp(scale * (Q[first:] @ K[j0:j1].T) - np.maximum(L[first:], -1e300)[:, None])
        if causal:
            P[np.arange(j0, j1) > Nk - N + np.arange(first, N)[:, None]] = 0.0
        else:
            P[L[first:] == -np.inf] = 0.0
        dS = P * (dO[first:] @ V[j0:j1].T - D[first:])
        dQ[first:] += dS @ K[j0:j1]
        dK[j0:j1], dV[j0:j1] = dS.T @ Q[first:], P.T @ dO[first:]
        rows, bc = N - first, j1 - j0
        reads += bc * (d + dv) + rows * (2 * d + dv + 2)
        writes += bc * (d + dv) + rows * d
        flops += 2 * rows * bc * (3 * d + 2 * dv)
    dQ *= scale
    dK *= scale
    return dQ, dK, dV, IO(2 * N * dv + reads, N + N * d + writes, flops)
