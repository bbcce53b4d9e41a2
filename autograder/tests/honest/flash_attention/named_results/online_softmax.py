"""The merged state is a namedtuple, whatever came in."""

from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    m: np.ndarray
    l: np.ndarray
    o: np.ndarray | None


def merge_states(a, b):
    a, b = (State(*(None if part is None else np.asarray(part, float) for part in s))
            for s in (a, b))
    m = np.where(a.m > b.m, a.m, b.m)
    sides = [(side, np.where(side.m > -np.inf, np.exp(side.m - np.where(m > -np.inf, m, 0)), 0))
             for side in (a, b)]
    l = sum(weight * side.l for side, weight in sides)
    if a.o is None:
        return State(m, l, None)
    return State(m, l, sum(np.expand_dims(weight, -1) * side.o for side, weight in sides))
