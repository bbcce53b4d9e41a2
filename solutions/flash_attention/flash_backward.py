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
    # BEGIN SOLUTION: return dQ, dK, dV and io, with the keys in the outer loop
    (N, d), (Nk, dv) = Q.shape, V.shape
    dQ, dK, dV, io = np.zeros((N, d)), np.zeros((Nk, d)), np.zeros((Nk, dv)), IO()
    io.write += N * d
    cached = Nk - N  # query i stands at position cached + i

    # D before the loops, once per row.
    D = np.einsum("iv,iv->i", dO, O)
    io.read += 2 * N * dv
    io.write += N
    # Rows that see no key subtract 0 instead of -inf from their masked scores.
    base = np.where(L == -np.inf, 0.0, L)

    for j0, j1 in key_blocks:
        bc = j1 - j0
        # Load K_j and V_j; start dK_j and dV_j on chip.
        Kj, Vj = scale * K[j0:j1], V[j0:j1]
        io.read += bc * (d + dv)
        dKj, dVj = np.zeros((bc, d)), np.zeros((bc, dv))

        for i0, i1 in query_blocks:
            br = i1 - i0
            # Dead: the tile's last query stands before the block's first key.
            if causal and cached + i1 - 1 < j0:
                continue
            # Load Q_i, dO_i, L_i, D_i and dQ_i.
            Qi, dOi = Q[i0:i1], dO[i0:i1]
            io.read += br * (2 * d + dv + 2)
            io.flops += 2 * br * bc * (3 * d + 2 * dv)

            # P again: S = scale Q_i K_j^T, masked where the diagonal crosses, P = exp(S - L).
            S = Qi @ Kj.T
            if causal and cached + i0 < j1 - 1:
                S[np.arange(j0, j1) > cached + np.arange(i0, i1)[:, None]] = -np.inf
            S -= base[i0:i1, None]
            P = np.exp(S, out=S)

            # dV_j += P^T dO_i; dP = dO_i V_j^T; dS = P (dP - D_i).
            dVj += P.T @ dOi
            dS = dOi @ Vj.T
            dS -= D[i0:i1, None]
            dS *= P

            # dQ_i += scale dS K_j, back to memory (K_j carries the scale); dK_j += dS^T Q_i.
            dQ[i0:i1] += dS @ Kj
            io.write += br * d
            dKj += dS.T @ Qi

        # Write dK_j, which lacks the scale yet, and dV_j.
        dK[j0:j1], dV[j0:j1] = scale * dKj, dVj
        io.write += bc * (d + dv)
    return dQ, dK, dV, io
    # END SOLUTION
