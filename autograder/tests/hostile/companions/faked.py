"""Dense attention that counts as if it had gone tile by tile."""

import numpy as np
from attention import IO


def forward(Q, K, V, Br, Bc, causal, scale, order):
    """(O, L, io): right, and the counters from a formula per tile."""
    Q, K, V = (np.asarray(x, float) for x in (Q, K, V))
    (N, d), (Nk, dv) = Q.shape, V.shape
    s = (Q @ K.T) * (d**-0.5 if scale is None else scale)
    if causal:
        s[np.arange(Nk) > np.arange(Nk - N, Nk)[:, None]] = -np.inf
    m = s.max(axis=1, keepdims=True)
    p = np.exp(s - np.where(np.isfinite(m), m, 0))
    l = p.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        L = (np.where(np.isfinite(m), m, 0) + np.log(l))[:, 0]
    return p @ V / np.where(l == 0, 1, l), L, counted(N, Nk, d, dv, Br, Bc, causal, order)


def counted(N, Nk, d, dv, Br, Bc, causal, order):
    """The counters."""
    io = IO()
    if order == "fa1":
        io.write += N * dv + 2 * N
        io.read += Nk * (d + dv)
    else:
        io.read += N * d
        io.write += N * dv + N
    for i0 in range(0, N, Br):
        br = min(Br, N - i0)
        for j0 in range(0, Nk, Bc):
            bc = min(Bc, Nk - j0)
            if causal and (Nk - N) + i0 + br - 1 < j0:
                continue
            io.flops += 2 * br * bc * (d + dv)
            if order == "fa1":
                io.read += br * (d + dv + 2)
                io.write += br * (dv + 2)
            else:
                io.read += bc * (d + dv)
    return io
