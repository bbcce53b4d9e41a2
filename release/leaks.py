"""
Scans artefacts for what must stay hidden: solution lines, hidden checks, secrets, bytecode.

A line of a solution region counts, as it stands or with its names changed, unless the same line
also stands in code that students are meant to see. Zips, notebooks (outputs, metadata and
attachments too), JSON and base64 are looked into.
"""

from __future__ import annotations

import ast
import base64
import binascii
import io
import json
import re
import tokenize
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from release.package import AUTOGRADER, STUDENT, Files
from release.solution import Solution
from release.strip import regions, strip

SHORT = 16  # characters without spaces: a shorter line says nothing
LONG = 300  # characters: a longer line is data
FEW = 11  # tokens: a shorter line's shape is everybody's
BASE64 = re.compile(r"[A-Za-z0-9+/\s]{24,}={0,2}")
HEADS = (b"PK\x03\x04",)  # a zip, whatever it is called
BYTECODE = (".pyc", ".pyo")


@dataclass(frozen=True)
class Hidden:
    """What of one lab must not be found in anything a student gets."""

    solution: Solution

    @cached_property
    def lines(self) -> set[str]:
        """Solution lines without spaces, comments among them."""
        return {_dense(line) for line in self._region_lines} - self._open_lines

    @cached_property
    def shapes(self) -> set[str]:
        """Shapes of solution lines."""
        return {_shape(line) for line in self._region_lines} - self._open_shapes - {""}

    @cached_property
    def words(self) -> set[str]:
        """Names and sentences of hidden checks."""
        text = (AUTOGRADER / "checks" / self.solution.lab / "hidden.py").read_text(encoding="utf-8")
        functions = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
        named = [f.name for f in functions if f.name.startswith("test_")]
        told = [" ".join((ast.get_docstring(f) or "").split()) for f in functions
                if f.name.startswith("test_")]
        return {word for word in [*named, *told] if len(word) >= SHORT}

    @property
    def _region_lines(self) -> list[str]:
        found = [line for text in self.solution.sources.values() for region in regions(text)
                 for line in region]
        return [line for line in found if len(_dense(line)) >= SHORT]

    @cached_property
    def _open(self) -> list[str]:
        """Lines of code that students are meant to see, none of it from a region."""
        lab = self.solution.lab
        texts = [strip(text, name) for name, text in self.solution.sources.items()]
        paths = [*(AUTOGRADER / "kit").glob("*.py"), *(AUTOGRADER / "checks").glob("*.py"),
                 AUTOGRADER / "checks" / lab / "public.py", *STUDENT.glob("*.*")]
        texts += [path.read_text(encoding="utf-8") for path in paths]
        return [line for text in texts for line in text.splitlines()]

    @cached_property
    def _open_lines(self) -> set[str]:
        return {_dense(line) for line in self._open}

    @cached_property
    def _open_shapes(self) -> set[str]:
        return {_shape(line) for line in self._open}


def scan(files: Files, hidden: Hidden, secrets: tuple[str, ...] = ()) -> list[str]:
    """What of `hidden`, or which secret, the files hold: one line a finding."""
    found = []
    for name, data in sorted(files.items()):
        for where, text in texts(name, data):
            found += [f"{where}: {what}" for what in _findings(text, hidden, secrets)]
    return list(dict.fromkeys(found))


def scan_solution_lines(files: Files, hidden: Hidden) -> list[str]:
    """The solution lines that the files hold; for the grader's bundle, whose checks may stay."""
    return [f for f in scan(files, hidden) if "solution" in f or "bytecode" in f]


def texts(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(where, text) of everything readable in a file, however it is wrapped."""
    if name.endswith(BYTECODE):
        yield name, BYTECODE_MARK
        return
    if data.startswith(HEADS):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from texts(f"{name}!{member}", archive.read(member))
        return
    text = data.decode("utf-8", "replace")
    yield name, text
    if name.endswith((".ipynb", ".json")):
        for where, inner in _strings(json.loads(text), name):
            yield where, inner
            yield from _unwrapped(where, inner)
    else:
        yield from _unwrapped(name, text)


BYTECODE_MARK = "\0bytecode"


def _strings(tree: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield where, tree
    elif isinstance(tree, list):
        if tree and all(isinstance(entry, str) for entry in tree):
            yield where, "".join(tree)
        for i, entry in enumerate(tree):
            yield from _strings(entry, f"{where}[{i}]")
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _strings(value, f"{where}.{key}")


def _unwrapped(where: str, text: str) -> Iterator[tuple[str, str]]:
    for match in BASE64.finditer(text):
        try:
            data = base64.b64decode("".join(match[0].split()), validate=True)
            if data.startswith(HEADS):
                yield from texts(f"{where} (base64)", data)
            else:
                yield f"{where} (base64)", data.decode("utf-8")
        except (binascii.Error, ValueError):
            continue


def _findings(text: str, hidden: Hidden, secrets: tuple[str, ...]) -> Iterator[str]:
    if text == BYTECODE_MARK:
        yield "bytecode is no source to hand out"
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONG:
            continue
        dense = _dense(line)
        if dense in hidden.lines:
            yield f"line {number} is a line of the solution: {line.strip()[:60]}"
        elif len(dense) >= SHORT and _shape(line) in hidden.shapes:
            yield f"line {number} is a line of the solution with other names: {line.strip()[:60]}"
    joined = " ".join(text.split())
    yield from (f"names the hidden check {w!r}" for w in sorted(hidden.words) if w in joined)
    yield from ("holds a secret of the term" for s in secrets if s in text)


def _dense(line: str) -> str:
    return "".join(line.split()).lstrip("#")


def _shape(line: str) -> str:
    """A line's tokens with one letter for every name; "" when it is short or no code."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return ""
    kinds = (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING)
    words = [t.string if t.type != tokenize.NAME or t.string in KEYWORDS else "x"
             for t in tokens if t.type in kinds]
    return " ".join(words) if len(words) >= FEW else ""


KEYWORDS = {"and", "or", "not", "if", "else", "for", "in", "return", "while", "lambda"}


def read(folder: Path) -> Files:
    """The files below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}
