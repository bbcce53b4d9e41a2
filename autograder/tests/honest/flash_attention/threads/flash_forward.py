"""fa2's query blocks run on a few threads, each with counters of its own; fa1 stays alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape

    def take(state, i0, i1, j0, j1):
        m, l, O = state
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
        new = np.maximum(m, S.max(axis=1))
        base = np.where(new == -np.inf, 0.0, new)
        P, kept = np.exp(S - base[:, None]), np.exp(m - base) * l
        total = kept + P.sum(axis=1)
        O = (kept[:, None] * O + P @ V[j0:j1]) / np.where(total == 0, 1.0, total)[:, None]
        return new, total, O

    def empty(rows):
        return np.full(rows, -np.inf), np.zeros(rows), np.zeros((rows, dv))

    def one_block(block):
        i0, i1 = block
        state, keys = empty(i1 - i0), 0
        for j0, j1 in key_blocks:
            if not causal or Nk - N + i1 - 1 >= j0:
                state, keys = take(state, i0, i1, j0, j1), keys + j1 - j0
        br = i1 - i0
        return state, (br * d + keys * (d + dv), br * (dv + 1), 2 * br * keys * (d + dv))

    if order == "fa2":
        with ThreadPoolExecutor(2) as pool:
            states, counts = zip(*pool.map(one_block, query_blocks), strict=True)
        io = IO(*(sum(count) for count in zip(*counts, strict=True)))
    else:
        states = [empty(i1 - i0) for i0, i1 in query_blocks]
        io = IO(write=N * (dv + 2))
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for at, (i0, i1) in enumerate(query_blocks):
                if not causal or Nk - N + i1 - 1 >= j0:
                    states[at] = take(states[at], i0, i1, j0, j1)
                    io.read += (i1 - i0) * (d + dv + 2)
                    io.write += (i1 - i0) * (dv + 2)
                    io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
    m, l, O = map(np.concatenate, zip(*states, strict=True))
    return O, m + np.log(np.where(l == 0, 1.0, l)), io
