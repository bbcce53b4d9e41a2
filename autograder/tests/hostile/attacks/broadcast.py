"""Return views that claim a thousand million elements on eight bytes."""

import numpy as np


def split_kv_decode(*args, **kwargs):
    view = np.broadcast_to(np.float64(1), (1000, 1000, 1000))
    return view, view[0], [(view, view)]
