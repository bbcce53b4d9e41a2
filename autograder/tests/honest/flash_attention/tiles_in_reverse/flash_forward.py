"""Both loops run from the last block to the first; rows meet masked tiles before visible ones."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()
    state = {q: (np.full(q[1] - q[0], -np.inf), np.zeros(q[1] - q[0]), np.zeros((q[1] - q[0], dv)))
             for q in query_blocks}

    def visit(q, k):
        (i0, i1), (j0, j1) = q, k
        if causal and Nk - N + i1 - 1 < j0:
            return False
        m, l, acc = state[q]
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            hidden = np.arange(j0, j1)[None, :] > (Nk - N + np.arange(i0, i1))[:, None]
            S[hidden] = -np.inf
        m_new = np.maximum(m, S.max(axis=1))
        base = np.maximum(m_new, -1e308)
        old, P = np.exp(np.maximum(m, -1e308) - base) * (l > 0), np.exp(S - base[:, None])
        state[q] = (m_new, old * l + P.sum(axis=1), old[:, None] * acc + P @ V[j0:j1])
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
        return True

    if order == "fa1":
        io.write += N * (dv + 2)
        for k in reversed(key_blocks):
            io.read += (k[1] - k[0]) * (d + dv)
            for q in reversed(query_blocks):
                if visit(q, k):
                    io.read += (q[1] - q[0]) * (d + dv + 2)
                    io.write += (q[1] - q[0]) * (dv + 2)
    else:
        for q in reversed(query_blocks):
            io.read += (q[1] - q[0]) * d
            io.read += sum((k[1] - k[0]) * (d + dv) for k in reversed(key_blocks) if visit(q, k))
            io.write += (q[1] - q[0]) * (dv + 1)
    m, l, acc = (np.concatenate([state[q][part] for q in query_blocks]) for part in range(3))
    l = np.where(l == 0, 1.0, l)
    return acc / l[:, None], m + np.log(l), io
