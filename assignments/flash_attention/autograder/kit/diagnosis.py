"""
Names the known mistake behind a failure, from values alone.

The build froze what the right solution and every known mistake give on a few fixed calls. The
submission is asked the same; when its answers are those of one mistake, or of several that share
a hint, and not the right ones, that hint is given. In any other case none is.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

from autograder.kit.border import Record
from autograder.kit.calls import PeakMemory, Request, Run, is_array
from autograder.kit.check import Failed, NotJudged
from autograder.kit.lab import CallFailed, Lab

RTOL = 1e-8  # between equal answers reached by different round-off; mistakes differ by far more


RIGHT = {"as": "right"}  # in a mistake's answer: this piece is that of the right solution


class Diagnosis:
    """The frozen answers of one lab: part -> its requests, right answers and mistakes."""

    def __init__(self, parts: dict[str, dict[str, Any]]):
        self.parts = parts
        self.found: WeakKeyDictionary[Lab, dict[str, tuple[str, str]]] = WeakKeyDictionary()

    def of(self, part: str, lab: Lab) -> tuple[str, str]:
        """(mistake id, hint) behind this submission's failures in the part; ("", "") for none."""
        found = self.found.setdefault(lab, {})
        if part not in self.parts:
            return "", ""
        if part not in found:
            known = self.parts[part]
            got = answers(lab, known["requests"], known["right"])
            right = settled(known["right"], known["right"])
            found[part] = ("", "") if same(got, right) else _named(got, right, known)
        return found[part]


def answers(lab: Lab, requests: list[Request], right: list | None = None) -> list:
    """
    What the submission says to all requests, settled where the right answers are given. Memory is
    slow to measure and says little of wrong values, so after a wrong answer it is not asked about.
    """
    got: list = []
    for several, group in groupby(requests, lambda request: isinstance(request, Run)):
        if several:
            got += _at_once(lab, list(group))
            continue
        for request in group:
            skip = isinstance(request, PeakMemory) and right and _wrong(got, right[: len(got)])
            got.append(["not asked"] if skip else answer(lab, request))
    return settled(got, right) if right else got


def _at_once(lab: Lab, requests: list[Run]) -> list:
    """The answers to requests in one trip; one by one when some call of them fails."""
    found = answer(lab, Run(tuple(call for request in requests for call in request.calls)))
    if found[0] != "value":
        return [answer(lab, request) for request in requests]
    values = iter(found[1])
    return [["value", [next(values) for _ in request.calls]] for request in requests]


def _wrong(got: list, right: list) -> bool:
    return not same(settled(got, right), settled(right, right))


def answer(lab: Lab, request: Request) -> Any:
    """What the submission says to one diagnostic request; an exception is an answer too."""
    try:
        value = lab._ask(request)
        return ["value", value[1] > request.limit if isinstance(request, PeakMemory) else value]
    except CallFailed as failure:
        return ["error", failure.error]
    except (Failed, NotJudged):
        return ["error", "none"]


def _named(got: list, right: list, known: dict[str, Any]) -> tuple[str, str]:
    if all(piece[0] != "value" for piece in got):
        return "", ""  # the names of exceptions alone tell mistakes apart too badly
    fitting = [m for m in known["mistakes"] if same(got, completed(m["answers"], right))]
    hints = {mistake["hint"] for mistake in fitting}
    return (fitting[0]["id"], hints.pop()) if len(hints) == 1 else ("", "")


def settled(value: Any, right: Any) -> Any:
    """The answer with 0 in the place of numbers of which the right one is NaN: any will do."""
    if is_array(right) and is_array(value):
        return _settled_array(value, right)
    if all(isinstance(x, (list, tuple)) for x in (value, right)) and len(value) == len(right) > 0:
        return [settled(*parts) for parts in zip(value, right, strict=True)]
    return value


def shortened(value: Any, right: Any) -> Any:
    """A mistake's answer with RIGHT for all that is as in the right one, which is most of it."""
    if same(value, right):
        return RIGHT
    if type(value) in (list, tuple) and type(right) is type(value) and len(right) == len(value):
        return type(value)(map(shortened, value, right))
    return value


def completed(value: Any, right: Any) -> Any:
    """The answer that was shortened."""
    if isinstance(value, dict) and value == RIGHT:
        return right
    if type(value) in (list, tuple) and type(right) is type(value) and len(right) == len(value):
        return type(value)(map(completed, value, right))
    return value


def same(a: Any, b: Any) -> bool:
    """
    Whether two plain values are equal up to round-off; records in the numbers both have, a dict in
    the entries of b, 0 in the place of one that a has not.
    """
    if is_array(a) or is_array(b):
        return _same_arrays(a, b)
    if isinstance(a, Record) and isinstance(b, Record):
        both = (vars(a).keys() & vars(b).keys()) - {"_kind"}
        return bool(both) and all(same(getattr(a, name), getattr(b, name)) for name in both)
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(a.get(key, 0), right) for key, right in b.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return numbers and (a == b or (a != a and b != b) or _close(a, b))
    return type(a) is type(b) and a == b


def _close(a: float, b: float) -> bool:
    try:
        return math.isclose(a, b, rel_tol=RTOL)
    except OverflowError:  # an integer that no float can hold
        return False


def _same_arrays(a: Any, b: Any) -> bool:
    import numpy as np

    if not all(is_array(x) or isinstance(x, float) for x in (a, b)):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return False
    equal = a == b
    if equal.all():  # to the last bit, as most are
        return True
    a, b = a.astype(np.float64), b.astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((equal | (np.abs(a - b) <= RTOL * scale) | (a != a) & (b != b)).all())


def _settled_array(value: Any, right: Any) -> Any:
    import numpy as np

    if right.dtype.kind != "f" or value.shape != right.shape:
        return value
    return np.where(np.isnan(right), 0.0, value)
