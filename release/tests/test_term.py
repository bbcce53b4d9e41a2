"""A term's file, and texts filled with its figures."""

from __future__ import annotations

import pytest

from autograder.kit.errors import KitError
from release.freeze import Bench, doubts
from release.solution import read_solution
from release.term import TERMS, Term, blank_answers, fill, fill_answers, previous, read_term

ANSWERS = "# 1. At N = {{N}}?\nq1_times = 3\nq2 = 0.5\n"


def test_terms_follow_each_other_as_seasons_do(tmp_path, monkeypatch):
    text = (TERMS / "2026-fall.toml").read_text(encoding="utf-8")
    in_turn = ["2026-fall", "2027-winter", "2027-spring", "2027-summer", "2027-fall"]
    monkeypatch.setattr("release.term.TERMS", tmp_path)
    before = None
    for name in in_turn:
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        assert read_term().name == name
        assert previous(read_term()) == before
        before = read_term()


def test_figures_replace_their_placeholders():
    assert fill("N = {{N}}, {{x}}", {"N": 4096, "x": 1 / 3}, "t.md") == "N = 4096, 0.3333333333"


def test_an_unknown_placeholder_stops_the_build_with_its_line():
    with pytest.raises(KitError, match=r"t.md:2: {{M}} is no figure") as error:
        fill("\n{{M}}", {"N": 1}, "t.md")
    assert error.value.todo == "figures: N"


def test_students_get_blank_answers():
    assert blank_answers(ANSWERS) == '# 1. At N = {{N}}?\nq1_times = "TODO"\nq2 = "TODO"\n'


def test_answers_are_filled_by_key():
    filled = fill_answers(ANSWERS, {"q1_times": 7, "q2": 2.5}, "answers.toml")
    assert filled == "# 1. At N = {{N}}?\nq1_times = 7\nq2 = 2.5\n"


def test_keys_and_checks_must_agree():
    with pytest.raises(KitError, match="its keys are q1_times, q2; the checks ask for q1_times"):
        fill_answers(ANSWERS, {"q1_times": 7}, "answers.toml")


@pytest.mark.parametrize(("text", "what"), [
    ("[term]\n\nlanguage = en\n", "t.toml:3: Invalid value"),
    ("[term]\nlanguage = 'en'\n", r"\[term\] lacks handed_in_by"),
    ("[term]\nlanguage = 'en'\nhanded_in_by = ''\n", r"\[grading\] lacks seed"),
    ("[term]\nlanguage = 'en'\nhanded_in_by = ''\n[grading]\nseed = ''\nhints = true\n"
     "hidden_visibility = 'never'\n", r"\[grading\] hidden_visibility = 'never'\nuse one of"),
    ("[term]\nlanguage = 'en'\nhanded_in_by = 2026-12-11\n[grading]\nseed = ''\nhints = true\n"
     "hidden_visibility = 'hidden'\n", "not a text in \"quotes\""),
    ("[term]\nlanguage = 'de'\nhanded_in_by = ''\n[grading]\nseed = ''\nhints = true\n"
     "hidden_visibility = 'hidden'\n", r"\[term\] language = 'de'\nuse one of: en, zh"),
])
def test_a_broken_term_file_says_what_is_wrong(tmp_path, text, what):
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KitError, match=what):
        read_term(path)


def test_a_missing_term_file_names_those_that_are_there(tmp_path):
    with pytest.raises(KitError, match="no such term file"):
        read_term(tmp_path / "none.toml")


def test_a_figure_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(KitError, match=r"t: \[lab\] lacks launch_us; it has: lauch_us"):
        Term("t", {"lab": {"lauch_us": 1.3}}).figures("lab")["launch_us"]


@pytest.mark.parametrize(("lab", "figures", "doubt"), [
    ("flash_attention", {"M": 25000}, "questions 1 and 2: fa1 and fa2 move the same within 5 %"),
    ("flash_attention", {"M": 16384}, "question 3: the answer is the M of question 1"),
    ("flash_decoding", {"S": 64}, "question 4: one split is best"),
    ("megakernel", {"launch_us": 5000}, "question 9: no sync cost makes them equal"),
])
def test_figures_that_make_a_question_pointless_stop_the_build(lab, figures, doubt):
    term = read_term(TERMS / "2026-fall.toml")  # whose figures are known to do when changed so
    changed = Term(term.name, term.tables | {lab: term.figures(lab) | figures})
    with Bench(1) as bench:
        assert doubts(read_solution(lab), term, bench) == []
        assert doubt in doubts(read_solution(lab), changed, bench)


def test_the_answer_of_the_term_before_is_a_doubt(tmp_path, monkeypatch):
    text = (TERMS / f"{read_term().name}.toml").read_text(encoding="utf-8")
    for name in ("2026-fall", "2027-spring"):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("release.term.TERMS", tmp_path)
    with Bench(1) as bench:
        found = doubts(read_solution("megakernel"), read_term(), bench)
    assert "q8_microseconds_saved: the answer is that of 2026-fall" in found
