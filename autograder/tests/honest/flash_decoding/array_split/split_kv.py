"""Honest: array_split cuts the keys; parts and pairs are lists; matrix products with einsum."""

import numpy as np


def split_kv_decode(q, K, V, n_splits, scale=None):
    q, K, V = (np.array(x, dtype="f8") for x in (q, K, V))
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    parts = []
    for keys in np.array_split(np.arange(len(K)), min(n_splits, len(K))):
        scores = np.einsum("rd,sd->rs", q, K[keys]) * scale
        top = scores.max(-1, keepdims=True)
        lse = np.log(np.exp(scores - top).sum(-1)) + top[:, 0]
        parts.append([np.einsum("rs,se->re", np.exp(scores - lse[:, None]), V[keys]), lse])
    lse_s = np.array([part[1] for part in parts])
    lse = np.logaddexp.reduce(lse_s, axis=0)
    return [np.einsum("pr,pre->re", np.exp(lse_s - lse), [part[0] for part in parts]), lse, parts]
