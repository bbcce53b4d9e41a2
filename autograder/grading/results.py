"""
results.json: what Gradescope documents, complete from the first moment on, replaced atomically.

Only the grader writes it. Texts that students see come from message.py; `extra_data` is for staff.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.kit import message
from autograder.kit.errors import KitError
from autograder.kit.run import PASSED, Result

LARGEST = 6_000  # bytes of one test's output: all of them stay well below 1 MB
WORST_FIRST = ("grader error", "memory", "timeout", "crashed", "missing")


def as_gradescope(results: list[Result], about: dict[str, Any], notes: list[str],
                  staff: dict[str, Any], seconds: float,
                  tests: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """
    The content of results.json.

    Args:
        about: the release's lab.json
        notes: what was found in the submission, for the student
        staff: what only staff should see
        seconds: how long grading took
        tests: as_test of every result, if it is there already
    """
    return {
        "score": float(sum(r.score for r in results)),
        "execution_time": round(float(seconds), 3),
        "output": "\n".join([*map(message.clean, notes),
                             f"{about['lab']}, release {about['version']}"]),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests or [as_test(r) for r in results],
        "extra_data": {"version": about["version"], "status": status_of(results), **staff},
    }


def status_of(results: list[Result]) -> str:
    """The submission's status: the gravest among its checks; missing only when all of it is."""
    seen = {r.status for r in results if r.outcome != PASSED}
    if "missing" in seen and any(r.status != "missing" for r in results):
        seen -= {"missing"}
    return next((status for status in WORST_FIRST if status in seen), "graded")


class Test(dict):
    """One entry of the tests in results.json; how it is written is worked out once."""

    @cached_property
    def text(self) -> str:
        return _json(self)


def as_test(result: Result) -> Test:
    """One entry of the tests in results.json."""
    check = result.check
    lines = [line.removeprefix("     ") for line in message.body(result)]
    extra = {"id": check.id, "status": result.outcome, "reason": result.status,
             "seed": result.seed, "hidden": check.hidden, "mistake": result.mistake}
    return Test({
        "score": result.score,
        "max_score": float(check.points),
        "status": "passed" if result.outcome == PASSED else "failed",
        "name": check.sentence,
        "number": check.number,
        "output": _bounded("\n".join([*_outcome(result), *lines])),
        "tags": [check.part],
        "visibility": check.visibility,
        "extra_data": extra,
    })


def _bounded(text: str) -> str:
    """The text, or its head and tail if it takes too much room in JSON, where a sign takes 12."""
    if len(_json(text)) <= LARGEST:
        return text
    head, tail = text[: LARGEST // 24], text[-LARGEST // 24 :]
    return f"{head}\n... {len(text) - len(head) - len(tail)} characters left out ...\n{tail}"


def _outcome(result: Result) -> list[str]:
    return [] if result.outcome == PASSED else [result.outcome]


def as_text(content: dict[str, Any]) -> str:
    """The content as JSON, a line a field and a line a test."""
    fields = []
    for name, value in content.items():
        shown = ("[\n" + ",\n".join(test.text for test in value) + "\n]" if name == "tests"
                 else _json(value))
        fields.append(f"{_json(name)}: {shown}")
    return "{" + ",\n".join(fields) + "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=True)


def write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file as a whole: whoever reads it finds the old or the new one, never half."""
    write_text(path, as_text(content))


def write_text(path: Path, text: str) -> None:
    """The same for a text."""
    try:
        part = path.with_name(f".{path.name}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            os.replace(part, path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise KitError(f"{path}: {getattr(error, 'strerror', None) or 'there can be no such file'}",
                       "name a file in a folder that you may write to, and that has room"
                       ) from None
