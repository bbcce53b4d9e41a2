"""
Tries sources against a release's checks, two at a time: mistakes, edits, honest solutions.

Sources are the project's own, so workers run them unconfined. A trial may stop at the first
failure, and judges slow checks last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from autograder.kit import questions
from autograder.kit.calls import Call, Name, Request
from autograder.kit.check import Check
from autograder.kit.release import Release
from autograder.kit.run import PASSED, Judge
from release.freeze import AT_ONCE, Bench
from release.reach import reached

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
    every: bool = False  # judge also the checks that call nothing that differs
    seed: int = 1


@dataclass(frozen=True)
class Verdict:
    """What a trial came to: (check id, part, mistake named, outcome) of what went wrong."""

    trial: Trial
    wrong: tuple[tuple[str, str, str, str], ...]

    def parts(self) -> set[str]:
        """The parts that lost points."""
        return {part for _, part, _, _ in self.wrong}

    def names(self) -> set[str]:
        """The mistakes that hints named."""
        return {name for _, _, name, _ in self.wrong if name}


class Tries:
    """
    Tries sources against the releases in a folder of frozen files.

    Args:
        solved: lab -> the solution's sources
    """

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
    _state.update(frozen=frozen, solved=solved, bench=Bench(1), releases={}, asked={},
                  slow=set())


def _release(lab: str) -> Release:
    if lab not in _state["releases"]:
        release = _state["releases"][lab] = Release(lab, _state["frozen"] / lab)
        _watch(release)
    return _state["releases"][lab]


def _watch(release: Release) -> None:
    """Note what each part's checks call on the solution, and which checks take long."""
    asked = _state["asked"]
    with _state["bench"].lab(_state["solved"][release.lab], release.names) as lab:
        ask, judge = lab._ask, Judge(lab, release.frozen_for, 1)
        for check in release.checks:
            names = asked.setdefault((release.lab, check.part), set())

            def noted(request: Request, names: set[str] = names) -> Any:
                names |= set(_names(request))
                return ask(request)

            lab._ask = noted
            start = perf_counter()
            judge.judge(check)
            if perf_counter() - start > SLOW:
                _state["slow"].add((release.lab, check.id))


def _names(value: Any) -> Iterator[str]:
    """The names of the lab that a request holds, however deep."""
    if isinstance(value, (Call, Name)):
        yield value.name
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _names(entry)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _names(getattr(value, part.name))


def _try(trial: Trial) -> Verdict:
    release = _release(trial.lab)
    wrong = []
    with _state["bench"].lab(trial.sources, release.names) as lab:
        hints = None if trial.stop else release.diagnosis
        judge = Judge(lab, release.frozen_for, trial.seed, hints)
        for check in _plan(trial, release):
            if not trial.every and any(part == check.part for _, part, _, _ in wrong):
                continue  # the part has lost points
            result = judge.judge(check)
            if result.outcome != PASSED:
                wrong.append((check.id, check.part, result.mistake, result.outcome))
                if trial.stop:
                    break
    return Verdict(trial, tuple(wrong))


def _plan(trial: Trial, release: Release) -> list[Check]:
    """The checks that the trial's sources can make a difference to, slow ones last."""
    can_differ = reached(_state["solved"][trial.lab], trial.sources)
    checks = [c for c in release.checks if c.part != questions.PART and (
        can_differ is None or trial.every or _state["asked"][trial.lab, c.part] & can_differ)]
    slow = [c for c in checks if (trial.lab, c.id) in _state["slow"]]
    return [c for c in checks if c not in slow] + [c for c in slow if trial.part in ("", c.part)]
