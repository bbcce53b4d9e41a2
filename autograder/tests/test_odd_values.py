"""
Whatever plain data a submission returns, a check passes or fails by it: it never breaks.

The labs' checks are run on submissions whose every answer is one odd value.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from autograder.grading import results
from autograder.kit import border
from autograder.kit.calls import ArgumentsAfter, Call, Name, PeakMemory
from autograder.kit.lab import Lab
from autograder.kit.release import labs, release_of
from autograder.kit.run import FAILED, Judge

HUGE = 10**900
VALUES = {
    "nothing": None, "true": True, "zero": 0, "one": 1, "minus one": -1, "huge": HUGE,
    "minus huge": -HUGE, "half": 0.5, "nan": math.nan, "infinity": math.inf, "text": "passed",
    "long text": "x" * 10_000, "half a pair": "\ud800", "empty": [], "empty tuple": (),
    "lists": [[[[]]]], "three": [1, 2.0, "3"], "two": (None, True), "four": [HUGE] * 4,
    "many": [0.0] * 90_000, "dict": {}, "dict of dicts": {"t": {"t": {}}},
    "odd keys": {None: 1, 2: 2, 1.5: 3, True: 4, math.nan: 5},
    "texts": dict.fromkeys(("t", "ctas", "bound", "ideal", "parts"), "x"),
    "parts": {"t": 1.0, "ideal": 1.0, "bw_util": 1.0, "parts": {"weights": math.nan, 5: "x"}},
    "object": border.Record("Thing", {"read": HUGE, "write": math.nan, "flops": "x"}),
    "array-like": border.Record("Thing", {"dtype": 1, "shape": 2, "ndim": 3, "size": 4}),
    "named": border.Record("Thing", {"a": 1}, (1, 2, 3)), "name": Name("flash_fwd"),
    "call": Call("flash_fwd", (np.zeros(3),), {}),
    "no axis": np.array(1.5), "no entry": np.zeros((0, 3)), "integers": np.arange(6),
    "booleans": np.ones((3, 2), bool), "eight axes": np.zeros((1,) * 8),
    "nans": np.full((9, 4), np.nan), "infinities": np.full((9, 4), -np.inf),
    "float16": np.ones((9, 4), np.float16), "long doubles": np.ones((9, 4), np.longdouble),
    "no long double": np.frombuffer(b"\xff" * 16 * 4, np.longdouble),
    "booleans of 2": np.frombuffer(b"\2" * 8, bool), "unsigned": np.ones(3, np.uint8) - 2,
    "arrays": [np.zeros((9, 4)), np.zeros(9), [np.zeros(3)]],
    "an array and more": (np.zeros((3, 5)), None, {}),
    "state": (np.zeros(3), np.zeros(3), None), "pairs": (np.zeros((4, 3)), np.zeros(4), [(1, 2)]),
    "ragged": ([[1], [1, 2]], [np.zeros(2), 3], [(np.zeros((2, 2)),)]),
    "split": (3, {"t": "x"}), "no split": (1.5, 2), "splits": ("x", {"t": 1.0}, 3),
}
FIELDS = ("t", "ctas", "waves", "bound", "util", "t_comp", "t_mem", "ideal", "bw_util", "parts")
SHAPES = {  # what results of the labs look like, with the odd value wherever something stands
    "three": lambda x: (x, x, x), "four": lambda x: (x, x, x, x),
    "parts": lambda x: (x, x, [(x, x), (x, x)]), "choice": lambda x: (3, dict.fromkeys(FIELDS, x)),
    "fields": lambda x: dict.fromkeys(FIELDS, x) | {"parts": {"weights": x, "launch": x}},
}
INNER = ("nothing", "true", "huge", "nan", "text", "lists", "dict", "array-like",
         "no entry", "nans")
NESTED = {f"{inner} in {shape}": (VALUES[inner], SHAPES[shape])
          for shape in SHAPES for inner in INNER}
ALL = VALUES | {name: shape(inner) for name, (inner, shape) in NESTED.items()}


class Answers(Lab):
    """Answers every question with the same value, as far as the question's form allows."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    @property
    def answers(self):
        return dict.fromkeys(self.keys, self.value)

    def _ask(self, request):
        if isinstance(request, PeakMemory):
            return [self.value, 1 << 61]
        if isinstance(request, ArgumentsAfter):
            return [self.value] * (len(request.call.args) + len(request.call.kwargs))
        return [self.value] * len(request.calls)


@pytest.fixture(scope="module", params=labs())
def release(request):
    return release_of(request.param)


@pytest.mark.filterwarnings("ignore")  # numpy's, about NaN and long doubles that are none
@pytest.mark.parametrize("kind", ALL)
def test_no_value_breaks_a_check(release, kind, capsys):
    lab = Answers(ALL[kind])
    lab.keys = release.frozen_for(replace(release.checks[0], hidden=True)).answers
    judge = Judge(lab, release.frozen_for, 1, release.diagnosis)
    judged = [judge.judge(replace(check, after=None)) for check in release.checks]
    assert not capsys.readouterr().err
    assert {r.status for r in judged if r.outcome == FAILED} <= {"graded"}
    assert all(r.status != "grader error" for r in judged), judged
    content = results.as_gradescope(judged, release.about, [], {}, 0.0)
    assert len(json.dumps(content, allow_nan=False)) < 1 << 20


@pytest.mark.parametrize("kind", VALUES)
def test_every_value_crosses_the_border_and_comes_back_the_same(kind):
    value = VALUES[kind]
    tree, buffers = border.take_apart(value)
    header, data = border.frame({"value": tree}, buffers), None
    head, payload = border.frame_lengths(header[: border.LENGTHS])
    tree, data = border.open_frame(header[border.LENGTHS :][:head], header[border.LENGTHS + head :])
    assert len(header) == border.LENGTHS + head + payload
    back = border.put_together(tree["value"], data)
    assert type(back) is type(value)
    assert repr(border.take_apart(back)) == repr(border.take_apart(value))
