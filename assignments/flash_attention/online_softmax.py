"""
Softmax in one, two and three sweeps, and the state (m, l, o) that lets a row be cut anywhere.

m is the maximum of a segment's scores, l the sum of exp(x - m), o the output exp(x - m) @ v before
it is divided by l. This version holds float64 arrays in numpy; it leaves out top-k, temperature and
base-2 exponentials, which the fast kernels add.
"""

import numpy as np


def softmax_3pass(x) -> tuple[np.ndarray, int]:
    """
    Softmax along the last axis in three sweeps: maximum, sum, division.

    Args:
        x [..., n]: scores; -inf marks a masked one

    Returns:
        (y [..., n], 3): the softmax, 0 in a row that is all -inf, and the sweeps over the data

    Raises:
        ValueError: x has no last axis or nothing along it

    Source: Milakov and Gimelshein 2018, section 2, algorithm 2.
    """
    x = _scores(x)
    m = np.max(x, axis=-1, keepdims=True)
    p = np.exp(x - _finite(m))
    l = np.sum(p, axis=-1, keepdims=True)
    return p / _nonzero(l), 3


def softmax_online(x, block=128) -> tuple[np.ndarray, int]:
    """
    Softmax along the last axis in two sweeps: one keeps (m, l) block by block, one divides.

    Args:
        x [..., n]: scores; -inf marks a masked one
        block: scores that a sweep takes at a time; it need not divide n

    Returns:
        (y [..., n], 2): the softmax, 0 in a row that is all -inf, and the sweeps over the data

    Raises:
        ValueError: block is below 1, or x has no last axis or nothing along it

    Source: Milakov and Gimelshein 2018, section 3, algorithm 3.
    """
    x = _scores(x)
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    m = np.full(x.shape[:-1] + (1,), -np.inf)
    l = np.zeros(x.shape[:-1] + (1,))
    for start in range(0, x.shape[-1], block):
        part = x[..., start : start + block]
        m_new = np.maximum(m, np.max(part, axis=-1, keepdims=True))
        base = _finite(m_new)
        l = l * np.exp(m - base) + np.sum(np.exp(part - base), axis=-1, keepdims=True)
        m = m_new

    y = np.empty(x.shape)
    for start in range(0, x.shape[-1], block):
        part = x[..., start : start + block]
        y[..., start : start + block] = np.exp(part - _finite(m)) / _nonzero(l)
    return y, 2


def partial_state(x, v=None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """
    The softmax state of one segment of the scores.

    Args:
        x [..., n]: the segment's scores; -inf marks a masked one
        v [n, dv] or None: the segment's values

    Returns:
        (m [...], l [...], o [..., dv]): maximum, sum of exp(x - m), exp(x - m) @ v, which is not
        divided by l; o is None when v is None; (-inf, 0, 0) where all scores are -inf

    Raises:
        ValueError: x has no last axis or nothing along it, or v does not have n rows

    Source: Milakov and Gimelshein 2018, section 3.1; with o: Ye et al. 2025 (FlashInfer),
    attention states.
    """
    x = _scores(x)
    m = np.max(x, axis=-1)
    p = np.exp(x - _finite(m)[..., None])
    l = np.sum(p, axis=-1)
    if v is None:
        return m, l, None
    v = np.asarray(v, dtype=np.float64)
    if v.ndim < 2 or v.shape[-2] != x.shape[-1]:
        raise ValueError(f"v must have a row for each of {x.shape[-1]} scores, got shape {v.shape}")
    return m, l, p @ v


def merge_states(a, b) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """
    The softmax state of two segments laid end to end.

    Args:
        a, b: (m [...], l [...], o [..., dv] or None): maximum, sum of exp(x - m), unnormalised
            output; m = -inf marks an empty segment, whose l and o are 0

    Returns:
        (m, l, o) of both; (-inf, 0, 0) where both are empty; o is None when theirs is

    Raises:
        ValueError: the shapes of a and b do not fit, or only one of them has an o

    Source: Milakov and Gimelshein 2018, section 3.1; with o: Ye et al. 2025 (FlashInfer),
    attention states.
    """
    (ma, la, oa), (mb, lb, ob) = _two_states(a, b)
    # TODO: return the state (m, l, o) of both segments, empty ones included
    raise NotImplementedError(
        "TODO: return the state (m, l, o) of both segments, empty ones included"
    )


def _scores(x):
    """x as a float64 array with something along its last axis."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x must hold scores along its last axis, got shape {x.shape}")
    return x


def _two_states(a, b):
    """Both states as float64 arrays, once their shapes are known to fit."""
    states = []
    for name, state in (("a", a), ("b", b)):
        m, l, o = (None if part is None else np.asarray(part, dtype=np.float64) for part in state)
        if m.shape != l.shape:
            raise ValueError(f"{name} has m of shape {m.shape} and l of shape {l.shape}")
        if o is not None and (o.ndim == 0 or o.shape[:-1] != m.shape):
            raise ValueError(f"{name} has m of shape {m.shape} and o of shape {o.shape}")
        states.append((m, l, o))
    (ma, _, oa), (mb, _, ob) = states
    if ma.shape != mb.shape:
        raise ValueError(f"a has m of shape {ma.shape} and b has m of shape {mb.shape}")
    if (oa is None) != (ob is None):
        raise ValueError(f"only one of a and b has an o: {'b' if oa is None else 'a'}")
    if oa is not None and oa.shape != ob.shape:
        raise ValueError(f"a has o of shape {oa.shape} and b has o of shape {ob.shape}")
    return states


def _finite(m):
    """m with 0 for -inf: a number that may be subtracted from scores that are all -inf."""
    return np.where(m == -np.inf, 0.0, m)


def _nonzero(l):
    """l with 1 for 0: a number that may divide a row that is all 0."""
    return np.where(l == 0, 1.0, l)
