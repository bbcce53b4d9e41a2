"""
Freezes what a grader needs to know of the solution: values, never code.

Public and hidden cases, the written questions' answers, and what the right solution and every
known mistake say to the diagnostic requests.
"""

from __future__ import annotations

import marshal
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from queue import Queue
from typing import Any

import numpy as np

from autograder.grading.nursery import Nursery
from autograder.grading.remote import RemoteLab
from autograder.grading.setup import setup_for
from autograder.kit.border import Record
from autograder.kit.calls import call, is_array
from autograder.kit.diagnosis import RTOL, answers, settled, shortened
from autograder.kit.errors import KitError
from autograder.kit.lab import Lab
from autograder.kit.release import module_of
from release.blame import text_of
from release.solution import FIGURES, ROOT, Solution
from release.term import Term, previous, read_toml

MISTAKES = ROOT / "autograder" / "mistakes"
AT_ONCE = 2  # workers


@dataclass(frozen=True)
class Mistake:
    """One known mistake: a snippet of the solution and what a student would write instead."""

    id: str
    part: str
    file: str
    snippet: str
    instead: str
    hint: str


class Bench:
    """Runs trusted sources in workers, a few at a time."""

    def __init__(self, at_once: int = AT_ONCE):
        self.nurseries = [Nursery() for _ in range(at_once)]
        self.free: Queue[Nursery] = Queue()
        for nursery in self.nurseries:
            self.free.put(nursery)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error) -> None:
        for nursery in self.nurseries:
            nursery.close()

    @contextmanager
    def lab(self, sources: dict[str, str], names: dict[str, str]) -> Iterator[Lab]:
        """A lab that holds the sources."""
        sources = {name: text for name, text in sources.items() if name != FIGURES}
        nursery = self.free.get()
        try:
            with nursery.scratch() as scratch:
                setup = setup_for(sources, {}, names, scratch, None, True)
                lab = RemoteLab(nursery, setup, {}, {}, _compiled(sources))
                try:
                    yield lab
                finally:
                    lab.close()
        finally:
            self.free.put(nursery)

    def map(self, function, items: list) -> list:
        """function(item) for every item, a few at a time, in order."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(function, items))


def _compiled(sources: dict[str, str]) -> dict[str, bytes]:
    codes = {name: _code(name, text) for name, text in sources.items()}
    return {name: code for name, code in codes.items() if code}


@lru_cache(64)
def _code(name: str, text: str) -> bytes:
    """A file's code as a worker loads it; nothing for a file that does not compile."""
    try:
        return marshal.dumps(compile(text, name, "exec", dont_inherit=True))
    except SyntaxError:
        return b""


def freeze(solution: Solution, term: Term, bench: Bench) -> dict[str, Any]:
    """What the frozen files hold: public, hidden and diagnosis, by name."""
    reference = module_of(solution.lab, "reference")
    figures = term.figures(solution.lab)
    with bench.lab(solution.sources, solution.names) as lab:
        public = _cases(lab, reference.public(call, figures))
        hidden = _cases(lab, reference.hidden(call, figures))
        answers = reference.answers(lab, figures)
    return {
        "public": {"cases": public, "answers": {}},
        "hidden": {"cases": hidden, "answers": answers},
        "diagnosis": _diagnosis(solution, reference.diagnostics(call), bench),
    }


def doubts(solution: Solution, term: Term, bench: Bench) -> list[str]:
    """What makes the term's figures bad for the lab's questions; the last term's answers too."""
    reference = module_of(solution.lab, "reference")
    if not hasattr(reference, "doubts"):
        return []
    before = previous(term)
    with bench.lab(solution.sources, solution.names) as lab:
        found = reference.doubts(lab, term.figures(solution.lab))
        if before and before.figures(solution.lab):
            old, new = (reference.answers(lab, t.figures(solution.lab)) for t in (before, term))
            found += [f"{key}: the answer is that of {before.name}" for key in new
                      if old.get(key) == new[key]]
    return found


def _cases(lab: Lab, named: dict[str, list]) -> dict[str, list]:
    return {name: [(c, value) for c, value in zip(calls, lab.run_all(calls), strict=True)]
            for name, calls in named.items()}


