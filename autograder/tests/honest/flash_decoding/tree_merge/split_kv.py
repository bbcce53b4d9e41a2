"""Honest: pairs of parts are merged, then pairs of pairs; base 2 inside, natural outside."""

import numpy as np

LOG2E = 1.4426950408889634074


def attend(q, K, V, scale):
    scores = (q @ K.T) * (scale * LOG2E)
    m = scores.max(1, keepdims=True)
    p = np.exp2(scores - m)
    l = p.sum(1, keepdims=True)
    return (p @ V) / l, (m + np.log2(l)) / LOG2E


def merge(a, b):
    (oa, la), (ob, lb) = a, b
    share = 1 / (1 + np.exp(-np.abs(la - lb)))
    share = np.where(la >= lb, share, 1 - share)
    return share * oa + (1 - share) * ob, np.logaddexp(la, lb)


def tree(states):
    if len(states) == 1:
        return states[0]
    half = len(states) // 2
    return merge(tree(states[:half]), tree(states[half:]))


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.asarray(x, float) for x in (q, K, V))
    scale = 1 / q.shape[1] ** 0.5 if scale is None else float(scale)
    n = min(n_splits, len(K))
    edges = [len(K) * i // n for i in range(n + 1)]
    states = [attend(q, K[i:j], V[i:j], scale) for i, j in zip(edges, edges[1:])]  # noqa: B905
    o, lse = tree(states)
    return o, lse[:, 0], [(o_s, lse_s[:, 0]) for o_s, lse_s in states]
