"""What is frozen of answers in which processors and versions of numpy differ in the last digits."""

import numpy as np
import pytest

from autograder.kit import frozen
from autograder.kit.border import Record
from autograder.kit.calls import Run, call
from autograder.kit.diagnosis import same
from release import freeze
from release.freeze import Bench, rounded
from release.solution import Solution, labs, read_solution
from release.term import read_term

VALUES = np.random.default_rng(0).normal(size=(40, 30))
ODD = np.array([0.0, -np.inf, np.inf, np.nan, 1e300, -3000.0, 1e-300])


def elsewhere(x: np.ndarray) -> np.ndarray:
    """x as another processor may have worked it out."""
    noise = np.random.default_rng(1).integers(-4, 5, x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.copysign(x * (1 + noise * 2.0**-52), np.where(np.abs(x) > 0, x, -1.0))


@pytest.mark.parametrize("holding", [
    lambda x: x, lambda x: [["value", (x, 1)]], lambda x: {"o": x}, lambda x: Run((call.f(x),)),
    lambda x: Record("State", {"m": x}, (x,)),
], ids=["array", "sequence", "dict", "request", "record"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_last_digits_of_another_processor_change_no_byte(holding, scale):
    here, there = (holding(x) for x in (scale * VALUES, elsewhere(scale * VALUES)))
    assert frozen.dump(here) != frozen.dump(there)
    assert frozen.dump(rounded(here)) == frozen.dump(rounded(there))


def test_what_is_no_plain_number_stays_and_has_one_form():
    assert frozen.dump(rounded(ODD)) == frozen.dump(rounded(elsewhere(ODD)))
    assert np.array_equal(rounded(ODD)[:4], ODD[:4], equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_rounded_answer_counts_as_the_same_and_another_does_not(dtype):
    values = VALUES.astype(dtype)
    assert same(values, rounded(values)) and rounded(values).dtype == dtype
    assert not same(values * (1 + 1e-6), rounded(values.astype("float64")))


def test_texts_and_whole_numbers_stay_as_they_are():
    value = {"id": "split", "counts": np.arange(3), "t": 0.1, "as": ["right", None, True]}
    assert frozen.dump(rounded(value)) == frozen.dump(value)


def before_3_12(solution: Solution) -> Solution:
    """The solution with a sum() that rounds after each addition, as Python's once did."""
    plainly = "def sum(numbers):\n    total = 0\n    for n in numbers:\n        total += n\n"
    sources = {name: f"from plainly import sum\n{text}" for name, text in solution.sources.items()}
    return Solution(solution.lab, {**sources, "plainly.py": f"{plainly}    return total\n"})


def since_3_12(solution: Solution) -> Solution:
    """The solution with a sum() that rounds floats once."""
    return Solution(solution.lab, {name: f"from math import fsum as sum\n{text}"
                                   for name, text in solution.sources.items()})


@pytest.mark.parametrize("lab", labs())
def test_how_a_python_adds_floats_changes_no_byte(lab, monkeypatch):
    monkeypatch.setattr(freeze, "read_mistakes", lambda solution: [])
    solution = read_solution(lab)
    with Bench() as bench:
        older, newer = (frozen.dump(freeze.freeze(adding(solution), read_term(), bench))
                        for adding in (before_3_12, since_3_12))
    assert older == newer
