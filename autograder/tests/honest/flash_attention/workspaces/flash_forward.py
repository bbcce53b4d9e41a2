"""Every product goes into arrays that are made once a call; nothing is allocated in the loops."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    room = np.empty((min(Br, N), min(Bc, Nk)))
    rows = np.empty((4, min(Br, N)))
    product = np.empty((min(Br, N), dv))
    O, l, m, io = np.zeros((N, dv)), np.zeros(N), np.full(N, -np.inf), IO()

    def tile(i0, i1, j0, j1):
        S, (new, base, old, total) = room[: i1 - i0, : j1 - j0], rows[:, : i1 - i0]
        np.matmul(Q[i0:i1], K[j0:j1].T, out=S)
        S *= scale
        if causal:
            for r in range(i1 - i0):
                S[r, max(0, Nk - N + i0 + r + 1 - j0):] = -np.inf
        np.max(S, axis=1, out=new)
        np.maximum(new, m[i0:i1], out=new)
        np.copyto(base, new)
        base[new == -np.inf] = 0.0
        np.subtract(m[i0:i1], base, out=old)
        np.exp(old, out=old)
        S -= base[:, None]
        np.exp(S, out=S)
        np.sum(S, axis=1, out=total)
        l[i0:i1] *= old
        l[i0:i1] += total
        O[i0:i1] *= old[:, None]
        np.matmul(S, V[j0:j1], out=product[: i1 - i0])
        O[i0:i1] += product[: i1 - i0]
        m[i0:i1] = new
        io.flops += 2 * (i1 - i0) * (j1 - j0) * (d + dv)

    if order == "fa1":
        io.write += N * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            for i0, i1 in query_blocks:
                if not causal or Nk - N + i1 - 1 >= j0:
                    tile(i0, i1, j0, j1)
                    io.read += (i1 - i0) * (d + dv + 2)
                    io.write += (i1 - i0) * (dv + 2)
    else:
        for i0, i1 in query_blocks:
            io.read += (i1 - i0) * d
            for j0, j1 in key_blocks:
                if not causal or Nk - N + i1 - 1 >= j0:
                    tile(i0, i1, j0, j1)
                    io.read += (j1 - j0) * (d + dv)
            io.write += (i1 - i0) * (dv + 1)
    l[l == 0] = 1.0
    O /= l[:, None]
    m += np.log(l)
    return O, m, io
