"""Merging in longdouble, with results that stay longdouble."""

import numpy as np


def merge_states(a, b):
    (ma, la, oa), (mb, lb, ob) = (
        [None if part is None else np.asarray(part, np.longdouble) for part in state]
        for state in (a, b))
    m = np.maximum(ma, mb)
    base = np.where(np.isinf(m), np.longdouble(0), m)
    wa, wb = np.exp(ma - base), np.exp(mb - base)
    o = None if oa is None else oa * wa[..., None] + ob * wb[..., None]
    return m, la * wa + lb * wb, o
