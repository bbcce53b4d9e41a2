"""
Tries sources against a release's checks, two at a time: mistakes, edits, honest solutions.

Sources are the project's own, so workers run them unconfined. A trial may stop at the first
failure, and judges slow checks last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from autograder.kit.check import Check
from autograder.kit.release import Release
from autograder.kit.run import PASSED, Judge, Result
from release.freeze import AT_ONCE, Bench

PROCESSES = AT_ONCE + 1  # each of which waits for its worker now and then
SLOW = 0.1  # seconds of a check on the solution from which it counts as slow


@dataclass(frozen=True)
class Trial:
    """One wrong or honest submission to be tried."""

    id: str
    lab: str
    sources: dict[str, str]
    part: str = ""  # a mistake's; slow checks of other parts are left out
    stop: bool = False  # at the first failure
    seed: int = 1


@dataclass(frozen=True)
class Verdict:
    """What a trial came to: (check id, part, mistake named, is it a failure) of what went wrong."""

    trial: Trial
    wrong: tuple[tuple[str, str, str, str], ...]

    def parts(self) -> set[str]:
        """The parts that lost points."""
        return {part for _, part, _, _ in self.wrong}

    def names(self) -> set[str]:
        """The mistakes that hints named."""
        return {name for _, _, name, _ in self.wrong if name}


class Tries:
    """Tries sources against the releases in a folder of frozen files."""

    def __init__(self, frozen: Path, solved: dict[str, dict[str, str]]):
        self.frozen = frozen
        self.solved = solved

    def __call__(self, trials: Iterable[Trial], done: Callable[[Verdict], None]) -> None:
        """Call `done` with each verdict, in order."""
        with ProcessPoolExecutor(PROCESSES, initializer=_start,
                                 initargs=(self.frozen, self.solved)) as pool:
            for verdict in pool.map(_try, trials):
                done(verdict)


_state: dict = {}


def _start(frozen: Path, solved: dict[str, dict[str, str]]) -> None:
    _state.update(frozen=frozen, solved=solved, bench=Bench(1), releases={}, slow={})


def _release(lab: str) -> Release:
    if lab not in _state["releases"]:
        release = _state["releases"][lab] = Release(lab, _state["frozen"] / lab)
        _state["slow"][lab] = _slow_checks(release)
    return _state["releases"][lab]


def _slow_checks(release: Release) -> set[str]:
    """The checks that take long on the solution."""
    slow = set()
    with _state["bench"].lab(_state["solved"][release.lab], release.names) as lab:
        judge = Judge(lab, release.frozen_for, 1)
        for check in release.checks:
            start = perf_counter()
            judge.judge(check)
            if perf_counter() - start > SLOW:
                slow.add(check.id)
    return slow


def _try(trial: Trial) -> Verdict:
    release = _release(trial.lab)
    wrong = []
    with _state["bench"].lab(trial.sources, release.names) as lab:
        judge = Judge(lab, release.frozen_for, trial.seed, release.diagnosis)
        for result in _results(judge, _plan(trial, release)):
            wrong.append((result.check.id, result.check.part, result.mistake, result.outcome))
            if trial.stop:
                break
    return Verdict(trial, tuple(wrong))


def _results(judge: Judge, checks: list[Check]) -> Iterator[Result]:
    for check in checks:
        result = judge.judge(check)
        if result.outcome != PASSED:
            yield result


def _plan(trial: Trial, release: Release) -> list[Check]:
    slow = _state["slow"][release.lab]
    checks = [c for c in release.checks if c.part != QUESTIONS]
    quick = [c for c in checks if c.id not in slow]
    return quick + [c for c in checks if c.id in slow and trial.part in ("", c.part)]


QUESTIONS = "questions"  # the part of the written answers, which sources do not touch
