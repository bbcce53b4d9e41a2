"""
What a notebook's check cells call: the checks of one part, on the functions of the notebook.

A check cell prints what each check says and ends in the points as one plain number, from which
nbgrader takes partial credit. What the student's code prints or warns of is kept off stderr, which
nbgrader would take for a failure.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from autograder.kit import message
from autograder.kit.errors import KitError
from autograder.kit.lab import LocalLab, modules_look_up
from autograder.kit.release import Release, labs, release_of
from autograder.kit.run import PASSED, Judge, Result

OUTSIDE = "CHECK_CELLS_ARE_JUDGED_OUTSIDE"  # set by a course whose nbgrader does so
SEED = 1  # of hidden checks, where a notebook has them


def check_cell(part: str, namespace: dict[str, Any], hidden: bool = False) -> float:
    """
    The points of a part's public checks, after a line or a few from each.

    Args:
        part: the part of the lab, such as "flash_bwd"
        namespace: the notebook's globals(); what it lacks comes from the modules beside it
        hidden: the part's hidden checks instead, which only graders have
    """
    if os.environ.get(OUTSIDE) and os.environ.get("NBGRADER_EXECUTION") == "autograde":
        print("judged outside this notebook")
        return 0.0
    release = _release(part)
    checks = [c for c in (release.hidden if hidden else release.public) if c.part == part]
    elsewhere: set[str] = set()
    judge = _judge(release, namespace, elsewhere)
    with _quiet() as printed:
        results = [judge.judge(check) for check in checks]
    print(report(results, release.version))
    if any(result.outcome != PASSED for result in results):
        _say_what_is_missing(release, elsewhere)
    if printed.getvalue().strip():
        print("your code printed:", message.clean(printed.getvalue()).rstrip(), sep="\n")
    return points(results)


def report(results: Sequence[Result], version: str) -> str:
    """What a check cell prints: each check's message, then the points and the release."""
    if not results:
        return "hidden checks: judged when the notebook is graded"
    lines: list[str] = []
    for result in results:
        if result.check.visibility != "hidden":
            body = message.body(result)
            if result.status == "not implemented" and body and lines[-len(body):] == body:
                del lines[-len(body):]  # said once, below the last check that it concerns
            lines += [message.head(result), *body]
    kind = "hidden" if results[0].check.hidden else "public"
    possible = sum(r.check.points for r in results)
    lines.append(f"{results[0].check.part}: {points(results):g} of {possible:g} {kind} points, "
                 f"release {version}")
    return "\n".join(lines)


def _say_what_is_missing(release: Release, elsewhere: set[str]) -> None:
    """That a module beside the notebook stood in for functions that students write."""
    for name in sorted(elsewhere):
        file = f"{release.names[name]}.py"
        if file in release.about["students"]:
            print(f"{name} is not defined in this notebook, so that of {file} was checked: run the "
                  "cell that defines it, and look whether it ended in an error")


def points(results: Sequence[Result]) -> float:
    """The results' points as a plain number between 0 and what they can be."""
    possible = float(sum(r.check.points for r in results))
    return float(min(max(sum(r.score for r in results), 0.0), possible))


_results: dict[str, Result] = {}  # of all cells of this kernel, for checks that follow others


def _judge(release: Release, namespace: dict[str, Any], elsewhere: set[str]) -> Judge:
    """A judge of the notebook's functions; `elsewhere` gets the names that it lacks."""
    beside = modules_look_up(release.names)

    def look_up(name: str) -> Any:
        if name in namespace:
            return namespace[name]
        elsewhere.add(name)
        return beside(name)

    lab = LocalLab(look_up, dict)
    judge = Judge(lab, release.frozen_for, SEED, release.hints)
    judge.results = _results
    return judge


def _release(part: str) -> Release:
    for release in map(release_of, labs()):
        if part in release.about["parts"]:
            return release
    raise KitError(f"{part}: no lab here has such a part", f"labs here: {', '.join(labs())}")


@contextmanager
def _quiet() -> Iterator[io.StringIO]:
    """Keeps what is printed in a text, and warnings and what other code writes away."""
    printed = io.StringIO()
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with warnings.catch_warnings(), redirect_stdout(printed), redirect_stderr(printed):
            warnings.simplefilter("ignore")
            yield printed
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
