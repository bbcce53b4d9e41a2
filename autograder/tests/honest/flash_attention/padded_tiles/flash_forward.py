"""The last tiles are filled up with zeros to full size, and the padding is masked."""

import numpy as np
from attention import IO, attention_arguments


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    (N, d), (Nk, dv) = Q.shape, V.shape
    Tr, Tc = -(-N // Br), -(-Nk // Bc)
    Qp, Kp, Vp = (np.zeros((T * B, x.shape[1])) for x, T, B in
                  ((Q, Tr, Br), (K, Tc, Bc), (V, Tc, Bc)))
    Qp[:N], Kp[:Nk], Vp[:Nk] = Q, K, V
    O, l, m = np.zeros((Tr * Br, dv)), np.zeros(Tr * Br), np.full(Tr * Br, -np.inf)
    io = IO()

    def tile(a, b):
        rows, keys = slice(a * Br, a * Br + Br), slice(b * Bc, b * Bc + Bc)
        br, bc = min(Br, N - a * Br), min(Bc, Nk - b * Bc)
        if causal and Nk - N + a * Br + br - 1 < b * Bc:
            return None
        S = scale * Qp[rows] @ Kp[keys].T
        hidden = np.broadcast_to(np.arange(Bc) >= bc, S.shape)
        if causal:
            there = np.arange(a * Br, a * Br + Br)[:, None] + Nk - N
            hidden = hidden | (b * Bc + np.arange(Bc) > there)
        S[hidden] = -np.inf
        new = np.maximum(m[rows], S.max(axis=1))
        base = np.where(new == -np.inf, 0.0, new)
        old, P = np.exp(m[rows] - base), np.exp(S - base[:, None])
        l[rows] = l[rows] * old + P.sum(axis=1)
        O[rows] = O[rows] * old[:, None] + P @ Vp[keys]
        m[rows] = new
        io.flops += 2 * br * bc * (d + dv)
        return br, bc

    if order == "fa1":
        io.write += N * (dv + 2)
        for b in range(Tc):
            io.read += min(Bc, Nk - b * Bc) * (d + dv)
            for a in range(Tr):
                if size := tile(a, b):
                    io.read += size[0] * (d + dv + 2)
                    io.write += size[0] * (dv + 2)
    else:
        for a in range(Tr):
            io.read += min(Br, N - a * Br) * d
            for b in range(Tc):
                if size := tile(a, b):
                    io.read += size[1] * (d + dv)
            io.write += min(Br, N - a * Br) * (dv + 1)
    O, l, m = O[:N], l[:N], m[:N]
    return O / np.where(l, l, 1.0)[:, None], m + np.log(np.where(l, l, 1.0)), io
