"""A query takes all the keys that it sees at once; the counters come from the tiles' sizes."""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, dO = (array_of_shape(name, x, (N, dv)) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (N,))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    live = [(i1 - i0, j1 - j0) for i0, i1 in query_blocks for j0, j1 in key_blocks
            if not causal or Nk - N + i1 - 1 >= j0]
    rows = sum(br for br, _ in live)
    io = IO(read=2 * N * dv + Nk * (d + dv) + rows * (2 * d + dv + 2),
            write=N + N * d + Nk * (d + dv) + rows * d,
            flops=sum(2 * br * bc * (3 * d + 2 * dv) for br, bc in live))
    dQ, dK, dV = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv))
    for i in range(N):
        n = max(0, Nk - N + i + 1) if causal else Nk
        if n == 0:
            continue
        p = np.exp(scale * K[:n] @ Q[i] - L[i])
        ds = scale * p * (V[:n] @ dO[i] - dO[i] @ O[i])
        dQ[i] = ds @ K[:n]
        dK[:n] += np.outer(ds, Q[i])
        dV[:n] += np.outer(p, dO[i])
    return dQ, dK, dV, io
