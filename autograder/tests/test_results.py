"""results.json: valid whatever came in, complete, small, and silent where it must be."""

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from autograder.grading import results
from autograder.kit import message
from autograder.kit.check import Check
from autograder.kit.errors import KitError
from autograder.kit.run import FAILED, NOT_JUDGED, PASSED, Result, planned

# https://gradescope-autograders.readthedocs.io/en/latest/specs/, "Output format"
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number", "minimum": 0},
        "execution_time": {"type": "number", "minimum": 0},
        "output": {"type": "string"},
        "output_format": FORMAT,
        "test_output_format": FORMAT,
        "test_name_format": FORMAT,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "score": {"type": "number", "minimum": 0},
                "max_score": {"type": "number", "minimum": 0},
                "status": {"enum": ["passed", "failed"]},
                "name": {"type": "string"},
                "name_format": FORMAT,
                "number": {"type": "string"},
                "output": {"type": "string"},
                "output_format": FORMAT,
                "tags": {"type": "array", "items": {"type": "string"}},
                "visibility": VISIBILITY,
                "extra_data": {"type": "object"},
            },
            "required": ["score", "max_score", "status", "name", "number", "output", "tags",
                         "visibility", "extra_data"],
        }},
        "leaderboard": {"type": "array"},
    },
    "required": ["score", "tests", "extra_data"],
}
ABOUT = {"lab": "lab", "version": "abcd1234"}
PUBLIC = Check("a_is_right", "a is right", 1.5, "part", "1", False, "visible", None, print)
HIDDEN = Check("b_is_right", "b is right", 2, "part", "2", True, "after_published", None, print)
NASTY = "x\x00\x07\x1b[2J\r\n\ud800\N{GRINNING FACE}\N{RIGHT-TO-LEFT OVERRIDE}\u2028" * 1000


def valid(content):
    """The content, once it is valid and can be read back the same."""
    jsonschema.validate(content, SCHEMA)
    text = json.dumps(content, allow_nan=False)
    assert len(text) < 1 << 20 and json.loads(text) == content
    return content


def content_of(*judged, notes=(), staff=None):
    content = results.as_gradescope(list(judged), ABOUT, list(notes), staff or {}, 1.23456)
    text = results.as_text(content)
    assert text.isascii() and text.endswith("\n") and json.loads(text) == content
    return valid(content)


def test_before_anything_is_judged_every_check_is_there_with_no_points():
    content = content_of(*planned([PUBLIC, HIDDEN], 7))
    assert content["score"] == 0 and [t["score"] for t in content["tests"]] == [0, 0]
    assert [t["max_score"] for t in content["tests"]] == [1.5, 2.0]
    assert content["extra_data"]["status"] == "grader error"


@pytest.mark.parametrize("outcome", [PASSED, FAILED, NOT_JUDGED])
@pytest.mark.parametrize("status", ["graded", "timeout", "memory", "crashed", "missing",
                                    "grader error", "not implemented"])
def test_every_outcome_is_valid_and_worth_all_or_nothing(outcome, status):
    lines = (("got", NASTY), ("reason", NASTY))
    judged = [Result(check, outcome, status, lines, seed=3) for check in (PUBLIC, HIDDEN)]
    content = content_of(*judged, notes=[NASTY] * 20, staff={"stdout": "x" * 30_000})
    points = [t["score"] for t in content["tests"]]
    assert points == ([1.5, 2.0] if outcome == PASSED else [0.0, 0.0])
    assert content["score"] == sum(points) and type(content["score"]) is float
    assert [t["extra_data"]["reason"] for t in content["tests"]] == [status, status]


def test_a_test_says_part_id_status_and_seed():
    content = content_of(Result(PUBLIC, FAILED, "timeout", (("got", "no answer"),), "slip", 99))
    test = content["tests"][0]
    assert test["tags"] == ["part"] and test["number"] == "1" and test["name"] == "a is right"
    assert test["extra_data"] == {"id": "a_is_right", "status": "failed", "reason": "timeout",
                                  "seed": 99, "hidden": False, "mistake": "slip"}


