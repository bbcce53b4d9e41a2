"""The student's side: unzip, run pytest, read what it says; with real zips and processes."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.kit.release import release_of
from release.freeze import mistaken, read_mistakes
from release.solution import read_solution

ROOT = Path(__file__).resolve().parents[2]
LABS = ("flash_attention", "flash_decoding", "megakernel")


@pytest.fixture
def unzipped(tmp_path):
    """A function that unzips a lab's student zip and gives its folder."""
    def unzip(lab: str) -> Path:
        data = (ROOT / "release" / "dist" / f"{lab}-student.zip").read_bytes()
        zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path)
        return tmp_path / lab

    return unzip


def run_pytest(folder: Path, *more: str) -> str:
    command = [sys.executable, "-m", "pytest", *more]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=120)
    return done.stdout + done.stderr


@pytest.mark.parametrize("lab", LABS)
def test_at_first_every_check_fails_with_notimplementederror(unzipped, lab):
    shown = run_pytest(unzipped(lab))
    release = release_of(lab)
    assert f"{len(release.public)} failed" in shown and "passed" not in shown
    assert shown.count("FAIL 0/") == shown.count("NotImplementedError: TODO: ") == len(
        release.public)
    assert f"{lab}, release {release.version}: 0 of {release.about['public_points']:g}" in shown
    assert "next: open " in shown and "python -m pytest -k " in shown


def test_the_function_to_work_on_is_the_one_that_holds_the_todo(unzipped):
    assert "next: open timeline.py, work on _kernels, then: " in run_pytest(unzipped("megakernel"))


def test_a_term_without_hints_gives_students_none(unzipped):
    folder, solution = unzipped("megakernel"), read_solution("megakernel")
    wrong = mistaken(solution, read_mistakes(solution)[0])
    (folder / "timeline.py").write_text(wrong["timeline.py"], encoding="utf-8")
    assert "hint" in run_pytest(folder)
    about = folder / "autograder" / "frozen" / "megakernel" / "lab.json"
    text = about.read_text(encoding="utf-8")
    about.write_text(text.replace('"hints": true', '"hints": false'), encoding="utf-8")
    (about.parent / "diagnosis.json").unlink()
    shown = run_pytest(folder)
    assert " failed" in shown and "hint" not in shown and "Traceback" not in shown


@pytest.mark.parametrize("lab", LABS)
def test_the_solution_gets_all_public_points(unzipped, lab):
    shown = run_pytest(solved(unzipped, lab))
    points = release_of(lab).about["public_points"]
    assert f"{points:g} of {points:g} public points" in shown
    assert "next: answer q" in shown and "failed" not in shown


def test_one_check_can_be_run_by_the_name_that_its_message_shows(unzipped):
    folder = unzipped("megakernel")
    name = release_of("megakernel").public[0].id
    assert "1 failed" in run_pytest(folder, "-k", name)


def test_a_part_is_run_by_its_name_and_the_rest_is_not_forgotten(unzipped):
    folder = solved(unzipped, "megakernel")
    count = sum(c.part == "timeline_kernels" for c in release_of("megakernel").public)
    shown = run_pytest(folder, "-k", "timeline_kernels")
    assert f"{count} passed" in shown
    assert "next: python -m pytest, for the checks that were left out" in shown


TROUBLE = {  # what happens to flash_backward.py, what is shown of it
    "a syntax error": ("x = (\n", "SyntaxError: '(' was never closed",
                       "flash_backward.py:1: x = ("),
    "a package that is not there": ("import torch\n", "No module named 'torch'",
                                    "flash_backward.py:1 in <module>: import torch"),
    "an error when it is imported": ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError",
                                     "flash_backward.py:2 in f: return 1 / 0"),
    "it is gone": (None, "flash_backward.py was looked for; found: attention.py, conftest.py, ",
                   "online_softmax.py, plots.py\n"),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_file_that_can_t_be_imported_costs_its_own_checks_and_says_where(unzipped, trouble):
    text, *said = TROUBLE[trouble]
    folder = unzipped("flash_attention")
    file = folder / "flash_backward.py"
    file.unlink() if text is None else file.write_text(text, encoding="utf-8")
    shown = run_pytest(folder, "-k", "flash_bwd or merge_states")
    assert all(part in shown for part in said), shown
    assert "NotImplementedError" in shown  # merge_states is still asked
    assert "importlib" not in shown and "autograder/kit" not in shown


def test_of_what_is_printed_head_and_tail_are_shown(unzipped):
    folder = unzipped("megakernel")
    with (folder / "timeline.py").open("a", encoding="utf-8") as file:
        file.write("\ndef timeline(*args, **kwargs):\n    print('first', *range(99999), 'last')\n")
    shown = run_pytest(folder, "-k", release_of("megakernel").public[0].id)
    assert "first 0 1" in shown and "99998 last" in shown and len(shown) < 7000
    assert "characters left out" in shown


ANSWERS = {  # what is done to answers.toml, what comes next
    "nothing": (("", ""), "answer q7_bandwidth_utilisation_percent in answers.toml"),
    "numbers": (('"TODO"', "1"), "hand in this folder's files"),
    "numbers in quotes": (('"TODO"', '" 1e-3"'), "hand in this folder's files"),
    "words": (('"TODO"', '"about 4"'), "mend this: answers.toml: q7_bandwidth_utilisation_percent "
                                       "= 'about 4' is no number"),
    "a list": (('"TODO"', "[1]"), "mend this: answers.toml: q7_bandwidth_utilisation_percent: a "
                                  "list is no number"),
    "nan": (('"TODO"', "nan"), "mend this: answers.toml: q7_bandwidth_utilisation_percent = nan "),
    "true": (('"TODO"', "true"), "mend this: answers.toml: q7_bandwidth_utilisation_percent = Tru"),
    "no TOML": (('"TODO"', "4 us"), "mend this: answers.toml can't be read: "),
}


@pytest.mark.parametrize("done", ANSWERS)
def test_the_last_line_says_what_is_left_to_do_about_the_answers(unzipped, done):
    (old, new), said = ANSWERS[done]
    folder = solved(unzipped, "megakernel")
    file = folder / "answers.toml"
    text = file.read_text(encoding="utf-8").split('Replace each "TODO"')
    file.write_text('Replace each "TODO"'.join([text[0], text[1].replace(old, new)]),
                    encoding="utf-8")
    assert f"next: {said}" in run_pytest(folder)
    file.unlink()
    assert "next: answers.toml is not in " in run_pytest(folder)


def test_a_check_cell_says_when_a_function_is_not_the_notebook_s(unzipped):
    cell = ("from autograder.kit.cell import check_cell\n{}\n"
            "check_cell('timeline_kernels', globals())\n")
    folder, said = unzipped("megakernel"), "timeline is not defined in this notebook, so that of "
    for defined in ("", "from timeline import timeline"):
        done = subprocess.run([sys.executable, "-c", cell.format(defined)], cwd=folder, text=True,
                              capture_output=True, check=True)
        assert (said in done.stdout) == (not defined)


def solved(unzipped, lab: str) -> Path:
    """The lab's folder with the solution's modules."""
    folder = unzipped(lab)
    for file in (ROOT / "solutions" / lab).glob("*.py"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder
