"""What a lab expects of a submission: files, functions, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wanted:
    """What a lab expects of a submission."""

    students: tuple[str, ...]  # files that students fill in
    given: tuple[str, ...]  # files that are always the kit's own
    functions: Mapping[str, str]  # student function -> its file
    lab: str
    names: Mapping[str, str] = field(default_factory=dict)  # public name -> module that defines it

    def functions_of(self, file: str) -> list[str]:
        return [name for name, of in self.functions.items() if of == file]


def wanted_by(about: Mapping[str, Any]) -> Wanted:
    """What the lab of this lab.json expects."""
    return Wanted(students=tuple(about["students"]), given=tuple(about["given"]),
                  functions=about["functions"], lab=about["lab"], names=about["names"])
