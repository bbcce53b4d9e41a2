"""What is frozen of answers in which processors and versions of numpy differ in the last digits."""

import numpy as np
import pytest

from autograder.kit import frozen
from autograder.kit.border import Record
from autograder.kit.calls import Run, call
from autograder.kit.diagnosis import same
from release.freeze import rounded

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
