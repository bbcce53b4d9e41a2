"""Sums are merged as logarithms; outputs by their share of the whole, undone at the end."""

import numpy as np


def merge_states(a, b):
    (ma, la, oa), (mb, lb, ob) = (
        [None if part is None else np.asarray(part, float) for part in state] for state in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        La, Lb = ma + np.log(la), mb + np.log(lb)
        L = np.logaddexp(La, Lb)
        m = np.maximum(ma, mb)
        empty = np.isneginf(m)
        l = np.where(empty, 0.0, np.exp(L - m))
        if oa is None:
            return m, l, None
        shares = [np.nan_to_num(np.exp(x - L) / k) for x, k in ((La, la), (Lb, lb))]
        return m, l, (shares[0][..., None] * oa + shares[1][..., None] * ob) * l[..., None]
