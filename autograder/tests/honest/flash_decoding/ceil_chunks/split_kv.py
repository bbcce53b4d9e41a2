"""Honest: chunks of ceil(S / n_splits) keys, the last one shorter, so there may be fewer parts."""

import numpy as np


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.require(x, np.float64, "C") for x in (q, K, V))
    if scale is None:
        scale = q.shape[-1] ** -0.5
    size = -(-K.shape[0] // n_splits)
    outputs, sums = [], []
    for start in range(0, K.shape[0], size):
        scores = scale * np.dot(q, K[start:start + size].transpose())
        m = np.amax(scores, axis=1)[:, np.newaxis]
        weights = np.exp(scores - m)
        l = np.sum(weights, axis=1)[:, np.newaxis]
        outputs.append(np.dot(weights, V[start:start + size]) / l)
        sums.append(np.squeeze(m + np.log(l), axis=1))
    total = np.stack(sums)
    weights = np.exp(total - total.max(axis=0))
    o = (weights[..., None] * np.stack(outputs)).sum(axis=0) / weights.sum(axis=0)[:, None]
    lse = total.max(axis=0) + np.log(weights.sum(axis=0))
    return o, lse, tuple(zip(outputs, sums))  # noqa: B905
