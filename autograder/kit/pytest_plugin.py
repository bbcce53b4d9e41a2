"""
The student's pytest: checks report in sentences, and the run ends with the points so far.

Loaded by the conftest.py beside a lab's files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.kit import message, questions
from autograder.kit.calls import Call
from autograder.kit.check import Check
from autograder.kit.lab import LocalLab, modules_look_up
from autograder.kit.release import Release, labs, release_of
from autograder.kit.run import FAILED, NOT_JUDGED, Judge, Result

TODO_AT = re.compile(r"^(\S+):\d+ in (\w+)$", re.MULTILINE)  # in what a failed check says


class _Reported(Exception):
    """Carries a failed check's text through pytest."""


def pytest_configure(config):
    """Read the lab's release once."""
    release = release_of(labs()[0])
    lab = LocalLab(modules_look_up(release.names), dict)
    config.kit_run = _Run(release, Judge(lab, release.frozen_for, 0, release.hints))


class _Run:
    def __init__(self, release: Release, judge: Judge):
        self.release = release
        self.judge = judge
        self.asked: dict[str, Call | None] = {}  # check id -> the last call it made
        self.checks: dict[str, Check] = {c.function.__name__: c for c in release.public}

    @property
    def results(self) -> list[Result]:
        return list(self.judge.results.values())


@pytest.fixture
def lab():
    """The student's functions; the run fills it in."""


frozen = rng = lab


def pytest_itemcollected(item):
    """`-k flash_bwd` chooses all checks of that part."""
    check = item.config.kit_run.checks.get(item.name)
    if check:
        item.extra_keyword_matches.add(check.part)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Judge a check with the same code as the grader."""
    run = pyfuncitem.config.kit_run
    check = run.checks.get(pyfuncitem.name)
    if check is None:
        return None
    result = run.judge.judge(check)
    run.asked[check.id] = run.judge.lab.last
    text = "\n".join([message.head(result), *message.body(result, rerun=True)])
    if result.outcome == FAILED:
        raise _Reported(text)
    if result.outcome == NOT_JUDGED:
        pytest.skip(text)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed check shows its message, no frames of the kit, and some of what was printed."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, _Reported):
        report.longrepr = str(call.excinfo.value)
        report.sections = [(title, message.clean(text)) for title, text in report.sections]
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Points so far and the next thing to do."""
    run = config.kit_run
    if not run.results:
        return
    for result in run.results:
        if result.outcome == NOT_JUDGED:
            terminalreporter.write_line(message.head(result))
            for line in message.body(result):
                terminalreporter.write_line(line)
    points = sum(r.score for r in run.results)
    possible = sum(c.points for c in run.release.public)
    terminalreporter.write_line(
        f"{run.release.lab}, release {run.release.version}: {points:g} of {possible:g} public "
        f"points; hidden checks and written answers give the other "
        f"{run.release.about['points'] - possible:g}")
    terminalreporter.write_line(f"next: {_next(run, config.rootpath)}")


def _next(run: _Run, folder: Path) -> str:
    failed = [r for r in run.results if r.outcome == FAILED]
    if failed:
        first = failed[0]
        name = run.asked[first.check.id].name
        file = f"{run.release.names[name]}.py"
        if first.status == "not implemented":  # maybe in a function that this one calls
            file, name = [(file, name), *TODO_AT.findall(dict(first.lines)["got"])][-1]
        return f"open {file}, work on {name}, then: python -m pytest -k {first.check.id}"
    if len(run.results) < len(run.checks):
        return "python -m pytest, for the checks that were left out"
    return _next_answer(folder / questions.FILE) or "hand in this folder's files"


def _next_answer(file: Path) -> str:
    """What is to be done about the written answers; "" when all are there."""
    try:
        answers, wrong = questions.read_answers(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return f"{file.name} is not in {file.parent}: fetch the lab's again, and answer"
    except UnicodeDecodeError:
        return f"save {file.name} as UTF-8: it can't be read"
    left = [key for key, value in answers.items() if value == questions.UNANSWERED]
    if wrong:
        return f"mend this: {wrong[0]}"
    return f"answer {left[0]} in {file.name}, then hand in this folder's files" if left else ""
