"""Gradients of a key block in arrays that are made once a call and written to with out=."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    size = min(Br, N) * min(Bc, Nk)
    first, second = np.empty(size), np.empty(size)
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    D = np.einsum("iv,iv->i", dO, O)
    blind = np.isneginf(L)
    base = np.where(blind, np.inf, L)  # exp(S - inf) is 0 in rows that see nothing
    io = IO(2 * N * dv + Nk * (d + dv), N + N * d + Nk * (d + dv))
    for j0, j1 in key_blocks:
        for i0, i1 in query_blocks:
            br, bc = i1 - i0, j1 - j0
            if causal and Nk - N + i1 - 1 < j0:
                continue
            P, dS = (x[: br * bc].reshape(br, bc) for x in (first, second))
            np.matmul(Q[i0:i1], K[j0:j1].T, out=P)
            np.multiply(P, scale, out=P)
            np.subtract(P, base[i0:i1, None], out=P)
            if causal:
                np.copyto(P, -np.inf, where=np.arange(j0, j1) > Nk - N + np.c_[i0:i1])
            np.exp(P, out=P)
            np.matmul(dO[i0:i1], V[j0:j1].T, out=dS)
            np.subtract(dS, D[i0:i1, None], out=dS)
            np.multiply(dS, P, out=dS)
            np.multiply(dS, scale, out=dS)
            dQ[i0:i1] += dS @ K[j0:j1]
            dK[j0:j1] += dS.T @ Q[i0:i1]
            dV[j0:j1] += P.T @ dO[i0:i1]
            io.read += br * (2 * d + dv + 2)
            io.write += br * d
            io.flops += 2 * br * bc * (3 * d + 2 * dv)
    return dQ, dK, dV, io
