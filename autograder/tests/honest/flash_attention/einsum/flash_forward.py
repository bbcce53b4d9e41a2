"""Every product is an einsum or a broadcast sum; the mask is an outer comparison."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    position = np.arange(N) + (Nk - N)
    m, l, acc, io = np.full(N, -np.inf), np.zeros(N), np.zeros((N, dv)), IO()

    def add(i, j):
        S = scale * np.einsum("id,jd->ij", Q[i], K[j])
        if causal:
            S[np.less.outer(position[i], np.arange(Nk)[j])] = -np.inf
        new = np.maximum(m[i], np.amax(S, axis=1))
        seen = np.isfinite(new)
        P, old = np.zeros_like(S), np.zeros_like(new)
        P[seen] = np.exp(S[seen] - new[seen, None])
        old[seen] = np.exp(m[i][seen] - new[seen])
        l[i] = old * l[i] + np.einsum("ij->i", P)
        acc[i] = np.einsum("i,iv->iv", old, acc[i]) + np.einsum("ij,jv->iv", P, V[j])
        m[i] = new
        io.flops += 2 * S.size * (d + dv)

    outer, inner = (key_blocks, query_blocks) if order == "fa1" else (query_blocks, key_blocks)
    io.write += N * (dv + 2) if order == "fa1" else N * (dv + 1)
    io.read += Nk * (d + dv) if order == "fa1" else N * d
    for a in outer:
        for b in inner:
            i, j = (slice(*x) for x in ((b, a) if order == "fa1" else (a, b)))
            if causal and position[i.stop - 1] < j.start:
                continue
            add(i, j)
            if order == "fa1":
                io.read += (i.stop - i.start) * (d + dv + 2)
                io.write += (i.stop - i.start) * (dv + 2)
            else:
                io.read += (j.stop - j.start) * (d + dv)
    O = np.divide(acc, l[:, None], out=np.zeros_like(acc), where=l[:, None] > 0)
    L = np.add(m, np.log(l, out=np.zeros_like(l), where=l > 0))
    return O, L, io
