"""Written answers: numbers in answers.toml, read with patience, compared with frozen values."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

from autograder.kit.expect import as_number, fail
from autograder.kit.frozen import Frozen
from autograder.kit.lab import TODO, CallFailed, Lab

FILE = "answers.toml"
PART = "questions"  # the part of a lab whose points they give
UNANSWERED = "TODO"
MOST_LINES = 1_000  # of a file that is read line by line
LONGEST = 80  # characters of what can't be read


def read_answers(text: str) -> tuple[dict[str, Any], list[str]]:
    """
    (the answers by key, what is wrong with them for their author to mend).

    A number in quotes is that number. Where the file is no TOML as a whole, each of its lines is
    read alone, and one that can't be read stays a text.
    """
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    wrong = []
    try:
        answers = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, integers without end
        answers = dict(_line_by_line(text, tomllib.loads))
        alone = "; each of its lines was read alone" if answers else ""
        wrong.append(f"{FILE} can't be read: {error}{alone}")
    answers = {key: _number(value) for key, value in answers.items()}
    wrong += [f"{FILE}: {key}{_shown(value)} is no number" for key, value in answers.items()
              if not (_is_number(value) or value == UNANSWERED)]
    return answers, wrong


def expect_answer(lab: Lab, frozen: Frozen, key: str) -> None:
    """The written answer is the right whole number, or within its relative tolerance of it."""
    right, rtol = frozen.answers[key]
    given = lab.answers.get(key, UNANSWERED)
    if isinstance(given, str) and given == UNANSWERED:
        raise CallFailed(TODO, ("got", f"{TODO}: {FILE} has no answer to {key} yet"))
    if not abs(as_number(given, key) - right) <= rtol * abs(right):
        fail(key, right, given)


def _is_number(value: Any) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) < math.inf)


def _shown(value: Any) -> str:
    plain = isinstance(value, (str, float, bool))  # a list may be nested without end
    return f" = {value!r}" if plain else f": a {type(value).__name__}"


def _number(value: Any) -> Any:
    with contextlib.suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value[:LONGEST]


def _line_by_line(text: str, loads) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for line in text.splitlines()[:MOST_LINES]:
        if found := re.match(r"\s*(\w+)\s*=\s*(.*)", line):
            answers[found[1]] = found[2]
            with contextlib.suppress(ValueError, RecursionError):
                answers |= loads(line)
    return answers
