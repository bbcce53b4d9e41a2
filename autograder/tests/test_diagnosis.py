"""Which mistake a submission's answers are those of."""

import numpy as np
import pytest

from autograder.kit.calls import PeakMemory, Run, call
from autograder.kit.diagnosis import RIGHT, Diagnosis, answers, completed, same, settled, shortened
from autograder.kit.lab import LocalLab

ONE, TWO = Run((call.f(1.0),)), Run((call.f(2.0),))
MEMORY = PeakMemory(call.f(3.0), call.f(1.0), limit=100_000)


def lab_of(function):
    return LocalLab(lambda name: function, dict)


def known(right, **mistakes):
    requests = [ONE, TWO, MEMORY]
    answered = answers(lab_of(right), requests)
    return Diagnosis({"part": {"requests": requests, "right": answered, "mistakes": [
        {"id": name, "hint": f"about {name}",
         "answers": shortened(answers(lab_of(f), requests, answered), answered)}
        for name, f in mistakes.items()]}})


def wasteful(x):
    return [2 * x, np.zeros(100_000)][0]


DIAGNOSIS = known(lambda x: 2 * x, tripled=lambda x: 3 * x, only_1=lambda x: 2.0,
                  wasteful=wasteful, broken=lambda x: x / 0)


@pytest.mark.parametrize("function, name", [
    (lambda x: x + x + x, "tripled"),
    (lambda x: 2.0, "only_1"),
    (wasteful, "wasteful"),
    (lambda x: {}[x], ""),
    (lambda x: x / 0, ""),  # another may have raised it
    (lambda x: 5 * x, ""),
    (lambda x: 2 * x * (1 + 1e-12), ""),
])
def test_a_mistake_is_named_by_its_answers_alone(function, name):
    assert DIAGNOSIS.of("part", lab_of(function)) == (name, name and f"about {name}")


def test_memory_is_not_asked_about_when_values_are_wrong_already():
    right = answers(lab_of(lambda x: 2 * x), [ONE, MEMORY])
    assert right[1] == ["value", False]
    assert answers(lab_of(lambda x: x), [ONE, MEMORY], right)[1] == ["not asked"]


def test_a_shortened_answer_holds_only_what_differs():
    right = [["value", [np.arange(3.0), {"t": 1.0}, (1, 2)]], ["value", 4]]
    wrong = [["value", [np.arange(3.0), {"t": 2.0}, (1, 3)]], ["value", 4]]
    short = shortened(wrong, right)
    assert short == [[RIGHT, [RIGHT, {"t": 2.0}, (RIGHT, 3)]], RIGHT]
    assert same(completed(short, right), wrong)


def test_where_the_right_answer_is_nan_any_will_do():
    right = [["value", (np.array([1.0, np.nan]), 3)]]
    for got in (np.array([1.0, 7.0]), np.array([1.0, np.nan])):
        assert same(settled([["value", [got, 3]]], right), settled(right, right))
    assert not same(settled([["value", (np.array([np.nan, 1.0]), 3)]], right),
                    settled(right, right))
