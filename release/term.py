"""A term's figures and policy, read from release/terms/<term>.toml, and texts filled with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.kit.errors import KitError

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

TERMS = Path(__file__).parent / "terms"
VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")
ANSWER = re.compile(r"^(\w+) = .*$", re.MULTILINE)
FIGURE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Term:
    """One term's file."""

    name: str
    tables: dict[str, dict[str, Any]]

    @property
    def language(self) -> str:
        return self.tables["term"]["language"]

    @property
    def grading(self) -> dict[str, Any]:
        return self.tables["grading"]

    def figures(self, lab: str) -> dict[str, Any]:
        """The figures of one lab's questions; none for a lab without its own table."""
        return self.tables.get(lab, {})


def read_term(path: Path | None = None) -> Term:
    """The term of a file; by default the newest by name."""
    path = path or max(TERMS.glob("*.toml"))
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KitError(f"{path}: no such term file",
                       f"terms here: {', '.join(p.stem for p in TERMS.glob('*.toml'))}") from None
    except tomllib.TOMLDecodeError as error:
        raise KitError(f"{path}: {error}", "a term is a copy of an older one in release/terms/"
                       ) from None
    for table, keys in {"term": ("language", "handed_in_by"),
                        "grading": ("seed", "hidden_visibility", "hints")}.items():
        missing = [key for key in keys if key not in tables.get(table, {})]
        if missing:
            raise KitError(f"{path}: [{table}] lacks {', '.join(missing)}",
                           "compare it with an older term's file")
    if tables["grading"]["hidden_visibility"] not in VISIBILITIES:
        raise KitError(f"{path}: hidden_visibility is none of Gradescope's words",
                       f"use one of: {', '.join(VISIBILITIES)}")
    return Term(path.stem, tables)


def previous(term: Term) -> Term | None:
    """The term before, by name; None before the first."""
    older = [path for path in TERMS.glob("*.toml") if path.stem < term.name]
    return read_term(max(older)) if older else None


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
