"""Both sides are stacked and reduced along the new axis; the result is a list."""

import numpy as np


def merge_states(a, b):
    m = np.stack([np.asarray(a[0], float), np.asarray(b[0], float)])
    top = m.max(axis=0)
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(np.exp(m - top))  # -inf - -inf where both sides are empty
    l = (weights * np.stack([a[1], b[1]])).sum(axis=0)
    if a[2] is None:
        return [top, l, None]
    return [top, l, (weights[..., None] * np.stack([a[2], b[2]])).sum(axis=0)]
