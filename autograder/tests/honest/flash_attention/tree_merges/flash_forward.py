"""fa2 merges its tiles' states two by two; fa1 folds them with the student's own merge_states."""

import numpy as np
from attention import IO, attention_arguments, blocks
from online_softmax import merge_states, partial_state


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    io = IO()

    def state(i0, i1, j0, j1):
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            S[np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None]] = -np.inf
        return partial_state(S, V[j0:j1])

    def empty(rows):
        return np.full(rows, -np.inf), np.zeros(rows), np.zeros((rows, dv))

    def tree(states):
        if len(states) < 2:
            return states[0]
        half = len(states) // 2
        return merge_states(tree(states[:half]), tree(states[half:]))

    def live(i1, j0):
        return not causal or Nk - N + i1 - 1 >= j0

    found = {}
    if order == "fa2":
        for i0, i1 in query_blocks:
            keys = [(j0, j1) for j0, j1 in key_blocks if live(i1, j0)]
            io.read += (i1 - i0) * d + sum(j1 - j0 for j0, j1 in keys) * (d + dv)
            found[i0] = tree([empty(i1 - i0), *(state(i0, i1, *k) for k in keys)])
            io.write += (i1 - i0) * (dv + 1)
    else:
        found = {i0: empty(i1 - i0) for i0, i1 in query_blocks}
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if live(i1, j0):
                    found[i0] = merge_states(state(i0, i1, j0, j1), found[i0])
                    io.read += (i1 - i0) * (d + dv + 2)
                    io.write += (i1 - i0) * (dv + 2)
    m, l, o = (np.concatenate(parts) for parts in
               zip(*(found[q[0]] for q in query_blocks), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(l[:, None] > 0, o / l[:, None], 0.0), m + np.log(l), io
