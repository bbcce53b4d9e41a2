"""Merging entry by entry, with the math module."""

import math

import numpy as np


def merge_states(a, b):
    (ma, la, oa), (mb, lb, ob) = a, b
    ma, la, mb, lb = (np.asarray(x, float) for x in (ma, la, mb, lb))
    m, l = np.empty(ma.shape), np.empty(ma.shape)
    o = None if oa is None else np.zeros(np.shape(oa))
    for at in np.ndindex(ma.shape):
        m[at] = max(ma[at], mb[at])
        l[at] = 0.0
        for side_m, side_l, side_o in ((ma, la, oa), (mb, lb, ob)):
            if side_m[at] > -math.inf:
                weight = math.exp(side_m[at] - m[at])
                l[at] += weight * side_l[at]
                if o is not None:
                    o[at] += weight * np.asarray(side_o[at], float)
    return m, l, o
