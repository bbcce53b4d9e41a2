"""fa1 keeps O unnormalised in memory and divides once; fa2 keeps one over l instead of l."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    shift = Nk - N

    def scores(i0, i1, j0, j1):
        S = scale * np.dot(Q[i0:i1], K[j0:j1].T)
        if causal and j1 - 1 > shift + i0:
            S = np.where(np.subtract.outer(np.arange(i0, i1) + shift, np.arange(j0, j1)) < 0,
                         -np.inf, S)
        return S

    O, m, l, io = np.zeros((N, dv)), np.full(N, -np.inf), np.zeros(N), IO()
    if order == "fa1":
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if causal and shift + i1 <= j0:
                    continue
                rows = slice(i0, i1)
                S = scores(i0, i1, j0, j1)
                new = np.maximum(m[rows], S.max(axis=1))
                finite = np.where(np.isneginf(new), 0.0, new)
                old, P = np.exp(m[rows] - finite), np.exp(S - finite[:, None])
                l[rows], m[rows] = old * l[rows] + P.sum(axis=1), new
                O[rows] = old[:, None] * O[rows] + P @ V[j0:j1]
                io.read += (i1 - i0) * (d + dv + 2)
                io.write += (i1 - i0) * (dv + 2)
                io.flops += 2 * S.size * (d + dv)
        seen = l > 0
        O[seen] /= l[seen, None]
        m[seen] += np.log(l[seen])
        return O, m, io

    for i0, i1 in query_blocks:
        rows, out = slice(i0, i1), np.zeros((i1 - i0, dv))
        top, inverse = np.full(i1 - i0, -np.inf), np.full(i1 - i0, np.inf)
        io.read += (i1 - i0) * d
        for j0, j1 in key_blocks:
            if causal and shift + i1 <= j0:
                break
            S = scores(i0, i1, j0, j1)
            new = np.maximum(top, S.max(axis=1))
            finite = np.where(np.isneginf(new), 0.0, new)
            P = np.exp(S - finite[:, None])
            total = np.exp(top - finite) / inverse + P.sum(axis=1)
            safe = np.where(total > 0, total, 1.0)
            out *= (np.exp(top - finite) / inverse / safe)[:, None]
            out += P @ V[j0:j1] / safe[:, None]
            top, inverse = new, np.where(total > 0, 1 / safe, np.inf)
            io.read += (j1 - j0) * (d + dv)
            io.flops += 2 * S.size * (d + dv)
        O[rows], m[rows] = out, top - np.log(np.where(np.isinf(inverse), 1.0, inverse))
        io.write += (i1 - i0) * (dv + 1)
    return O, m, io
