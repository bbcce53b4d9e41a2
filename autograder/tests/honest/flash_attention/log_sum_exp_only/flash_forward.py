"""The state is L and a normalised O; logaddexp is the only place where sums meet."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, L = np.zeros((N, dv)), np.full(N, -np.inf)
    tiles = [(q, k) for q in query_blocks for k in key_blocks
             if not causal or Nk - N + q[1] - 1 >= k[0]]
    if order == "fa1":
        tiles.sort(key=lambda tile: tile[1])
    for (i0, i1), (j0, j1) in tiles:
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            S += np.where(np.arange(j0, j1) > Nk - N + np.arange(i0, i1)[:, None], -np.inf, 0.0)
        together = np.logaddexp(L[i0:i1], np.logaddexp.reduce(S, axis=1))
        seen = together > -np.inf
        base = np.where(seen, together, 0.0)
        O[i0:i1] *= np.exp(L[i0:i1] - base)[:, None]
        O[i0:i1] += np.exp(S - base[:, None]) @ V[j0:j1]
        L[i0:i1] = together
    return O, L, _traffic(order, tiles, N, Nk, d, dv)


def _traffic(order, tiles, N, Nk, d, dv):
    rows = sum(i1 - i0 for (i0, i1), _ in tiles)
    columns = sum(j1 - j0 for _, (j0, j1) in tiles)
    flops = sum(2 * (i1 - i0) * (j1 - j0) * (d + dv) for (i0, i1), (j0, j1) in tiles)
    if order == "fa1":
        return IO(Nk * (d + dv) + rows * (d + dv + 2), (N + rows) * (dv + 2), flops)
    return IO(N * d + columns * (d + dv), N * (dv + 1), flops)
