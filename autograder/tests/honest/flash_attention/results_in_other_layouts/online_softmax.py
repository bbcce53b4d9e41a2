"""m, l and o are views of one array, side by side."""

import numpy as np


def merge_states(a, b):
    m = np.maximum(a[0], b[0])
    with_o = a[2] is not None
    packed = [np.concatenate([np.asarray(l, float)[..., None], *([np.asarray(o, float)] * with_o)],
                             axis=-1) for _, l, o in (a, b)]
    base = np.nan_to_num(np.asarray(m, float), neginf=0.0)
    whole = sum(p * np.exp(np.asarray(side[0], float) - base)[..., None]
                for p, side in zip(packed, (a, b), strict=True))
    return np.asarray(m, float), whole[..., 0], whole[..., 1:] if with_o else None
