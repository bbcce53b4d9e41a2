"""
The sums over a class: statuses, scores, how each check went, which mistakes were named.

One result at a time is added and nothing of it is kept but a row of numbers.
"""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from autograder.classroom.submissions import Handed
from autograder.kit.release import Release
from autograder.kit.run import NOT_JUDGED, PASSED

STATUSES = ("graded", "timeout", "memory", "crashed", "missing", "grader error")


@dataclass(frozen=True)
class Row:
    """One submission."""

    id: str
    names: str
    students: int
    status: str
    score: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Item:
    """How one check went over the class."""

    sentence: str
    part: str
    points: float
    hidden: bool
    passed: int
    not_judged: int
    share: float
    discrimination: float | None


class Tally:
    """What the report shows of a class."""

    def __init__(self, release: Release):
        self.release = release
        self.rows: list[Row] = []
        self.statuses: dict[str, int] = dict.fromkeys(STATUSES, 0)
        self.mistakes: Counter[str] = Counter()
        self._passed = [bytearray() for _ in release.checks]
        self._not_judged = [0] * len(release.checks)

    def add(self, handed: Handed, content: dict[str, Any]) -> None:
        """Count one submission."""
        extra = content["extra_data"]
        names = ", ".join(s.name or s.sid or s.email or "?" for s in handed.students)
        error = extra.get("error", "").strip().split("\n")[-1]
        self.rows.append(Row(handed.id, names, len(handed.students), extra["status"],
                             content["score"], content["execution_time"], error))
        self.statuses[extra["status"]] += 1
        outcomes = [test["extra_data"] for test in content["tests"]]
        for i, outcome in enumerate(outcomes):
            self._passed[i].append(outcome["status"] == PASSED)
            self._not_judged[i] += outcome["status"] == NOT_JUDGED
        self.mistakes.update({o["mistake"] for o in outcomes if o["mistake"]})

    @property
    def students(self) -> int:
        """How many students the submissions are of."""
        return sum(row.students for row in self.rows)

    @property
    def scores(self) -> list[float]:
        """The total of each submission."""
        return [row.score for row in self.rows]

    def items(self) -> list[Item]:
        """Every check, in order."""
        found = []
        for check, passed, not_judged in zip(self.release.checks, self._passed, self._not_judged,
                                             strict=True):
            rest = [score - check.points * ok for score, ok in zip(self.scores, passed,
                                                                   strict=True)]
            found.append(Item(check.sentence, check.part, check.points, check.hidden, sum(passed),
                              not_judged, sum(passed) / len(passed), correlation(passed, rest)))
        return found

    def hints(self) -> dict[str, str]:
        """Mistake -> its hint."""
        return {m["id"]: m["hint"] for part in self.release.diagnosis.parts.values()
                for m in part["mistakes"]}


def correlation(a, b: list[float]) -> float | None:
    """Pearson's; None where one of the two does not vary."""
    if len(b) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(a, b)
