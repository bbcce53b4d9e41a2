"""
Flash-Decoding: the attention of one new token, with the keys cut into splits that need no order.

One group of query heads that share a KV head, the splits one after the other: this version leaves
out batches, paged caches, and the GPU that runs the splits at the same time (see decode_time).
"""

import numpy as np


def split_kv_decode(
    q, K, V, n_splits, scale=None
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """
    Decode attention in two steps: attention within each split of the keys, then their combination.

    The splits are at most min(n_splits, S) segments of consecutive keys, none of them empty and
    none longer than 2*ceil(S / n_splits); at least 2 when n_splits > 1 and S > 1. With many
    splits no floating-point array of the size of all scores exists at any time: extra memory is
    that of the parts and of one split's scores, R * ceil(S / n_splits).

    Args:
        q [R, d]: the query heads that share these keys and values (GQA packs one group)
        K [S, d], V [S, dv]: the KV cache
        n_splits: splits wanted
        scale: factor of the scores; 1/sqrt(d) when None

    Returns:
        (o [R, dv], lse [R], parts): output, natural log-sum-exp of the scaled scores, and for each
        split, in key order, (o_s [R, dv], lse_s [R]): what attention over its own keys gives,
        normalised within the split

    Raises:
        ValueError: shapes that do not fit, no queries, no keys, d = 0, n_splits below 1

    Source: Dao, Haziza, Massa and Sizov 2023, Flash-Decoding for long-context inference; the
    combination: Ye et al. 2025 (FlashInfer), attention states.
    """
    q, K, V, scale = _decode_arguments(q, K, V, n_splits, scale)
    # BEGIN SOLUTION: return o, lse and the parts
    # Cut the keys into segments of nearly equal length; more splits than keys would be empty.
    S = len(K)
    edges = np.round(np.linspace(0, S, min(n_splits, S) + 1)).astype(int)

    # Attention within each split.
    parts = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        s = (scale * q) @ K[start:stop].T
        m = s.max(axis=1)
        p = np.exp(s - m[:, None])
        l = p.sum(axis=1)
        parts.append((p @ V[start:stop] / l[:, None], m + np.log(l)))

    # The log-sum-exp of all keys is that of the splits' log-sum-exps.
    lse_s = np.stack([part_lse for _, part_lse in parts])
    m = lse_s.max(axis=0)
    lse = m + np.log(np.exp(lse_s - m).sum(axis=0))

    # Each split weighs its share of the whole sum.
    o = np.zeros((len(q), V.shape[1]))
    for part_o, part_lse in parts:
        o += np.exp(part_lse - lse)[:, None] * part_o
    return o, lse, parts
    # END SOLUTION


def _decode_arguments(q, K, V, n_splits, scale):
    """q, K and V as float64 arrays and the scale as a number, once all is known to fit."""
    q, K, V = (np.asarray(x, dtype=np.float64) for x in (q, K, V))
    for name, x in (("q", q), ("K", K), ("V", V)):
        if x.ndim != 2:
            raise ValueError(f"{name} must have two axes, got shape {x.shape}")
    if 0 in q.shape:
        raise ValueError(f"q must hold a query of d >= 1 elements, got shape {q.shape}")
    if len(K) == 0:
        raise ValueError(f"K must hold a key, got shape {K.shape}")
    if K.shape[1] != q.shape[1]:
        raise ValueError(f"K must have the d of q {q.shape}, got shape {K.shape}")
    if len(V) != len(K):
        raise ValueError(f"V must have a row for each key of K {K.shape}, got shape {V.shape}")
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}")
    return q, K, V, q.shape[1] ** -0.5 if scale is None else float(scale)
