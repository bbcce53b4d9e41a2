"""
FlashAttention's backward pass: the probabilities are computed again, tile by tile, not read.

One head, tiles one after the other: this version leaves out batches and heads, dropout, and the
atomic adds that let several key blocks run at the same time.
"""

import numpy as np
from attention import IO, array_of_shape, attention_arguments, blocks


def flash_bwd(
    Q, K, V, O, dO, L, Br, Bc, causal=False, scale=None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, IO]:
    """
    The gradients of attention from the output and each row's log-sum-exp, and the elements moved.

    Keys are in the outer loop: dK_j and dV_j stay on chip, dQ_i accumulates in memory. No
    floating-point array of the size of the scores exists at any time: extra memory grows like
    N + Nk, not like N * Nk. A tile in which no query sees a key is dead: it is neither read, nor
    computed, nor counted, and what lies in it can't matter.

    Traffic: first D_i = sum(dO_i * O_i), read 2*N*dv, write N; dQ zeroed, write N*d; per block of
    bc keys read K_j and V_j, bc*(d + dv); per live tile of br queries read Q_i, dO_i, L_i, D_i and
    dQ_i, br*(2*d + dv + 2), and write dQ_i, br*d; at the end of a key block write dK_j and dV_j,
    bc*(d + dv). 2*br*bc*(3*d + 2*dv) flops per live tile.

    Args:
        Q [N, d], K [Nk, d], V [Nk, dv]: queries, keys, values
        O [N, dv], L [N]: output and log-sum-exp of the forward pass
        dO [N, dv]: gradient of the output
        Br, Bc: rows (queries) and columns (keys) of a tile; they need not divide N and Nk
        causal: the queries are the last N of Nk positions, and each sees the keys up to its own
        scale: factor of the scores; 1/sqrt(d) when None

    Returns:
        (dQ [N, d], dK [Nk, d], dV [Nk, dv], io): gradients and traffic in elements; a query that
        sees no key (L = -inf) has dQ = 0 and gives nothing to dK and dV

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0, Br or Bc below 1

    Source: Dao 2023 (FlashAttention-2), section 3.1.2, algorithm 2; the first paper's is Dao et al.
    2022 (FlashAttention), appendix B.4, algorithm 4.
    """
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    O, dO = (array_of_shape(name, x, (len(Q), V.shape[1])) for name, x in (("O", O), ("dO", dO)))
    L = array_of_shape("L", L, (len(Q),))
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    # TODO: return dQ, dK, dV and io, with the keys in the outer loop
    raise NotImplementedError("TODO: return dQ, dK, dV and io, with the keys in the outer loop")