def _diagnosis(solution: Solution, requests: dict[str, list], bench: Bench) -> dict[str, dict]:
    mistakes, requests = read_mistakes(solution), rounded(requests)

    def ask(sources: dict[str, str], part: str, right: list | None = None) -> list:
        with bench.lab(sources, solution.names) as lab:
            return answers(lab, requests[part], right)

    for mistake in mistakes:
        if mistake.part not in requests:
            raise KitError(f"autograder/mistakes/{solution.lab}.toml: {mistake.id}: no part "
                           f"{mistake.part}", f"parts with diagnostics: {', '.join(requests)}")
    right = {part: ask(solution.sources, part) for part in requests}
    base = {part: settled(answer, answer) for part, answer in right.items()}
    known = bench.map(lambda m: ask(mistaken(solution, m), m.part, right[m.part]), mistakes)
    return {
        part: {"requests": requests[part], "right": rounded(right[part]), "mistakes": [
            {"id": m.id, "hint": m.hint, "answers": rounded(shortened(a, base[part]))}
            for m, a in zip(mistakes, known, strict=True) if m.part == part]}
        for part in requests
    }


def rounded(value: Any) -> Any:
    """
    The value or request, its arrays to as many digits as `diagnosis.same` compares: the last ones
    depend on the processor and on numpy's version, and a release is the same wherever it is built.
    """
    if is_array(value) and value.dtype.kind == "f":
        return _rounded_array(value)
    if isinstance(value, Record):
        numbers = {name: rounded(number) for name, number in vars(value).items()}
        return Record(value._kind, numbers, tuple(map(rounded, value)))
    if isinstance(value, (list, tuple)):
        return type(value)(map(rounded, value))
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if is_dataclass(value):  # a request, a call
        return replace(value, **{f.name: rounded(getattr(value, f.name)) for f in fields(value)})
    return value


def _rounded_array(value: np.ndarray) -> np.ndarray:
    largest = np.max(np.abs(value[np.isfinite(value)]), initial=1.0)
    unit = int(np.frexp(largest)[1]) + math.frexp(RTOL)[1] - 2
    whole = np.ldexp(np.rint(np.ldexp(value, -unit)), unit) + 0.0  # the sign of 0 is noise too
    return np.where(np.isnan(value), np.nan, whole).astype(value.dtype)


def read_mistakes(solution: Solution) -> list[Mistake]:
    """The known mistakes of a lab; KitError for one that does not fit the solution."""
    path = MISTAKES / f"{solution.lab}.toml"
    if not path.exists():
        return []
    shown = path.relative_to(ROOT).as_posix()
    text = text_of(path)
    mistakes = [_mistake(entry, shown) for entry in
                read_toml(path, "see the entries of another lab").get("mistake", [])]
    seen: set[str] = set()
    for mistake in mistakes:
        place = _place(shown, text, mistake.id)
        count = solution.sources.get(mistake.file, "").count(mistake.snippet)
        if count != 1:
            raise KitError(f"{place}: {mistake.id}: its snippet occurs {count} times in "
                           f"{mistake.file}", "a snippet must occur exactly once")
        if mistake.id in seen:
            raise KitError(f"{place}: {mistake.id} occurs twice", "give each mistake its own id")
        seen.add(mistake.id)
    return mistakes


def _mistake(entry: dict[str, Any], shown: str) -> Mistake:
    keys = [field.name for field in fields(Mistake)]
    for what, wrong in (("lacks", [key for key in keys if key not in entry]),
                        ("has no use for", [key for key in entry if key not in keys])):
        if wrong:
            raise KitError(f"{shown}: {entry.get('id', 'a mistake without id')} {what} "
                           f"{', '.join(wrong)}", f"a mistake has {', '.join(keys)}")
    return Mistake(**entry)


def _place(shown: str, text: str, name: str) -> str:
    """file:line of a mistake's id."""
    found = re.search(rf"""^id *= *["']{re.escape(name)}["']""", text, re.MULTILINE)
    return f"{shown}:{text.count(chr(10), 0, found.start()) + 1}" if found else shown


def mistaken(solution: Solution, mistake: Mistake) -> dict[str, str]:
    """The solution's sources with the mistake in them."""
    text = solution.sources[mistake.file].replace(mistake.snippet, mistake.instead)
    return solution.sources | {mistake.file: text}
