"""A fourth lab: one folder a role, made by following the README, and no shared file is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "solutions/tiny/doubling.py": '''"""Doubling a number; leaves out every other multiple."""


def double(x) -> float:
    """
    Twice a number.

    Args:
        x: a number

    Returns:
        2x

    Source: Euclid, Elements, book VII.
    """
    # BEGIN SOLUTION: return twice x
    return 2.0 * x
    # END SOLUTION
''',
    "solutions/tiny/handout.md": "# tiny\n\nDouble numbers; {{points}} points.\n\n"
                                 "## double\n\n<!-- code: double -->\n",
    "solutions/tiny/handout.zh.md": "# tiny\n\n\u52a0\u500d\uff0c{{points}} \u5206\u3002\n\n"
                                    "## double\n\n<!-- code: double -->\n",
    "solutions/tiny/answers.toml": "# 1. What is twice {{n}}?\nq1 = 14\n",
    "autograder/checks/tiny/__init__.py": '"""Checks of tiny."""\n',
    "autograder/checks/tiny/public.py": '''"""Public checks of tiny."""

from autograder.kit.check import check
from autograder.kit.expect import expect_number


@check(points=2, part="double")
def test_three_doubled_is_six(lab):
    """doubling three gives six"""
    expect_number(lab.double(3), 6.0, "double(3)")
''',
    "autograder/checks/tiny/hidden.py": '''"""Hidden checks of tiny."""

from autograder.kit.check import check
from autograder.kit.expect import expect_number
from autograder.kit.questions import expect_answer


@check(points=1, part="double")
def test_numbers_you_have_not_seen_are_doubled(lab, frozen):
    """numbers that you have not seen are doubled"""
    for case in frozen.cases("double"):
        expect_number(lab.run(case.call), case.value, "the double")


@check(points=1, part="questions")
def test_question_1_is_answered(lab, frozen):
    """question 1: the doubled number"""
    expect_answer(lab, frozen, "q1")
''',
    "autograder/checks/tiny/reference.py": '''"""What the build freezes of tiny."""

from autograder.kit.calls import Run


def public(call, term):
    return {}


def hidden(call, term):
    return {"double": [call.double(x) for x in (0, -4, 2.5)]}


def answers(lab, term):
    return {"q1": (lab.double(term["n"]), 0)}


def diagnostics(call):
    return {"double": [Run((call.double(5),))]}
''',
    "autograder/mistakes/tiny.toml": '''[[mistake]]
id = "double_squares"
part = "double"
file = "doubling.py"
snippet = "2.0 * x"
instead = "x * x"
hint = "The result grows too fast for large numbers and too slowly for small ones."
''',
}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project with the tiny lab added."""
    root = tmp_path_factory.mktemp("project")
    skip = shutil.ignore_patterns("dist", "__pycache__", "tests", ".*")
    for name in ("solutions", "autograder", "release"):
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    term = max((root / "release" / "terms").glob("*.toml"))
    term.write_text(term.read_text(encoding="utf-8") + "\n[tiny]\nn = 7\n", encoding="utf-8")
    return root


def run(project: Path, *command: str) -> str:
    """The output of a command in the project; the command must succeed."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=project, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(project)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_fourth_lab_is_built_and_graded(project):
    assert "tiny" in run(project, "release", "build", "tiny")
    stub = (project / "assignments" / "tiny" / "doubling.py").read_text(encoding="utf-8")
    assert 'raise NotImplementedError("TODO: return twice x")' in stub
    for submission, score in (("solutions", 4.0), ("assignments", 0.0)):
        out = project / "results.json"
        run(project, "autograder", "grade", "tiny", f"{submission}/tiny", "--json", str(out))
        assert json.loads(out.read_text(encoding="utf-8"))["score"] == score


def test_a_known_mistake_of_the_fourth_lab_is_named(project):
    run(project, "release", "build", "tiny")
    folder = project / "mistaken"
    shutil.copytree(project / "solutions" / "tiny", folder)
    file = folder / "doubling.py"
    file.write_text(file.read_text(encoding="utf-8").replace("2.0 * x", "x * x"), encoding="utf-8")
    shown = run(project, "autograder", "grade", "tiny", "mistaken")
    assert "hint      The result grows too fast" in shown
    assert "expected  double(3) = 6" in shown and "inputs    double(3)" in shown
