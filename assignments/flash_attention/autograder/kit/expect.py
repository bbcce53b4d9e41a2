"""
Comparisons of plain values with what is expected; each raises Failed with the first difference.

Arrays have their own module, so that labs without arrays never load numpy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.kit.calls import is_array
from autograder.kit.check import Failed


def fail(name: str, expected: Any, got: Any, remark: str = "") -> None:
    """Raise Failed: `name` should be `expected` but is `got`."""
    more = f"     ({remark})" if remark else ""
    raise Failed(("expected", f"{name} = {_show(expected)}"),
                 ("got", f"{name} = {_show(got)}{more}"))


def expect_number(got: Any, expected: float, name: str, rtol: float = 1e-9, atol: float = 0.0):
    """A finite number within atol + rtol * |expected| of the expected one."""
    number = as_number(got, name)
    if math.isnan(number):
        fail(name, expected, number)
    if not abs(number - expected) <= atol + rtol * abs(expected):
        fail(name, expected, number, _off(number, expected))


def expect_equal(got: Any, expected: Any, name: str):
    """An equal text, bool or whole number; a float with the same whole value is not one."""
    if isinstance(expected, int) and not isinstance(expected, bool):
        got = as_whole(got, name)
    if type(got) is not type(expected) or got != expected:
        fail(name, expected, got)


def expect_keys(got: Any, expected: Sequence[str], name: str):
    """A dict that has at least these keys."""
    if not isinstance(got, Mapping):
        raise Failed(("expected", f"{name} is a dict"), ("got", f"{name} is {kind(got)}"))
    missing = [key for key in expected if key not in got]
    if missing:
        raise Failed(("expected", f"{name} has the keys {', '.join(expected)}"),
                     ("got", f"{name} lacks {', '.join(missing)}"))


def expect_fields(got: Any, expected: Mapping[str, Any], names: Sequence[str], owner: str):
    """
    A dict with the expected entries under these names: texts equal, whole numbers exact (a float
    may hold one), other numbers up to round-off.
    """
    expect_keys(got, names, owner)
    for name in names:
        right = expected[name]
        if isinstance(right, str):
            expect_equal(got[name], right, name)
        else:
            expect_number(got[name], right, name, rtol=1e-9 if isinstance(right, float) else 0.0)


def expect_sequence(got: Any, length: int, name: str) -> Sequence:
    """A list or tuple of that length, which is given back."""
    if not isinstance(got, (list, tuple)):
        raise Failed(("expected", f"{name} has {length} parts"), ("got", f"{name} is {kind(got)}"))
    if len(got) != length:
        raise Failed(("expected", f"{name} has {length} parts"), ("got", f"it has {len(got)}"))
    return got


def expect_counts(got: Any, expected: Mapping[str, int], name: str, **sizes: int):
    """
    An object whose attributes are the expected whole numbers, the first wrong one shown.

    Args:
        sizes: what the call's sizes are called (N=9, d=4), to say a difference in their terms
    """
    for attribute, right in expected.items():
        full = f"{name}.{attribute}"
        if not hasattr(got, attribute):
            raise Failed(("expected", f"{full} = {right}"),
                         ("got", f"{kind(got)} without a number {attribute}"))
        count = as_whole(getattr(got, attribute), full)
        if count != right:
            fail(full, right, count, _count_off(full, count - right, sizes))


def expect_at_most(got: float, limit: float, name: str, why: str):
    """A number up to the limit; `why` says where the limit comes from."""
    if not got <= limit:
        raise Failed(("expected", f"{name} at most {_show(limit)} ({why})"),
                     ("got", f"{_show(got)}, {got / limit:.3g} times as much"))


def as_number(got: Any, name: str) -> float:
    """The number as a float; Failed when it is none."""
    if isinstance(got, (bool, str)) or not hasattr(got, "__float__"):
        raise Failed(("expected", f"{name} is a number"), ("got", f"{name} is {kind(got)}"))
    try:
        return float(got)
    except (TypeError, ValueError, OverflowError):
        raise Failed(("expected", f"{name} is a number"),
                     ("got", f"{name} is {kind(got)}")) from None


def as_whole(got: Any, name: str) -> int:
    """The whole number as an int; Failed when it is none."""
    try:
        if isinstance(got, bool):
            raise TypeError
        return operator.index(got)
    except TypeError:
        raise Failed(("expected", f"{name} is a whole number (int)"),
                     ("got", f"{name} is {kind(got)}")) from None


def kind(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "None (nothing was returned)"
    if is_array(value):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, (str, bool, int, float)):
        return f"the {type(value).__name__} {_show(value):.60}"
    name = getattr(value, "_kind", type(value).__name__)
    return f"an object of type {name}" + (f" of length {len(value)}" if isinstance(value, (
        list, tuple, dict)) and len(value) else "")


def in_terms_of(number: int, sizes: Mapping[str, int]) -> str:
    """
    A count in terms of the sizes it is made of: 48 with N=8, d=3 is "2*N*d"; "" when there is none.

    Smallest products first: at most three sizes times a coefficient of at most 8.
    """
    products = {"": 1}
    for _ in range(3):
        products |= {(f"{p}*{n}" if p else n): v * s for p, v in products.items()
                     for n, s in sizes.items() if s > 1 and (not p or n >= p.split("*")[-1])}
    fitting = [
        (abs(number) // value, text) for text, value in products.items()
        if text and number % value == 0 and 0 < abs(number) // value <= 8
    ]
    if not fitting:
        return ""
    factor, text = min(fitting, key=lambda f: (f[1].count("*") + (f[0] > 1) + (f[0] > 2), *f))
    return text if factor == 1 else f"{factor}*{text}"


def _count_off(name: str, off: int, sizes: Mapping[str, int]) -> str:
    words = in_terms_of(off, sizes)
    amount = f"{abs(off)} = {words}" if words else str(abs(off))
    return f"{name} is {amount} too {'high' if off > 0 else 'low'}"


def _off(got: float, expected: float) -> str:
    if expected == 0 or not math.isfinite(got):
        return ""
    return f"{got / expected:.4g} times the expected value"


def _show(value: Any) -> str:
    try:
        return f"{value:.10g}" if isinstance(value, float) else repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a very large integer"
