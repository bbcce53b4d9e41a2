"""Results are namedtuples; the state of a block of queries is one too."""

from collections import namedtuple

import numpy as np
from attention import IO, attention_arguments, blocks

Forward = namedtuple("Forward", "output log_sum_exp traffic")
State = namedtuple("State", "m l acc")


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()
    states = [State(np.full(i1 - i0, -np.inf), np.zeros(i1 - i0), np.zeros((i1 - i0, dv)))
              for i0, i1 in query_blocks]
    if order == "fa1":
        io.write += N * (dv + 2)
        for j, (j0, j1) in enumerate(key_blocks):
            io.read += (j1 - j0) * (d + dv)
            for i, (i0, i1) in enumerate(query_blocks):
                if live(i1, j0, Nk - N, causal):
                    S = scores(Q, K, query_blocks[i], key_blocks[j], causal, scale, io, dv)
                    states[i] = extend(states[i], S, V[j0:j1])
                    io.read += (i1 - i0) * (d + dv + 2)
                    io.write += (i1 - i0) * (dv + 2)
    else:
        for i, (i0, i1) in enumerate(query_blocks):
            io.read += (i1 - i0) * d
            for j, (j0, j1) in enumerate(key_blocks):
                if live(i1, j0, Nk - N, causal):
                    S = scores(Q, K, query_blocks[i], key_blocks[j], causal, scale, io, dv)
                    states[i] = extend(states[i], S, V[j0:j1])
                    io.read += (j1 - j0) * (d + dv)
            io.write += (i1 - i0) * (dv + 1)
    m, l, acc = map(np.concatenate, zip(*states, strict=True))
    safe = np.where(l == 0, 1.0, l)
    return Forward(acc / safe[:, None], m + np.log(safe), io)


def live(i1, j0, shift, causal):
    return not causal or shift + i1 > j0


def scores(Q, K, queries, keys, causal, scale, io, dv):
    (i0, i1), (j0, j1) = queries, keys
    S = scale * Q[i0:i1] @ K[j0:j1].T
    if causal:
        S[np.arange(j0, j1) > len(K) - len(Q) + np.arange(i0, i1)[:, None]] = -np.inf
    io.flops += 2 * S.size * (Q.shape[1] + dv)
    return S


def extend(state, S, Vj):
    m = np.maximum(state.m, S.max(axis=1))
    base = np.where(m == -np.inf, 0.0, m)
    old, P = np.exp(state.m - base), np.exp(S - base[:, None])
    return State(m, old * state.l + P.sum(axis=1), old[:, None] * state.acc + P @ Vj)
