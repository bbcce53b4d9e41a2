"""m starts at -1e300 instead of -inf, so that nothing is ever subtracted from itself."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, l, m, io = np.zeros((N, dv)), np.zeros(N), np.full(N, -1e300), IO()

    def update(i, S, Vj):
        m_new = np.maximum(m[i], S.max(axis=1))
        old, P = np.exp(m[i] - m_new), np.exp(S - m_new[:, None])
        l[i], O[i] = l[i] * old + P.sum(axis=1), O[i] * old[:, None] + P @ Vj
        m[i] = m_new

    if order == "fa1":
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if causal and Nk - N + i1 - 1 < j0:
                    continue
                update(slice(i0, i1), _scores(Q, K, i0, i1, j0, j1, causal, scale), V[j0:j1])
                io.read += (i1 - i0) * (d + dv + 2)
                io.write += (i1 - i0) * (dv + 2)
                io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
    else:
        for i0, i1 in query_blocks:
            io.read += (i1 - i0) * d
            for j0, j1 in key_blocks:
                if causal and Nk - N + i1 - 1 < j0:
                    continue
                update(slice(i0, i1), _scores(Q, K, i0, i1, j0, j1, causal, scale), V[j0:j1])
                io.read += (j1 - j0) * (d + dv)
                io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
            io.write += (i1 - i0) * dv + (i1 - i0)
    with np.errstate(divide="ignore"):
        return O / np.maximum(l, 1e-300)[:, None], m + np.log(l), io


def _scores(Q, K, i0, i1, j0, j1, causal, scale):
    S = scale * Q[i0:i1] @ K[j0:j1].T
    if causal:
        later = np.arange(j0, j1) > len(K) - len(Q) + np.arange(i0, i1)[:, None]
        S = np.where(later, -np.inf, S)
    return S
