"""
A check: a plain pytest function with a sentence, points and a part.

Gradescope's own decorators carry weight, visibility, number and tags, so nothing else lists them.
A check passes by returning; it fails by raising Failed (the `expect_*` functions do).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from gradescope_utils.autograder_utils.decorators import number, tags, visibility, weight


class Failed(AssertionError):
    """The submission did not do what the sentence says; `lines` are (label, text) for people."""

    def __init__(self, *lines: tuple[str, str], status: str = "graded"):
        super().__init__("\n".join(f"{label}  {text}" for label, text in lines))
        self.lines = lines
        self.status = status  # graded, not implemented, timeout, memory, crashed or missing


class NotJudged(Exception):
    """Nothing can be said about the submission: the text says why, and it costs no reputation."""

    def __init__(self, text: str, status: str = "grader error"):
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Check:
    """One check as the runner sees it; of a hidden one nobody sees more than the sentence."""

    id: str
    sentence: str
    points: float
    part: str
    number: str
    hidden: bool
    visibility: str
    after: str | None
    function: Callable


def check(points: float, part: str, after: Callable | None = None) -> Callable:
    """
    Mark a test function as a check.

    Args:
        points: what passing it is worth
        part: the part of the lab whose points these are, such as "flash_bwd"
        after: a check that must pass first; until then this one is not judged
    """

    def mark(function: Callable) -> Callable:
        function.__after__ = _name(after) if after else None
        return weight(points)(tags(part)(function))

    return mark


def checks_of(module: ModuleType, hidden: str = "", start: int = 1) -> list[Check]:
    """
    The checks that a module defines, in its order, numbered from `start`.

    Args:
        hidden: the Gradescope visibility of hidden checks; empty for a module of public ones
    """
    found = [f for f in vars(module).values()
             if hasattr(f, "__weight__") and f.__module__ == module.__name__]
    for count, function in enumerate(found, start):
        number(count)(visibility(hidden or "visible")(function))
    return [
        Check(id=_name(f), sentence=" ".join(f.__doc__.split()), points=f.__weight__,
              part=f.__tags__[0], number=f.__number__, hidden=bool(hidden),
              visibility=f.__visibility__, after=f.__after__, function=f)
        for f in found
    ]


def _name(function: Callable) -> str:
    return function.__name__.removeprefix("test_")
