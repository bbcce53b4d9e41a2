"""
FlashAttention's forward pass in both orders of its loops, with its traffic counted.

One head, tiles one after the other: this version leaves out batches and heads, dropout, the split
of a tile between warps, and all that overlaps copies with products.
"""

import numpy as np
from attention import IO, attention_arguments, blocks


def block_sizes(M, d) -> tuple[int, int]:
    """
    The tile that FlashAttention cuts for a given on-chip memory.

    Args:
        M: elements that fit on chip
        d: elements of a query

    Returns:
        (Br, Bc): rows and columns of a tile, Bc = ceil(M / 4d) and Br = min(Bc, d)

    Raises:
        ValueError: M or d is below 1

    Source: Dao et al. 2022 (FlashAttention), section 3.1, algorithm 1, line 1.
    """
    if M < 1:
        raise ValueError(f"M must be at least 1, got {M}")
    if d < 1:
        raise ValueError(f"d must be at least 1, got {d}")
    Bc = -(-M // (4 * d))
    return min(Bc, d), Bc


def flash_fwd(
    Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"
) -> tuple[np.ndarray, np.ndarray, IO]:
    """
    Attention tile by tile: the output, each row's log-sum-exp, and the elements moved.

    No floating-point array of the size of the scores exists at any time: extra memory grows like
    N + Nk, not like N * Nk. A tile in which no query sees a key is dead: it is neither read, nor
    computed, nor counted, and what lies in it can't matter.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv]: queries, keys, values
        Br, Bc: rows (queries) and columns (keys) of a tile; they need not divide N and Nk
        causal: the queries are the last N of Nk positions, and each sees the keys up to its own
        scale: factor of the scores; 1/sqrt(d) when None
        order: "fa1" (keys in the outer loop) or "fa2" (queries in the outer loop)

    Returns:
        (O [N, dv], L [N], io): output, natural log-sum-exp of the scaled scores, traffic in
        elements; O = 0 and L = -inf for a query that sees no key

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0, Br or Bc below 1, an
            unknown order

    Source: Dao et al. 2022 (FlashAttention), section 3.1; Dao 2023 (FlashAttention-2),
    section 3.1.1.
    """
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    _check_order(order)
    outside = _keys_outside if order == "fa1" else _queries_outside
    return outside(Q, K, V, query_blocks, key_blocks, causal, scale)


def _queries_outside(
    Q, K, V, query_blocks, key_blocks, causal, scale
) -> tuple[np.ndarray, np.ndarray, IO]:
    """
    flash_fwd with order "fa2": what belongs to a query block stays on chip until it is finished.

    Traffic of a block of br queries: read Q_i once, also when all its tiles are dead, br*d; per
    live tile of bc keys read K_j and V_j, bc*(d + dv); at the end write O_i and L_i, br*dv + br.
    2*br*bc*(d + dv) flops per live tile. A row is divided by its l once, at the end.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv], causal: as in flash_fwd, float64
        query_blocks, key_blocks: lists of (start, stop), in order
        scale: factor of the scores

    Returns:
        (O [N, dv], L [N], io)

    Source: Dao 2023 (FlashAttention-2), section 3.1.1, algorithm 1.
    """
    # TODO: return O, L and io, with the queries in the outer loop
    raise NotImplementedError("TODO: return O, L and io, with the queries in the outer loop")


def _keys_outside(
    Q, K, V, query_blocks, key_blocks, causal, scale
) -> tuple[np.ndarray, np.ndarray, IO]:
    """
    flash_fwd with order "fa1": O, l and m live in memory and every key block visits them.

    Traffic: at the start write O, l and m, N*dv + 2*N; per block of bc keys read K_j and V_j once,
    bc*(d + dv); per live tile of br queries read Q_i, O_i, l_i and m_i, br*(d + dv + 2), and write
    O_i, l_i and m_i back, br*(dv + 2). 2*br*bc*(d + dv) flops per live tile. O is normalised
    whenever it is in memory. L comes from m and l at the end and is not charged.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv], causal: as in flash_fwd, float64
        query_blocks, key_blocks: lists of (start, stop), in order
        scale: factor of the scores

    Returns:
        (O [N, dv], L [N], io)

    Source: Dao et al. 2022 (FlashAttention), section 3.1, algorithm 1.
    """
    # TODO: return O, L and io, with the keys in the outer loop
    raise NotImplementedError("TODO: return O, L and io, with the keys in the outer loop")


def fa_io_formula(N, d, M, order) -> int:
    """
    The elements that flash_fwd moves, in closed form.

    Args:
        N: queries and keys (Nk = N), no mask
        d: elements of a query, of a key and of a value (dv = d)
        M: elements that fit on chip; the tile is block_sizes(M, d)
        order: "fa1" or "fa2"

    Returns:
        io.total of flash_fwd

    Raises:
        ValueError: N, d or M is below 1, an unknown order

    Source: Dao et al. 2022 (FlashAttention), theorem 2, with the constants written out.
    """
    if N < 1:
        raise ValueError(f"N must be at least 1, got {N}")
    _check_order(order)
    Br, Bc = block_sizes(M, d)
    Tr, Tc = -(-N // Br), -(-N // Bc)
    if order == "fa2":
        # Q once, K and V once per query block, O and L once.
        return N * d + Tr * 2 * N * d + N * d + N
    # K and V once, Q, O, l and m per key block and O, l and m back, and their first write.
    return 2 * N * d + Tc * (2 * N * d + 2 * N) + Tc * (N * d + 2 * N) + N * d + 2 * N


def _check_order(order):
    if order not in ("fa1", "fa2"):
        raise ValueError(f'order must be "fa1" or "fa2", got {order!r}')
