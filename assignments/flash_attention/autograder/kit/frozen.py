"""
Values frozen from the solution when a release is built, read back where it is used.

One JSON file a lab and audience (public, hidden, diagnosis), arrays in base64. The files hold
values, sentences and hints; never code.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.kit import border
from autograder.kit.calls import Call
from autograder.kit.lab import CallFailed, Lab


@dataclass(frozen=True)
class Case:
    """A call of the lab and what the solution returned."""

    call: Call
    value: Any


class Frozen:
    """The frozen cases that checks of one audience may see: `frozen.cases("timeline_kernels")`."""

    def __init__(self, values: dict[str, Any]):
        self.values = values

    def cases(self, name: str) -> list[Case]:
        """The cases of that name, in the order in which reference.py lists them."""
        return [Case(call, value) for call, value in self.values["cases"][name]]

    @property
    def answers(self) -> dict[str, Any]:
        """Key of a written question -> (right value, relative tolerance); 0 for exact."""
        return self.values["answers"]


def answered(lab: Lab, cases: list[Case]) -> Iterator[tuple[Case, Any]]:
    """
    (case, what the submission gives) for each; a failure shows the last one.

    All are asked at once, and once for all checks that look at them; one by one only to find out
    which of them fails.
    """
    calls = [case.call for case in cases]
    try:
        results = lab.run_once(calls)
    except CallFailed as failure:
        if failure.status != "graded":  # each would say so, or cost the time of a hanging call
            lab.last = calls[0]
            raise
        results = map(lab.run, calls)
    for case, got in zip(cases, results, strict=True):
        lab.last = case.call
        yield case, got


def dump(value: Any) -> str:
    """A plain value as the text of a frozen file; equal values give equal text."""
    tree, buffers = border.take_apart(value)
    data = [base64.b64encode(buffer).decode() for buffer in buffers]
    return json.dumps({"tree": tree, "buffers": data}, allow_nan=False) + "\n"


def load(path: Path) -> Any:
    """The value that `dump` wrote; the file is the kit's own."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    buffers = [base64.b64decode(text) for text in stored["buffers"]]
    return border.put_together(stored["tree"], buffers)
