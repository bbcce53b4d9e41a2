"""Return arrays of objects, texts, dates, records, and of 64 axes, one kind a call."""

import itertools

import numpy as np

KINDS = itertools.cycle((
    np.array([object()] * 3), np.array(["a" * 1000] * 1000), np.array(["2026-01-01"], "M8[s]"),
    np.zeros(3, [("a", "f8"), ("b", "O")]), np.zeros(3, complex), np.zeros((1,) * 32),
    np.ma.masked_all(3), np.matrix([[1.0]]), np.zeros((0, 1 << 40)), np.zeros(3, "V8"),
    np.array(3.0), np.zeros(3, ">f8"), np.frombuffer(b"\xff" * 48, np.longdouble),
))


def split_kv_decode(*args, **kwargs):
    odd = next(KINDS)
    return odd, odd, [(odd, odd)]
