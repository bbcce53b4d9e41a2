"""A loop over the rows of every tile, each with the keys that it sees; no mask."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    D = [sum(o * g for o, g in zip(*rows, strict=True)) for rows in zip(O, dO, strict=True)]
    io = IO(read=2 * N * dv, write=N + N * d)
    for j0, j1 in key_blocks:
        io.read += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            for i in range(i0, i1):
                j = slice(j0, max(j0, min(j1, Nk - N + i + 1)) if causal else j1)
                p = np.exp(scale * (K[j] @ Q[i]) - L[i]) if j.stop > j0 else np.zeros(0)
                ds = scale * p * (V[j] @ dO[i] - D[i])
                dQ[i] += ds @ K[j]
                dK[j] += np.outer(ds, Q[i])
                dV[j] += np.outer(p, dO[i])
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
        io.write += (j1 - j0) * (d + dv)
    return dQ, dK, dV, io
