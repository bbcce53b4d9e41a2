"""
A lab's solution as the build reads it: sources, stubs, and which file holds which name.

Everything about a lab that is not written in its term file is found here in its sources, so that
a new lab needs no list of its own.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.kit.errors import KitError
from release.blame import text_of
from release.strip import regions, strip

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions"
FIGURES = "plots.py"  # draws the handout's figures; students get it, nothing grades it


@dataclass(frozen=True)
class Solution:
    """The folder solutions/<lab>."""

    lab: str
    sources: dict[str, str]  # module file -> text

    @cached_property
    def stubs(self) -> dict[str, str]:
        """Module file -> text as students get it."""
        return {name: strip(text, f"solutions/{self.lab}/{name}")
                for name, text in self.sources.items()}

    @cached_property
    def students(self) -> list[str]:
        """The files that students fill in."""
        return [name for name, text in self.sources.items() if regions(text)]

    @cached_property
    def given(self) -> list[str]:
        """The files that are handed out whole and that the students' functions may use."""
        return [n for n in self.sources if n not in self.students and n != FIGURES]

    @cached_property
    def names(self) -> dict[str, str]:
        """Public name -> module that defines it."""
        names: dict[str, str] = {}
        for file in [*self.students, *self.given]:
            for name in _public_names(self.sources[file]):
                if names.setdefault(name, file.removesuffix(".py")) != file.removesuffix(".py"):
                    raise KitError(f"solutions/{self.lab}/{file}: {name} is also defined in "
                                   f"{names[name]}.py", "a lab's public names must be unique")
        return names

    @cached_property
    def functions(self) -> dict[str, str]:
        """Function that students write -> its file."""
        return {name: file for file in self.students
                for name in _unfinished(self.sources[file])}


def read_solution(lab: str) -> Solution:
    """The lab's solution, its files in alphabetical order."""
    folder = SOLUTIONS / lab
    if not folder.is_dir():
        raise KitError(f"{lab}: no such lab in solutions/", f"labs: {', '.join(labs())}")
    files = {p.name: text_of(p) for p in sorted(folder.glob("*.py"))}
    for name, text in files.items():
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise KitError(f"solutions/{lab}/{name}:{error.lineno}: {error.msg}",
                           "mend it; nothing was written") from None
    return Solution(lab, files)


def labs() -> list[str]:
    """The labs that have a solution, in alphabetical order."""
    return sorted(p.parent.name for p in SOLUTIONS.glob("*/answers.toml"))


def _public_names(source: str) -> list[str]:
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [t.id for t in node.targets if isinstance(t, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _unfinished(source: str) -> list[str]:
    """Public functions that hold a region, or use a private function that does."""
    lines = source.splitlines()
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    marked = {f.name for f in functions
              if regions("\n".join(lines[f.lineno - 1 : f.end_lineno + 1]))}
    return [f.name for f in functions if not f.name.startswith("_") and (
        f.name in marked or any(isinstance(n, ast.Name) and n.id in marked
                                for n in ast.walk(f)))]
