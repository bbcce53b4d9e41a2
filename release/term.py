"""A term's figures and policy, read from release/terms/<term>.toml, and texts filled with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.kit.errors import KitError
from release.blame import shown_path, text_of

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

TERMS = Path(__file__).parent / "terms"
LANGUAGES = ("en", "zh")
KEYS = {"term": {"language": str, "handed_in_by": str},
        "grading": {"seed": str, "hidden_visibility": str, "hints": bool}}
KINDS = {str: 'a text in "quotes"', bool: "true or false"}
VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")
SEASONS = {"winter": 0, "spring": 1, "summer": 2, "fall": 3, "autumn": 3}  # as a year goes
ANSWER = re.compile(r"^(\w+) = .*$", re.MULTILINE)
FIGURE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Term:
    """One term's file."""

    name: str
    tables: dict[str, dict[str, Any]]
    file: str = ""  # as messages name it

    @property
    def language(self) -> str:
        return self.tables["term"]["language"]

    @property
    def grading(self) -> dict[str, Any]:
        return self.tables["grading"]

    def figures(self, lab: str) -> dict[str, Any]:
        """The figures of one lab's questions; none for a lab without its own table."""
        return _Figures(self.tables.get(lab, {}), f"{self.file or self.name}: [{lab}]")


class _Figures(dict):
    """A table of figures; one that is asked for and not there is the author's mistake."""

    def __init__(self, figures: dict[str, Any], table: str):
        super().__init__(figures)
        self.table = table

    def __missing__(self, key: str) -> Any:
        raise KitError(f"{self.table} lacks {key}; it has: {', '.join(self) or 'nothing'}",
                       "compare it with an older term's file; nothing was written")


def read_term(path: Path | None = None) -> Term:
    """The term of a file; by default the newest, by the year and the season of its name."""
    path = path or max(TERMS.glob("*.toml"), key=_when)
    if not path.is_file():
        raise KitError(f"{path}: no such term file", "terms here: " + ", ".join(
            f"release/terms/{p.name}" for p in sorted(TERMS.glob("*.toml"))))
    shown = shown_path(path)
    tables = read_toml(path, "a term is a copy of an older one in release/terms/")
    for table, keys in KEYS.items():
        missing = [key for key in keys if key not in tables.get(table, {})]
        if missing:
            raise KitError(f"{shown}: [{table}] lacks {', '.join(missing)}",
                           "compare it with an older term's file")
        for key, kind in keys.items():
            value = tables[table][key]
            if not isinstance(value, kind):
                raise KitError(f"{shown}: [{table}] {key} = {value!r}: not {KINDS[kind]}",
                               "compare it with an older term's file")
    for table, key, words in (("term", "language", LANGUAGES),
                              ("grading", "hidden_visibility", VISIBILITIES)):
        if tables[table][key] not in words:
            raise KitError(f"{shown}: [{table}] {key} = {tables[table][key]!r}",
                           f"use one of: {', '.join(words)}")
    return Term(path.stem, tables, shown)


def read_toml(path: Path, todo: str) -> dict[str, Any]:
    """The tables of a file that people write; KitError with file and line when it is no TOML."""
    try:
        return tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", place)
        raise KitError(f"{shown_path(path)}{':' + line[1] if line else ''}: {what}", todo) from None


def previous(term: Term) -> Term | None:
    """The term before, as `read_term` orders them; None before the first."""
    now = _when(TERMS / f"{term.name}.toml")
    older = [path for path in TERMS.glob("*.toml") if _when(path) < now]
    return read_term(max(older, key=_when)) if older else None


def _when(path: Path) -> tuple[str, int, str]:
    """What orders terms' files: the year, the season, the whole name."""
    year, _, season = path.stem.partition("-")
    return year, SEASONS.get(season, len(SEASONS)), path.stem


def fill(text: str, figures: dict[str, Any], name: str) -> str:
    """The text with every {{figure}} replaced; KitError with file and line for an unknown one."""
    def value(match: re.Match) -> str:
        if match[1] not in figures:
            line = text.count("\n", 0, match.start()) + 1
            raise KitError(f"{name}:{line}: {{{{{match[1]}}}}} is no figure of this term",
                           f"figures: {', '.join(sorted(figures))}")
        return shown(figures[match[1]])

    return FIGURE.sub(value, text)


def blank_answers(text: str) -> str:
    """answers.toml as students get it: every answer is "TODO"."""
    return ANSWER.sub(r'\1 = "TODO"', text)


def fill_answers(text: str, values: dict[str, Any], name: str) -> str:
    """answers.toml with the values of this term; KitError when keys and values do not match."""
    keys = ANSWER.findall(text)
    if set(keys) != set(values):
        raise KitError(f"{name}: its keys are {', '.join(keys)}; the checks ask for "
                       f"{', '.join(values)}", "one line `key = value` a question in both")
    return ANSWER.sub(lambda m: f"{m[1]} = {shown(values[m[1]])}", text)


def shown(value: Any) -> str:
    """A figure in a text: whole numbers whole, others to ten digits."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
