"""
Runs checks on a submission, in order, and gives one Result each, whatever happens.

Results are what every renderer reads: terminal, results.json, notebook, report.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from autograder.kit.check import Check, Failed, NotJudged
from autograder.kit.diagnosis import Diagnosis
from autograder.kit.frozen import Frozen
from autograder.kit.lab import Lab

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"


@dataclass(frozen=True)
class Result:
    """What one check said of one submission."""

    check: Check
    outcome: str
    status: str = "graded"
    lines: tuple[tuple[str, str], ...] = ()
    mistake: str = ""
    seed: int = 0

    @property
    def score(self) -> float:
        """Full points for a pass, else 0; never anything between or beyond."""
        return float(self.check.points) if self.outcome == PASSED else 0.0


def planned(checks: list[Check], seed: int, why: str = "was not reached") -> list[Result]:
    """A complete result in which nothing is judged yet."""
    return [Result(c, NOT_JUDGED, "grader error", (("reason", why),), seed=seed) for c in checks]


class Judge:
    """
    Judges one submission check by check.

    Args:
        lab: the submission
        frozen: the frozen cases that a check may see
        seed: the submission's seed, from which hidden checks draw their inputs
        diagnosis: names the mistake behind a failure; None for no hints
    """

    def __init__(self, lab: Lab, frozen: Callable[[Check], Frozen], seed: int,
                 diagnosis: Diagnosis | None = None):
        self.lab = lab
        self.frozen = frozen
        self.seed = seed
        self.diagnosis = diagnosis
        self.results: dict[str, Result] = {}

    def judge(self, check: Check) -> Result:
        """The check's result; never an exception."""
        result = self._first_word(check)
        if result.outcome == FAILED and result.status == "graded" and self.diagnosis:
            result = self._with_hint(result)
        self.results[check.id] = result
        return result

    def _with_hint(self, result: Result) -> Result:
        try:
            mistake, hint = self.diagnosis.of(result.check.part, self.lab)
        except Exception:  # the kit's fault, which costs a hint and no result
            traceback.print_exc(file=sys.stderr)
            return result
        lines = (*result.lines, ("hint", hint))
        return replace(result, mistake=mistake, lines=lines) if mistake else result

    def _first_word(self, check: Check) -> Result:
        before = self.results.get(check.after or "")
        if before and before.outcome != PASSED and before.status != "not implemented":
            reason = ("reason", f"first mend: {before.check.sentence}")
            return Result(check, NOT_JUDGED, before.status, (reason,), seed=self.seed)
        self.lab.last = None
        try:
            check.function(**self._arguments(check))
        except Failed as failure:
            inputs = (("inputs", self.lab.inputs()),) if self.lab.last else ()
            lines = (*failure.lines, *inputs)
            return Result(check, FAILED, failure.status, lines, seed=self.seed)
        except NotJudged as reason:
            lines = (("reason", str(reason)),)
            return Result(check, NOT_JUDGED, reason.status, lines, seed=self.seed)
        except Exception:  # a check must not break: the kit's fault, never a score
            traceback.print_exc(file=sys.stderr)
            lines = (("reason", "the grader broke: tell staff, this is not your score"),)
            return Result(check, NOT_JUDGED, "grader error", lines, seed=self.seed)
        return Result(check, PASSED, seed=self.seed)

    def _arguments(self, check: Check) -> dict:
        makers = {"lab": lambda: self.lab, "frozen": lambda: self.frozen(check),
                  "rng": lambda: _generator(check, self.seed)}
        return {name: makers[name]() for name in inspect.signature(check.function).parameters}


def _generator(check: Check, seed: int):
    import numpy as np

    return np.random.default_rng([seed, zlib.crc32(check.id.encode())])
