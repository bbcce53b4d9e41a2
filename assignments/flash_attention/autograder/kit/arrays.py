"""
Comparisons of arrays in the order array? shape? dtype? NaN? values; each raises Failed.

Not here: plain numbers, texts and counters (expect.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.kit.calls import Call
from autograder.kit.check import Failed
from autograder.kit.expect import expect_sequence, kind

EPS = np.finfo(np.float64).eps
FLOAT32 = 1e-5  # relative to the largest value: as far off as float32 goes


def expect_array(got: Any, expected: Any, name: str, score: float = 0.0, where: Any = None):
    """
    A floating-point array of the expected shape and values.

    Args:
        score: the largest |score| the values come from; round-off in them grows with it
        where: boolean mask of the entries that are compared (all when None)
    """
    expected = np.asarray(expected)
    values = expect_shape(got, expected.shape, name)
    compared = np.ones(expected.shape, bool) if where is None else np.broadcast_to(
        where, expected.shape)
    _refuse_nan(values, expected, compared, name)
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    with np.errstate(invalid="ignore", over="ignore"):  # entries that are rightly infinite, too
        off = np.abs(values - expected)
    wrong = compared & (values != expected) & ~(off <= tolerance(score) * scale)
    if wrong.any():
        most = np.max(off, where=wrong, initial=0.0)
        _differ(values, expected, wrong, name, rounded=most <= FLOAT32 * scale)


def expect_unchanged(after: Sequence, call: Call, names: Sequence[str]):
    """
    Arguments that a call left as they were.

    Args:
        after: what lab.arguments_after(call) gave
        names: what the call's arguments are called, in order
    """
    before = [*call.args, *call.kwargs.values()]
    for name, old, new in zip(names, before, expect_sequence(after, len(before), "the arguments"),
                              strict=False):
        _same_bits(old, new, name)


def expect_shape(got: Any, shape: tuple, name: str) -> np.ndarray:
    """A floating-point array of that shape, which is given back."""
    if not (isinstance(got, np.ndarray) or (shape == () and isinstance(got, float))):
        raise Failed(("expected", f"{name} is an array of shape {shape}"),
                     ("got", f"{name} is {kind(got)}"))
    values = np.asarray(got)
    if values.shape != shape:
        raise Failed(("expected", f"{name} has shape {shape}"),
                     ("got", f"{name} has shape {values.shape}"))
    if values.dtype.kind != "f":
        raise Failed(("expected", f"{name} holds floating-point numbers"),
                     ("got", f"{name} has dtype {values.dtype}"))
    return values


def tolerance(score: float = 0.0) -> float:
    """Round-off allowed relative to max(1, max|expected|), for scores up to |score|."""
    return 1e-9 + 8 * EPS * abs(score)


def _refuse_nan(values, expected, compared, name: str):
    nan = np.isnan(values) & compared
    if nan.any():
        at = _first(nan)
        raise Failed(("expected", f"{name}{_index(at)} = {expected[at]:.10g}"),
                     ("got", f"{name}{_index(at)} = nan     "
                             f"({_count(nan, compared)} are NaN)"))


def _differ(values, expected, wrong, name: str, rounded: bool):
    at = _first(wrong)
    digits = ".17g" if rounded else ".10g"
    remark = f"{_count(wrong, wrong | True)} differ; shape {values.shape} is right"
    if rounded:
        remark += "; as close as float32, or a small number added"
    raise Failed(("expected", f"{name}{_index(at)} = {expected[at]:{digits}}"),
                 ("got", f"{name}{_index(at)} = {values[at]:{digits}}     ({remark})"))


def _same_bits(old: Any, new: Any, name: str):
    if isinstance(old, (list, tuple)):
        new = expect_sequence(new, len(old), name)
        for index, (part, then) in enumerate(zip(old, new, strict=True)):
            _same_bits(part, then, f"{name}[{index}]")
        return
    old = np.asarray(old)
    if old.dtype == object:  # None and the like
        return
    if not isinstance(new, (np.ndarray, str, bool, int, float)):
        raise Failed(("expected", f"{name} stays what it is"),
                     ("got", f"{name} is {kind(new)} after the call"))
    new = np.asarray(new)
    if old.shape != new.shape:
        raise Failed(("expected", f"{name} keeps its shape {old.shape}"),
                     ("got", f"{name} has shape {new.shape} after the call"))
    changed = (old != new) & ((old == old) | (new == new))  # NaN stays NaN
    if changed.any():
        at = _first(changed)
        raise Failed(
            ("expected", f"{name}{_index(at)} = {old[at]} as before the call"),
            ("got", f"{name}{_index(at)} = {new[at]} after it     "
                    f"({_count(changed, changed | True)} were changed)"))


def _first(mask: np.ndarray) -> tuple:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _index(at: tuple) -> str:
    return f"[{', '.join(map(str, at))}]" if at else ""


def _count(some: np.ndarray, all_of_them: np.ndarray) -> str:
    return f"{int(some.sum())} of {int(all_of_them.sum())} values"
