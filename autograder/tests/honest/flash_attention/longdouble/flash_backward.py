"""All arithmetic in longdouble, in place, and gradients that stay longdouble."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    Q, K, V, O, dO, L = (x.astype(np.longdouble) for x in (Q, K, V, O, dO, L))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    dQ, dK, dV = (np.zeros_like(x) for x in (Q, K, V))
    D = (dO * O).sum(axis=1)
    io = IO(read=2 * N * dv, write=N + N * d)
    for j0, j1 in key_blocks:
        for i0, i1 in query_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            i, j = slice(i0, i1), slice(j0, j1)
            S = scale * (Q[i] @ K[j].T)
            if causal:
                S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
            S -= np.where(L[i] == -np.inf, np.longdouble(0), L[i])[:, None]
            P = np.exp(S, out=S)
            dV[j] += P.T @ dO[i]
            P *= scale
            dS = dO[i] @ V[j].T
            dS -= D[i, None]
            dS *= P
            dQ[i] += dS @ K[j]
            dK[j] += dS.T @ Q[i]
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
        io.read += (j1 - j0) * (d + dv)
        io.write += (j1 - j0) * (d + dv)
    return dQ, dK, dV, io
