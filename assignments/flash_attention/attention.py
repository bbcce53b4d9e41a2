"""
Standard attention, forward and backward, with the whole score matrix in memory: what the flash
functions are measured against. Also the traffic counter that all of them share.

One head, no batch; this version leaves out dropout, biases and masks other than the causal one.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class IO:
    """
    What an algorithm moves between HBM and SRAM, in elements, and computes.

    read and write are elements; flops counts matrix products only, 2 per multiply-add; notes is
    free for remarks and takes no part in anything.
    """

    read: int = 0
    write: int = 0
    flops: int = 0
    notes: dict = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Elements moved in both directions."""
        return self.read + self.write


def standard_attention(Q, K, V, causal=False, scale=None) -> tuple[np.ndarray, np.ndarray, IO]:
    """
    Attention that writes the scores S and the probabilities P to memory on the way to O.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv]: queries, keys, values
        causal: the queries are the last N of Nk positions, and each sees the keys up to its own
        scale: factor of the scores; 1/sqrt(d) when None

    Returns:
        (O [N, dv], P [N, Nk], io): output, probabilities, traffic; the rows of O and P are 0 for
        a query that sees no key

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0

    Source: Dao et al. 2022 (FlashAttention), section 2.2, algorithm 0.
    """
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    (N, d), (Nk, dv) = Q.shape, V.shape
    # S = scale Q K^T, read Q and K, write S.
    S = scale * (Q @ K.T)
    if causal:
        S[np.arange(Nk) > Nk - N + np.arange(N)[:, None]] = -np.inf
    # P = softmax(S), read S, write P.
    m = np.max(S, axis=1, keepdims=True)
    P = np.exp(S - np.where(m == -np.inf, 0.0, m))
    l = np.sum(P, axis=1, keepdims=True)
    P /= np.where(l == 0, 1.0, l)
    # O = P V, read P and V, write O.
    O = P @ V
    io = IO(
        read=N * d + Nk * d + 2 * N * Nk + Nk * dv,
        write=2 * N * Nk + N * dv,
        flops=2 * N * Nk * (d + dv),
    )
    return O, P, io


def standard_attention_bwd(
    Q, K, V, P, dO, scale=None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, IO]:
    """
    The gradients of standard attention from the probabilities that the forward pass kept.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv]: queries, keys, values
        P [N, Nk]: the forward pass' probabilities; its mask is in their zeros
        dO [N, dv]: gradient of the output
        scale: factor of the scores; 1/sqrt(d) when None

    Returns:
        (dQ [N, d], dK [Nk, d], dV [Nk, dv], io): gradients and traffic

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0

    Source: Dao et al. 2022 (FlashAttention), appendix B.4, algorithm 3.
    """
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    (N, d), (Nk, dv) = Q.shape, V.shape
    P = array_of_shape("P", P, (N, Nk))
    dO = array_of_shape("dO", dO, (N, dv))
    # dV = P^T dO and dP = dO V^T.
    dV = P.T @ dO
    dP = dO @ V.T
    # dS = P (dP - D); D_i = sum(dO_i * O_i), which is sum(P_i * dP_i) as well: O is not needed.
    D = np.einsum("ij,ij->i", P, dP)
    dS = P * (dP - D[:, None])
    # The gradients of S = scale Q K^T.
    dQ = scale * (dS @ K)
    dK = scale * (dS.T @ Q)
    io = IO(
        read=5 * N * Nk + 3 * N * dv + Nk * dv + Nk * d + N * d + N,
        write=2 * N * Nk + N * d + Nk * d + Nk * dv + N,
        flops=4 * N * Nk * (d + dv),
    )
    return dQ, dK, dV, io


# What the flash functions share with the above.


def attention_arguments(Q, K, V, scale=None) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """
    Q, K and V as float64 arrays and the scale as a number, once their shapes are known to fit.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv]: queries, keys, values
        scale: factor of the scores; 1/sqrt(d) when None

    Returns:
        (Q, K, V, scale); an argument that is a float64 array already is not copied

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0
    """
    Q, K, V = (np.asarray(x, dtype=np.float64) for x in (Q, K, V))
    for name, x in (("Q", Q), ("K", K), ("V", V)):
        if x.ndim != 2:
            raise ValueError(f"{name} must have two axes, got shape {x.shape}")
    if 0 in Q.shape:
        raise ValueError(f"Q must hold a query of d >= 1 elements, got shape {Q.shape}")
    if len(K) == 0:
        raise ValueError(f"K must hold a key, got shape {K.shape}")
    if K.shape[1] != Q.shape[1]:
        raise ValueError(f"K must have the d of Q {Q.shape}, got shape {K.shape}")
    if len(V) != len(K):
        raise ValueError(f"V must have a row for each key of K {K.shape}, got shape {V.shape}")
    return Q, K, V, Q.shape[1] ** -0.5 if scale is None else float(scale)


def array_of_shape(name, x, shape) -> np.ndarray:
    """x as a float64 array; raises ValueError, which names it, when it has another shape."""
    x = np.asarray(x, dtype=np.float64)
    if x.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got shape {x.shape}")
    return x


def blocks(Q, K, Br, Bc) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """
    The ranges (start, stop) of rows that cut Q into blocks of Br and K into blocks of Bc.

    Args:
        Q [N, d], K [Nk, d]: queries, keys
        Br, Bc: rows of a block; the last block may be smaller

    Returns:
        (query_blocks, key_blocks): lists of (start, stop), in order

    Raises:
        ValueError: Br or Bc is below 1
    """
    both = []
    for x, name, size in ((Q, "Br", Br), (K, "Bc", Bc)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
        starts = range(0, len(x), size)
        both.append([(start, min(start + size, len(x))) for start in starts])
    return both[0], both[1]