def test_texts_that_people_see_hold_no_control_characters_and_end_lines_with_newlines():
    content = content_of(Result(PUBLIC, FAILED, lines=(("got", NASTY), ("expected", "a\r\nb\rc"))),
                         notes=[NASTY])
    for text in (content["output"], content["tests"][0]["output"]):
        assert all(c.isprintable() or c == "\n" for c in text)
    assert "a\n" in content["tests"][0]["output"] and "\r" not in json.dumps(content["output"])


def test_a_long_text_keeps_its_head_and_its_tail():
    text = "begin " + "x" * 100_000 + " end"
    shown = message.clean(text)
    assert shown.startswith("begin x") and shown.endswith("x end") and len(shown) < 5000
    assert "characters left out" in shown


@pytest.mark.parametrize("sign", ["x", "\N{GRINNING FACE}", "\x00", "é", '"'])
def test_a_hundred_floods_stay_well_below_a_megabyte(sign):
    lines = tuple((label, sign * 100_000) for label in ("expected", "got", "inputs"))
    checks = [replace(PUBLIC, number=str(n)) for n in range(100)]
    content = content_of(*(Result(check, FAILED, lines=lines) for check in checks))
    assert len(results.as_text(content)) < 800_000
    assert "left out" in content["tests"][0]["output"]


def test_a_hidden_check_shows_its_outcome_hint_and_reason_and_nothing_else():
    labels = ("expected", "got", "inputs", "rerun", "x", "hint", "reason")
    lines = tuple((label, f"the {label}") for label in labels)
    for outcome, status in itertools.product((FAILED, NOT_JUDGED), ("graded", "not implemented")):
        judged = [Result(check, outcome, status, lines) for check in (HIDDEN, PUBLIC)]
        hidden, public = (test["output"] for test in content_of(*judged)["tests"])
        assert not any(f"the {label}" in hidden for label in labels[:5])
        assert hidden.split("\n")[0] == outcome
        if status == "graded":
            assert "the hint" in hidden and "the reason" in hidden
        assert "the got" in public


def test_staff_see_what_a_hidden_check_saw():
    result = Result(HIDDEN, FAILED, lines=(("got", "7"), ("inputs", "f(3)")))
    assert not message.body(result) and len(message.body(result, staff=True)) == 2


@pytest.mark.parametrize(("statuses", "said"), [
    (["graded", "graded"], "graded"), (["graded", "timeout"], "timeout"),
    (["crashed", "timeout"], "timeout"), (["memory", "timeout"], "memory"),
    (["missing", "graded"], "graded"), (["missing", "missing"], "missing"),
    (["missing", "crashed"], "crashed"), (["grader error", "memory"], "grader error"),
    (["not implemented", "not implemented"], "graded"),
])
def test_the_submission_s_status_is_the_gravest_of_its_checks(statuses, said):
    judged = [Result(PUBLIC, FAILED, status) for status in statuses]
    assert results.status_of(judged) == said


def test_whoever_reads_the_file_finds_a_whole_one(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    first = content_of(Result(PUBLIC, FAILED))
    results.write(path, first)
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("not replaced"))
    with pytest.raises(BaseException, match="not replaced"):
        results.write(path, content_of(Result(PUBLIC, PASSED)))
    assert json.loads(path.read_text(encoding="utf-8")) == first


def test_a_file_that_can_not_be_written_leaves_no_part_of_itself(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(KitError, match="taken"):
        results.write(tmp_path / "taken", content_of(Result(PUBLIC, PASSED)))
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_number_that_is_none_is_never_written(tmp_path):
    path = Path(tmp_path) / "results.json"
    with pytest.raises(ValueError, match="JSON compliant"):
        results.write(path, content_of(Result(PUBLIC, PASSED)) | {"score": float("nan")})
    assert not path.exists()
