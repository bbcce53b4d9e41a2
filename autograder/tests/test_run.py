"""The judge: three outcomes, dependencies, hints, and messages that keep what is hidden hidden."""

from __future__ import annotations

import pytest

from autograder.kit import message
from autograder.kit.calls import Run, call
from autograder.kit.check import Check, NotJudged
from autograder.kit.diagnosis import Diagnosis
from autograder.kit.expect import expect_number
from autograder.kit.lab import LocalLab
from autograder.kit.run import FAILED, NOT_JUDGED, PASSED, Judge, planned

HINT = "the sign is lost: think of negative numbers"


def make(function, after=None, hidden=False, part="double") -> Check:
    return Check(function.__name__, function.__doc__, 2, part, "1", hidden,
                 "visible", after, function)


def doubles(lab):
    """double(3) is 6"""
    expect_number(lab.double(3), 6.0, "double(3)")


def doubles_negative(lab):
    """double(-3) is -6"""
    expect_number(lab.double(-3), -6.0, "double(-3)")


def unreachable(lab):
    """the grader has no time"""
    raise NotJudged("no time left", "timeout")


def broken(lab):
    """a check that breaks"""
    return {}["secret value"]


def lab_of(double) -> LocalLab:
    return LocalLab({"double": double}.__getitem__, dict)


def judged(double, *checks, diagnosis=None):
    judge = Judge(lab_of(double), lambda check: None, 7, diagnosis)
    return [judge.judge(check) for check in checks]


def test_a_right_function_passes_with_full_points():
    (result,) = judged(lambda x: 2 * x, make(doubles))
    assert (result.outcome, result.score, result.status) == (PASSED, 2.0, "graded")


def test_a_wrong_value_fails_with_expected_got_and_inputs():
    (result,) = judged(lambda x: x * x, make(doubles))
    assert (result.outcome, result.score) == (FAILED, 0.0)
    assert dict(result.lines)["expected"] == "double(3) = 6"
    assert dict(result.lines)["got"].startswith("double(3) = 9")
    assert dict(result.lines)["inputs"] == "double(3)"


def todo(x):
    raise NotImplementedError("TODO: twice x")


def test_a_failure_keeps_dependent_checks_from_being_judged():
    first, second = judged(lambda x: 0.0, make(doubles), make(doubles_negative, after="doubles"))
    assert (second.outcome, second.score) == (NOT_JUDGED, 0.0)
    assert dict(second.lines)["reason"] == "first mend: double(3) is 6"


def test_a_stub_fails_every_check_itself():
    results = judged(todo, make(doubles), make(doubles_negative, after="doubles"))
    assert [(r.outcome, r.status) for r in results] == [(FAILED, "not implemented")] * 2


def test_a_check_that_runs_alone_needs_no_prerequisite():
    (result,) = judged(lambda x: 2 * x, make(doubles_negative, after="doubles"))
    assert result.outcome == PASSED


def test_what_is_not_judged_keeps_its_status_and_costs_a_reason():
    (result,) = judged(lambda x: 0, make(unreachable))
    assert (result.outcome, result.status) == (NOT_JUDGED, "timeout")
    assert message.body(result) == ["     reason    no time left"]


def test_a_broken_check_is_staffs_fault_and_shows_nothing_of_the_check(capsys):
    (result,) = judged(lambda x: 0, make(broken))
    assert (result.outcome, result.status) == (NOT_JUDGED, "grader error")
    assert "secret" not in "\n".join(message.body(result))
    assert "tell staff" in "\n".join(message.body(result))
    assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize("value", [float("nan"), None, "6", True, [6.0], {"x": 6.0}])
def test_no_value_that_is_not_the_number_passes(value):
    (result,) = judged(lambda x: value, make(doubles))
    assert (result.outcome, result.score) == (FAILED, 0.0)


def test_a_hidden_check_shows_its_sentence_and_hint_only():
    diagnosis = Diagnosis({"double": {
        "requests": [Run((call.double(-5),))], "right": [["value", [-10]]],
        "mistakes": [{"id": "abs", "hint": HINT, "answers": [["value", [10]]]}]}})
    (result,) = judged(lambda x: abs(2 * x), make(doubles_negative, hidden=True),
                       diagnosis=diagnosis)
    assert result.mistake == "abs"
    assert message.body(result) == [f"     hint      {HINT}"]
    assert any("inputs" in line for line in message.body(result, staff=True))


def test_an_unknown_mistake_gets_no_hint():
    diagnosis = Diagnosis({"double": {
        "requests": [Run((call.double(-5),))], "right": [["value", [-10]]],
        "mistakes": [{"id": "abs", "hint": HINT, "answers": [["value", [10]]]}]}})
    (result,) = judged(lambda x: 3 * x, make(doubles), diagnosis=diagnosis)
    assert result.mistake == "" and "hint" not in dict(result.lines)


def test_a_mistake_that_looks_right_on_the_diagnostic_inputs_gets_no_hint():
    diagnosis = Diagnosis({"double": {
        "requests": [Run((call.double(2),))], "right": [["value", [4]]],
        "mistakes": [{"id": "square", "hint": HINT, "answers": [["value", [4]]]}]}})
    (result,) = judged(lambda x: x * x, make(doubles), diagnosis=diagnosis)
    assert result.mistake == ""


def test_two_mistakes_that_answer_alike_are_named_only_when_they_share_a_hint():
    def diagnosis(*hints):
        return Diagnosis({"double": {
            "requests": [Run((call.double(2),))], "right": [["value", [4]]],
            "mistakes": [{"id": h, "hint": h, "answers": [["value", [5]]]} for h in hints]}})

    def mistake(*hints):
        (result,) = judged(lambda x: x + 3, make(doubles_negative), diagnosis=diagnosis(*hints))
        return result.mistake

    assert (mistake("a", "b"), mistake("a", "a")) == ("", "a")


def test_a_plan_is_complete_before_anything_is_judged():
    plan = planned([make(doubles), make(doubles_negative)], 3)
    assert [(r.outcome, r.score, r.status) for r in plan] == [(NOT_JUDGED, 0.0, "grader error")] * 2


def test_control_characters_and_long_texts_are_made_fit_to_show():
    assert message.clean("a\x1b[2Jb\r\nc\td\x00") == "a\ufffd[2Jb\nc    d\ufffd"
    assert len(message.clean("x" * 10**6)) < 5000
    assert "left out" in message.clean("x" * 10**6)
