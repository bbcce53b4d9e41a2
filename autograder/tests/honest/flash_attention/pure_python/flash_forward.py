"""fa2 in lists, loops and the math module; fa1 is a loop over rows."""

import math
from operator import mul

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    order = by_rows if order == "fa1" else by_entries
    return order(Q, K, V, query_blocks, key_blocks, causal, scale)


def by_entries(Q, K, V, query_blocks, key_blocks, causal, scale):
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, L, io = [], [], IO()
    for i0, i1 in query_blocks:
        io.read += (i1 - i0) * d
        m, l, acc = [-math.inf] * (i1 - i0), [0.0] * (i1 - i0), [[0.0] * dv for _ in range(i0, i1)]
        for j0, j1 in key_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            keys, columns = K[j0:j1].tolist(), V[j0:j1].T.tolist()
            io.read += (j1 - j0) * (d + dv)
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
            for i in range(i1 - i0):
                last = (min(j1, Nk - N + i0 + i + 1) if causal else j1) - j0
                if last <= 0:
                    continue
                query = [scale * x for x in Q[i0 + i].tolist()]
                scores = [sum(map(mul, query, key)) for key in keys[:last]]
                top = max(m[i], *scores)
                weights, old = [math.exp(s - top) for s in scores], math.exp(m[i] - top)
                m[i], l[i] = top, old * l[i] + sum(weights)
                acc[i] = [old * a + sum(map(mul, weights, column))
                          for a, column in zip(acc[i], columns, strict=True)]
        O += [[a / l[i] for a in row] if l[i] else row for i, row in enumerate(acc)]
        L += [m[i] + math.log(l[i]) if l[i] else -math.inf for i in range(i1 - i0)]
        io.write += (i1 - i0) * (dv + 1)
    return np.array(O).reshape(N, dv), np.array(L), io


def by_rows(Q, K, V, query_blocks, key_blocks, causal, scale):
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, l, m = np.zeros((N, dv)), [0.0] * N, [-math.inf] * N
    io = IO(write=N * (dv + 2))
    for j0, j1 in key_blocks:
        io.read += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks:
            if causal and Nk - N + i1 - 1 < j0:
                continue
            for i in range(i0, i1):
                last = min(j1, Nk - N + i + 1) if causal else j1
                if last > j0:
                    s = scale * (K[j0:last] @ Q[i])
                    top = max(m[i], float(s.max()))
                    p, old = np.exp(s - top), math.exp(m[i] - top) * l[i]
                    l[i], m[i] = old + float(p.sum()), top
                    O[i] = (old * O[i] + p @ V[j0:last]) / l[i]
            io.read += (i1 - i0) * (d + dv + 2)
            io.write += (i1 - i0) * (dv + 2)
            io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
    return O, np.array([a + math.log(b) if b else -math.inf for a, b in zip(m, l, strict=True)]), io
