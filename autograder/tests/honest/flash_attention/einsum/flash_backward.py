"""Every product is an einsum; D is subtracted by one more column of V."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    dO_and_D = np.column_stack([dO, np.einsum("nv,nv->n", O, dO)])
    V_and_1 = np.column_stack([V, np.full(Nk, -1.0)])
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    io = IO(read=2 * N * dv + Nk * (d + dv), write=N + N * d + Nk * (d + dv))
    for j0, j1 in key_blocks:
        for i0, i1 in query_blocks:
            i, j = slice(i0, i1), slice(j0, j1)
            if causal and Nk - N + i1 - 1 < j0:
                continue
            X = scale * np.einsum("id,jd->ij", Q[i], K[j])
            if causal:
                X[np.less.outer(np.arange(i0, i1) + Nk - N, np.arange(j0, j1))] = -np.inf
            P = np.exp(X - np.where(np.isinf(L[i]), 0.0, L[i])[:, None])
            dX = scale * P * np.einsum("iv,jv->ij", dO_and_D[i], V_and_1[j])
            dQ[i] += np.einsum("ij,jd->id", dX, K[j])
            dK[j] += np.einsum("ij,id->jd", dX, Q[i])
            dV[j] += np.einsum("ij,iv->jv", P, dO[i])
            io.read += (i1 - i0) * (2 * d + dv + 2)
            io.write += (i1 - i0) * d
            io.flops += 2 * P.size * (3 * d + 2 * dv)
    return dQ, dK, dV, io
