"""fa1 takes one key block and all queries with a live tile in one product; fa2 is a row loop."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    one = _fa1 if order == "fa1" else _fa2
    return one(Q, K, V, query_blocks, key_blocks, causal, scale)


def _fa1(Q, K, V, query_blocks, key_blocks, causal, scale):
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, l, m = np.zeros((N, dv)), np.zeros((N, 1)), np.full((N, 1), -np.inf)
    io = IO(write=N * dv + 2 * N)
    for j0, j1 in key_blocks:
        starts = [i0 for i0, i1 in query_blocks if not causal or Nk - N + i1 - 1 >= j0]
        first = min(starts)
        S = scale * (Q[first:] @ K[j0:j1].T)
        if causal:
            S[np.arange(j0, j1) > Nk - N + np.arange(first, N)[:, None]] = -np.inf
        new = np.maximum(m[first:], S.max(axis=1, keepdims=True))
        base = np.where(new == -np.inf, 0.0, new)
        P = np.exp(S - base)
        kept = np.exp(m[first:] - base) * l[first:]
        total = kept + P.sum(axis=1, keepdims=True)
        O[first:] = (kept * O[first:] + P @ V[j0:j1]) / np.where(total == 0, 1.0, total)
        l[first:], m[first:] = total, new
        io.read += (j1 - j0) * (d + dv) + (N - first) * (d + dv + 2)
        io.write += (N - first) * (dv + 2)
        io.flops += 2 * (N - first) * (j1 - j0) * (d + dv)
    return O, (m + np.log(np.where(l == 0, 1.0, l)))[:, 0], io


def _fa2(Q, K, V, query_blocks, key_blocks, causal, scale):
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, L, io = np.zeros((N, dv)), np.full(N, -np.inf), IO()
    for i0, i1 in query_blocks:
        live = [(j0, j1) for j0, j1 in key_blocks if not causal or Nk - N + i1 - 1 >= j0]
        for i in range(i0, i1):
            sees = Nk - N + i + 1 if causal else Nk
            m, l, acc = -np.inf, 0.0, np.zeros(dv)
            for j0, j1 in live:
                x = scale * (K[j0:min(j1, sees)] @ Q[i]) if sees > j0 else np.empty(0)
                if len(x):
                    new = max(m, x.max())
                    p, old = np.exp(x - new), np.exp(m - new)
                    l, acc, m = old * l + p.sum(), old * acc + p @ V[j0:j0 + len(x)], new
            if l:
                O[i], L[i] = acc / l, m + np.log(l)
        keys = sum(j1 - j0 for j0, j1 in live)
        io.read += (i1 - i0) * d + keys * (d + dv)
        io.write += (i1 - i0) * dv + (i1 - i0)
        io.flops += 2 * (i1 - i0) * keys * (d + dv)
    return O, L, io
