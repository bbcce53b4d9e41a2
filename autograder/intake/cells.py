"""
A notebook's cells: their text from JSON of any age, and that text as Python.

What IPython adds to Python is taken away line by line: magics, shell lines, questions for help.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap

from autograder.intake.files import EXPORTED
from autograder.intake.source import LARGEST, LARGEST_PARSED, OPAQUE, Unreadable, parse, size

LARGEST_NOTEBOOK = 10 << 20  # bytes; parsed JSON takes up to 30 times as much memory
MOST_CELLS = 2_000


def cells_of(text: str) -> tuple[list[tuple[int, str, str]], list[str]]:
    """(number, type, source) of each cell, and what is odd about the notebook."""
    if len(text) > LARGEST_NOTEBOOK:
        raise Unreadable(
            f"is larger than {size(LARGEST_NOTEBOOK)}: clear its outputs and hand it in again"
        )
    if not text.lstrip().startswith("{") and EXPORTED.search(text):
        return [(number, "code", source)
                for number, source in enumerate(EXPORTED.split(text)[1:], 1)][:MOST_CELLS], []
    try:  # numbers are not needed, and an endless one takes long to convert
        data = json.loads(text, parse_int=lambda _: 0, parse_float=lambda _: 0.0)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is no JSON (line {error.lineno}: {error.msg})") from None
    except (RecursionError, MemoryError):
        raise Unreadable("is nested too deeply to be read") from None
    if not isinstance(data, dict):
        raise Unreadable("is JSON, but no notebook")
    found = data.get("cells")
    if not isinstance(found, list):  # nbformat 3 and older have sheets of cells
        sheets = data.get("worksheets")
        sheets = [s for s in sheets if isinstance(s, dict)] if isinstance(sheets, list) else []
        lists = [s.get("cells") for s in sheets]
        found = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    notes = []
    if language := _other_language(data.get("metadata")):
        notes.append(f"the notebook says that its language is {language}; it was read as Python")
    if len(found) > MOST_CELLS:
        notes.append(f"the notebook has more than {MOST_CELLS:,} cells; the others were left out")
    cells, total = [], 0
    for number, cell in enumerate(found[:MOST_CELLS], 1):
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            lines = [line for line in source if isinstance(line, str)]
            ended = len(lines) < 2 or any(line.endswith("\n") for line in lines)
            source = ("" if ended else "\n").join(lines)
        if not isinstance(source, str):
            continue
        total += len(source)
        if total > LARGEST:
            notes.append(f"cells from cell {number} on were left out: more than {size(LARGEST)}")
            break
        kind = cell.get("cell_type", "code")
        source = source.replace("\r\n", "\n").replace("\r", "\n")
        cells.append((number, kind if isinstance(kind, str) else "unknown", source))
    if not cells:
        raise Unreadable("holds no cells")
    return cells, notes


def _other_language(metadata) -> str:
    """The language of a notebook that is not meant for Python; "" when none is named."""
    if not isinstance(metadata, dict):
        return ""
    for section, key in (("kernelspec", "language"), ("language_info", "name")):
        named = metadata.get(section)
        language = named.get(key) if isinstance(named, dict) else None
        if isinstance(language, str) and language.isprintable() and language.strip():
            return "" if "python" in language.lower() else language[:40]
    return ""


# --- what IPython adds to Python ------------------------------------------------------------------

NOT_PYTHON = {
    "bash", "sh", "script", "system", "sx", "cmd", "html", "HTML", "javascript", "js", "latex",
    "markdown", "svg", "SVG", "perl", "ruby", "R", "sql", "cython", "python2", "pypy",
}  # fmt: skip
_CELL_MAGIC = re.compile(r"\s*%%(\w+)([^\n]*)(?:\n|\Z)")
_SHELL = re.compile(
    r"(pip3?|conda|apt|apt-get|git|cd|ls|ll|mkdir|cat|rm|cp|mv|wget|curl)[ \t]+[\w./~-][^=\n]*$",
    re.MULTILINE,
)
_LINE = re.compile(r"[%!?/,;]|[\w.,\[\] \t]+=[ \t]*[!%](?!=)")
_INDENT = re.compile(r"[ \t]*")
_TOKEN = re.compile(OPAQUE + r"|\\\n|[^\"'#\\\n()\[\]{}]+|.", re.DOTALL)


def cell_magic(source: str) -> tuple[str, str, str]:
    """The name and argument of the cell's magic, or "", and the cell without it."""
    found = _CELL_MAGIC.match(source)
    return (found[1], found[2].strip(), source[found.end() :]) if found else ("", "", source)


def parse_cell(source: str) -> tuple[ast.Module, str]:
    """The cell as Python, and the text that was parsed."""
    if len(source) > LARGEST_PARSED:
        raise Unreadable(f"is longer than the {size(LARGEST_PARSED)} that are parsed at once")
    lines = (line for line in source.split("\n") if line.strip())
    if next(lines, "")[:1].isspace():
        source = textwrap.dedent(source)
    source = _without_magics(source)
    try:
        return parse(source), source
    except Unreadable:
        plain = _without_magics(source, shell=True)  # pip install, without the % it should have
        if plain == source:
            raise
        return parse(plain), plain


def _without_magics(source: str, shell: bool = False) -> str:
    """The cell with pass in place of each line that only IPython knows: %x, !x, x?, y = !x."""
    parts, at = [], 0
    while at < len(source):
        start = _INDENT.match(source, at).end()
        if (_SHELL if shell else _LINE).match(source, start):
            end, known = _physical_end(source, start), True
        else:
            end, known = _logical_end(source, start)
        text = "pass" + "\n" * source.count("\n", start, end) if known else source[start:end]
        parts += [source[at:start], text]
        at = end
    return "".join(parts)


def _physical_end(source: str, at: int) -> int:
    """Behind the line, and the lines that a backslash joins to it."""
    while True:
        end = source.find("\n", at) + 1
        if not end:
            return len(source)
        if source[end - 2] != "\\":
            return end
        at = end


def _logical_end(source: str, at: int) -> tuple[int, bool]:
    """Behind the line and all that brackets and strings join to it; does it end in a ? (help)"""
    depth, last, end = 0, "", at
    for token in _TOKEN.finditer(source, at):
        text, end = token[0], token.end()
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
        elif text == "\n" and depth <= 0:
            break
        if text[0] != "#" and not text.isspace():
            last = text
    return end, last.rstrip().endswith("?")
