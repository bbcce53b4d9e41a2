"""O comes back Fortran-ordered and read-only, L as a strided column of a larger array."""

import numpy as np
from attention import IO, attention_arguments, blocks


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    O = np.zeros((N, dv), order="F")
    both = np.zeros((N, 2))  # m and l side by side
    both[:, 0] = -np.inf
    io = IO()
    loops = [(k, q) for k in key_blocks for q in query_blocks] if order == "fa1" else [
        (k, q) for q in query_blocks for k in key_blocks]
    io.write += N * (dv + 2) if order == "fa1" else N * (dv + 1)
    io.read += Nk * (d + dv) if order == "fa1" else N * d
    for (j0, j1), (i0, i1) in loops:
        if causal and Nk - N + i1 - 1 < j0:
            continue
        S = (Q[i0:i1] @ K[j0:j1].T) * scale
        if causal:
            S[~np.tri(i1 - i0, j1 - j0, Nk - N + i0 - j0, dtype=bool)] = -np.inf
        m, l = both[i0:i1].T
        new = np.maximum(m, S.max(axis=1))
        base = np.where(new == -np.inf, 0.0, new)
        P, old = np.exp(S - base[:, None]), np.exp(m - base)
        O[i0:i1] = old[:, None] * O[i0:i1] + P @ V[j0:j1]
        both[i0:i1] = np.stack([new, old * l + P.sum(axis=1)], axis=1)
        io.flops += 2 * S.size * (d + dv)
        io.read += (i1 - i0) * (d + dv + 2) if order == "fa1" else (j1 - j0) * (d + dv)
        io.write += (i1 - i0) * (dv + 2) if order == "fa1" else 0
    safe = np.where(both[:, 1] == 0, 1.0, both[:, 1])
    O /= safe[:, None]
    both[:, 0] += np.log(safe)
    O.flags.writeable = False
    return O, both[:, 0], io
