"""The result is a namedtuple; probabilities are made by a helper that knows the mask."""

from typing import NamedTuple

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


class Gradients(NamedTuple):
    dQ: np.ndarray
    dK: np.ndarray
    dV: np.ndarray
    io: IO


def flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    out = Gradients(np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv)),
                    IO(read=2 * N * dv, write=N + N * d))
    D = np.sum(dO * O, axis=1)
    shift = Nk - N if causal else Nk
    for j0, j1 in key_blocks:
        out.io.read += (j1 - j0) * (d + dv)
        for i0, i1 in query_blocks:
            if i1 - 1 + shift < j0:
                continue
            rows, keys = slice(i0, i1), slice(j0, j1)
            P = probabilities(scale * Q[rows] @ K[keys].T, L[rows], i0 + shift - j0)
            dS = P * (dO[rows] @ V[keys].T - D[rows, None]) * scale
            out.dQ[rows] += dS @ K[keys]
            out.dK[keys] += dS.T @ Q[rows]
            out.dV[keys] += P.T @ dO[rows]
            out.io.read += (i1 - i0) * (2 * d + dv + 2)
            out.io.write += (i1 - i0) * d
            out.io.flops += 2 * (i1 - i0) * (j1 - j0) * (3 * d + 2 * dv)
        out.io.write += (j1 - j0) * (d + dv)
    return out


def probabilities(S, L, diagonal):
    """exp(S - L) on and below that diagonal, 0 above it."""
    P = np.zeros(S.shape)
    for r in range(len(S)):
        seen = max(0, min(S.shape[1], r + diagonal + 1))
        P[r, :seen] = np.exp(S[r, :seen] - L[r]) if seen else 0.0
    return P
