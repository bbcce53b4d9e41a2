"""Written answers: numbers in answers.toml, compared with frozen values."""

from __future__ import annotations

from autograder.kit.expect import as_number, fail
from autograder.kit.frozen import Frozen
from autograder.kit.lab import TODO, CallFailed, Lab


def expect_answer(lab: Lab, frozen: Frozen, key: str) -> None:
    """The written answer is the right whole number, or within its relative tolerance of it."""
    right, rtol = frozen.answers[key]
    given = lab.answers.get(key, "TODO")
    if isinstance(given, str) and given == "TODO":
        raise CallFailed(TODO, ("got", f"{TODO}: answers.toml has no answer to {key} yet"))
    if not abs(as_number(given, key) - right) <= rtol * abs(right):
        fail(key, right, given)
