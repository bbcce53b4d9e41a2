"""The side with the larger maximum stays as it is; only the other one is rescaled."""

import numpy as np


def merge_states(a, b):
    (ma, la, oa), (mb, lb, ob) = (
        [None if part is None else np.asarray(part, float) for part in state] for state in (a, b))
    a_leads = ma >= mb
    gap = -np.abs(np.subtract(ma, mb, out=np.zeros(np.shape(ma)), where=ma != mb))
    small = np.exp(gap)
    l = np.where(a_leads, la + small * lb, lb + small * la)
    o = None
    if oa is not None:
        a_leads, small = a_leads[..., np.newaxis], small[..., np.newaxis]
        o = np.where(a_leads, oa + small * ob, ob + small * oa)
    return np.where(ma >= mb, ma, mb), l, o
