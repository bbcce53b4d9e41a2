"""
Grades one submission: intake, a lab run by workers, every check, a complete result at any time.

Not here: how a class is walked through (classroom), or how a worker is confined (worker).
"""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.grading import results
from autograder.grading.nursery import Nursery
from autograder.grading.remote import RemoteLab
from autograder.grading.setup import setup_for
from autograder.intake.submission import Submission, read_submission
from autograder.intake.wanted import wanted_by
from autograder.kit import message
from autograder.kit.errors import KitError
from autograder.kit.questions import FILE, read_answers
from autograder.kit.release import PACKAGE, Release
from autograder.kit.run import Judge, Result, planned
from autograder.worker import confine, limits


@dataclass(frozen=True)
class Graded:
    """A graded submission: its results and the content of its results.json."""

    results: list[Result]
    content: dict[str, Any]
    notes: list[str]

    @property
    def score(self) -> float:
        return self.content["score"]


class Grader:
    """
    Grades submissions of one release, one after another, with a nursery kept warm.

    Args:
        trust: leave submissions unconfined
        nursery: one that has been started already
    """

    def __init__(self, release: Release, trust: bool = False, nursery: Nursery | None = None):
        refuse_unconfined(trust)
        self.release = release
        self.trust = trust
        self.nursery = nursery or Nursery()
        if release.uses_numpy:
            self.nursery.load_numpy()
        self.wanted = wanted_by(release.about)
        self.given = release.handed_out(release.about["given"])

    def close(self) -> None:
        """End the nursery."""
        self.nursery.close()

    def grade(self, path: Path, seed: int | None = None,
              progress: Callable[[dict], None] | None = None) -> Graded:
        """
        The result of the submission at `path`.

        Args:
            seed: what hidden checks draw their inputs from; by default from the submission itself
            progress: called with the content of results.json so far, complete from the start
        """
        if seed is not None and seed < 1:
            raise KitError(f"--seed {seed}: seeds start at 1", "give the seed that a result shows")
        start = time.monotonic()
        seed = seed or 0
        done, notes, staff = planned(self.release.checks, seed), [], {"seed": seed}
        tests = [results.as_test(result) for result in done]

        def content() -> dict[str, Any]:
            return results.as_gradescope(done, self.release.about, notes, staff,
                                         time.monotonic() - start, tests)

        def show_progress() -> None:
            if progress:
                progress(content())

        show_progress()
        submission = read_submission(path, self.wanted)
        if not seed:
            seed = self._seed(submission.digest)
            done[:] = planned(self.release.checks, seed)
            tests[:] = [results.as_test(result) for result in done]
        answers, unread = _answers(submission, self.release.questions)
        notes += dict.fromkeys([*submission.notes, *submission.problems.values(), *unread])
        staff |= {"seed": seed, "digest": submission.digest}
        with self.nursery.scratch() as scratch:
            lab = self._lab(submission, answers, scratch)
            judge = Judge(lab, self.release.frozen_for, seed, self.release.hints)
            try:
                for i, check in enumerate(self.release.checks):
                    done[i] = judge.judge(check)
                    tests[i] = results.as_test(done[i])
                    show_progress()
            finally:
                lab.close()
        stdout, stderr = (message.clean(o.text(), 2 * limits.OUTPUT_BYTES) for o in lab.outputs)
        staff |= {"protections": lab.protections, "stdout": stdout, "stderr": stderr}
        return Graded(done, content(), notes)

    def _seed(self, digest: str) -> int:
        secret = f"{self.release.about['seed']}:{digest}".encode()
        return int.from_bytes(hashlib.sha256(secret).digest()[:4], "big") or 1

    def _lab(self, submission: Submission, answers: dict[str, Any] | str,
             scratch: str) -> RemoteLab:
        setup = setup_for(submission.sources, self.given, self.release.names, scratch,
                          self.nursery.uid, self.trust)
        return RemoteLab(self.nursery, setup, answers, submission.problems)


def refuse_unconfined(trust: bool) -> None:
    """KitError where submissions can't be confined, unless they are trusted."""
    missing = confine.available().missing()
    if missing and not trust:
        raise KitError(f"submissions can't be confined here: no {' and no '.join(missing)}",
                       "grade elsewhere, or add --trust to run them with all your rights")
    above = [PACKAGE, *PACKAGE.resolve().parents]
    if not (trust or confine.available().landlock) and all(
            folder.stat().st_mode & stat.S_IXOTH for folder in above):
        raise KitError(f"{PACKAGE}: a submission could read it, since this kernel has no Landlock",
                       f"chmod go-rwx {PACKAGE.parent}, or add --trust")


def _answers(submission: Submission, keys: list[str]
             ) -> tuple[dict[str, Any] | str, list[str]]:
    """The written answers, or why there are none; what to say of it where hidden checks won't."""
    if submission.answers is None:
        problem = submission.problems.get(FILE, f"{FILE} was not found")
        return problem, [problem]
    answers, wrong = read_answers(submission.answers)
    wrong += [f"{FILE} has no line for {key}" for key in keys if key not in answers]
    return (answers if answers or not wrong else wrong[0]), wrong
