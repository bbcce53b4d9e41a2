"""Tiles are keys by queries: K Q^T, reductions along the first axis, outputs as columns."""

import numpy as np
from attention import IO, attention_arguments


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    (N, d), (Nk, dv) = Q.shape, V.shape
    OT, l, m, io = np.zeros((dv, N)), np.zeros(N), np.full(N, -np.inf), IO()

    def tile(i0, j0):
        i, j = slice(i0, min(i0 + Br, N)), slice(j0, min(j0 + Bc, Nk))
        br, bc = i.stop - i.start, j.stop - j.start
        if causal and Nk - N + i.stop - 1 < j0:
            return 0, 0
        ST = scale * K[j] @ Q[i].T
        if causal:
            ST[np.arange(j0, j.stop)[:, None] > Nk - N + np.arange(i0, i.stop)] = -np.inf
        new = np.maximum(m[i], ST.max(axis=0))
        base = np.where(new == -np.inf, 0.0, new)
        PT, old = np.exp(ST - base), np.exp(m[i] - base)
        OT[:, i] = OT[:, i] * old + V[j].T @ PT
        l[i], m[i] = l[i] * old + PT.sum(axis=0), new
        io.flops += 2 * br * bc * (d + dv)
        return br, bc

    if order == "fa1":
        io.write += N * (dv + 2)
        for j0 in range(0, Nk, Bc):
            io.read += (min(j0 + Bc, Nk) - j0) * (d + dv)
            for i0 in range(0, N, Br):
                br, _ = tile(i0, j0)
                io.read += br * (d + dv + 2)
                io.write += br * (dv + 2)
    else:
        for i0 in range(0, N, Br):
            br = min(i0 + Br, N) - i0
            io.read += br * d
            for j0 in range(0, Nk, Bc):
                io.read += tile(i0, j0)[1] * (d + dv)
            io.write += br * dv + br
    l[l == 0] = 1.0
    return (OT / l).T, m + np.log(l), io
