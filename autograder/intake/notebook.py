"""
A student's functions out of a notebook's cells, without Jupyter and without running anything.

In a notebook everything lives in one namespace, so the result is one module, `<lab>_notebook.py`,
and for each file that students fill in a few lines that import its names from there. That module
holds what the functions need, found by name: imports, functions, classes and assignments, in the
notebook's order, the last definition of a name winning as when the notebook runs from top to
bottom. Demo code (expressions, loops, plots, asserts) stays out, and so does every import and
assignment that no function needs. Where a cell needs at once what only a later cell defines, the
later one is moved before it, since cells are run in any order.

`from online_softmax import merge_states` in a cell would be circular. Names that the notebook
itself defines are dropped from such imports; the others come from the student's own copy of that
file beside the notebook, which goes by the name `online_softmax_module`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from autograder.intake.archive import shown
from autograder.intake.cells import NOT_PYTHON, cell_magic, cells_of, parse_cell
from autograder.intake.choice import Choice
from autograder.intake.source import Unreadable, stubs
from autograder.intake.statements import FUNCTION, IMPORTS, Item, fills, is_quiet, item_of, segment
from autograder.intake.wanted import Wanted

MOST_STATEMENTS = 3_000  # that bind a name


@dataclass(frozen=True)
class Notebook:
    """What was found in a notebook."""

    sources: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    defined: frozenset[str] = frozenset()  # all names that its cells define
    written: frozenset[str] = frozenset()  # students' functions that are more than a stub
    unfinished: frozenset[str] = frozenset()  # functions that are stubs of their own


def read_notebook(
    text: str,
    wanted: Wanted,
    beside: Mapping[str, str] | None = None,
    title: str = "the notebook",
) -> Notebook:
    """The same as a Notebook; `beside` holds the wanted files that lie next to it, by name."""
    try:
        cells, notes = cells_of(text)
    except Unreadable as error:
        return Notebook(problems={file: f"{title} {error}" for file in wanted.students})
    reading = _Reading(wanted, beside or {}, notes, title)
    for number, kind, source in cells:
        if kind == "code":
            reading.code(number, source)
        else:
            reading.prose(number, kind, source)
    return reading.result()


_FUTURES = {"annotations", "division", "generator_stop", "print_function", "unicode_literals"}
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


class _Reading:
    """One pass over a notebook's cells, and what comes of it."""

    def __init__(self, wanted: Wanted, beside: Mapping[str, str], notes: list[str], title: str):
        self.wanted = wanted
        self.beside = beside
        self.notes = notes
        self.title = title
        self.stems = {file.removesuffix(".py") for file in wanted.students}
        self.items: list[Item] = []
        self.futures: set[str] = set()
        self.broken: dict[str, str] = {}  # wanted function -> why its code cell can't be used
        self.idle: dict[str, str] = {}  # wanted function -> the text cell in which it stands

    def code(self, number: int, source: str):
        magic, argument, source = cell_magic(source)
        if magic in ("writefile", "file"):
            if not argument.endswith(".py"):
                return
            self.notes.append(
                f"cell {number} writes {shown(argument.split()[-1])}; its text was read as a cell"
            )
        elif magic in NOT_PYTHON:
            self._lost(self.broken, number, source, f"begins with %%{magic} and is not Python")
            return
        try:
            tree, source = parse_cell(source)
            for item in self._statements(number, tree, source):
                if len(self.items) == MOST_STATEMENTS:
                    raise Unreadable(f"goes beyond {MOST_STATEMENTS:,} definitions")
                self.items.append(item)
        except Unreadable as error:
            self._lost(self.broken, number, source, str(error))
            self.notes.append(f"cell {number} was left out: it {error}")

    def prose(self, number: int, kind: str, source: str):
        """A cell that is never run: it matters only when a function stands in it by mistake."""
        kind = kind if kind in ("markdown", "raw", "heading", "html") else "not code"
        self._lost(self.idle, number, source, f"is of type {kind}, so it is never run")

    def _lost(self, into: dict[str, str], number: int, source: str, reason: str):
        for name in _DEF.findall(source):
            if name in self.wanted.functions:
                into[name] = f"cell {number} defines {name}, but it {reason}"

    def _statements(self, number: int, tree: ast.Module, source: str) -> Iterator[Item]:
        lines = source.split("\n")
        for node in tree.body:
            if isinstance(node, IMPORTS):
                yield from self._imports(number, node)
            elif (quiet := is_quiet(node, self.stems)) or fills(node, self.stems):
                text = segment(lines, node)
                try:
                    yield item_of(number, node, text, demo=not quiet)
                except Unreadable as error:
                    if isinstance(node, FUNCTION):
                        self._lost(self.broken, number, text, str(error))
                        self.notes.append(
                            f"{shown(node.name)} of cell {number} was left out: it {error}"
                        )

    def _imports(self, number: int, node: ast.Import | ast.ImportFrom) -> Iterator[Item]:
        """One item a name, so that an import of something unneeded is not pulled in by another."""
        module = "." * getattr(node, "level", 0) + (getattr(node, "module", None) or "")
        for alias in node.names:
            if module == "__future__":
                if alias.name in _FUTURES:
                    self.futures.add(alias.name)
                continue
            rename = f" as {alias.asname}" if alias.asname else ""
            whole = isinstance(node, ast.Import)
            source = alias.name if whole else module
            binds = alias.asname or alias.name.partition(".")[0]
            taken = f"import {alias.name}{rename}"
            yield Item(
                number,
                taken if whole else f"from {module} {taken}",
                frozenset() if alias.name == "*" else frozenset([binds]),
                changes=frozenset([binds] if whole and "." in alias.name and not rename else []),
                module=source if source in self.stems else "",
                name="" if whole else alias.name,
            )

    def result(self) -> Notebook:
        own = {name for item in self.items if not item.module for name in item.binds}
        items = [kept for item in self.items if (kept := self._without_circle(item, own))]
        chosen = Choice(items)
        defined = {
            name
            for name in self.wanted.functions
            if (i := chosen.last(name)) is not None and not items[i].borrowed
        }
        for name in sorted(defined):
            self._say_which(name, chosen)
        known = {name for name, module in self.wanted.names.items() if module in self.stems}
        texts = chosen.texts(defined | known & chosen.binders.keys())  # checks may ask for them
        combined = f"{self.wanted.lab}_notebook"
        head = f'"""What the functions of {self.wanted.lab} need of the notebook\'s cells."""\n'
        if self.futures:
            head += f"from __future__ import {', '.join(sorted(self.futures))}\n"
        for stem in sorted({item.module for item in self.items if item.module and not item.name}):
            if f"{stem}.py" in self.beside:  # import stem: its names, before the notebook's own
                head += f"from {_module(stem)} import *\n"
        sources, problems = {}, {}
        for file in self.wanted.students:
            functions = self.wanted.functions_of(file)
            here = [name for name in functions if name in defined]
            if here or not functions:
                sources[file] = self._front(file, combined, here)
                missing = [self._missing(name, defined) for name in functions if name not in here]
                self.notes.extend(missing)
            else:
                problems[file] = "; ".join(self._missing(name, defined) for name in functions)
        if defined:
            sources[f"{combined}.py"] = head + "".join(texts)
            for file in self.beside:
                sources[f"{_module(file)}.py"] = self.beside[file]
        else:
            sources = {}
        outlines = chosen.outlines()
        return Notebook(
            sources,
            list(dict.fromkeys(self.notes)),
            problems,
            frozenset(chosen.binders),
            frozenset(defined - stubs(outlines)),
            frozenset(name for name, found in outlines.items() if found.unfinished),
        )

    def _front(self, file: str, combined: str, functions: list[str]) -> str:
        lines = [f"from {combined} import *"]
        if file in self.beside:
            lines.insert(0, f"from {_module(file)} import *")
        lines.extend(f"from {combined} import {name}" for name in functions)
        return "\n".join(lines) + "\n"

    def _missing(self, name: str, defined: Iterable[str]) -> str:
        if name in self.broken or name in self.idle:
            return self.broken.get(name) or self.idle[name]
        found = ", ".join(sorted(defined)) or "none of the lab's functions"
        return f"{name} was looked for in {self.title}; its cells define {found}"

    def _without_circle(self, item: Item, own: set[str]) -> Item | None:
        """The item, or what stands for an import from a file that the notebook replaces."""
        if not item.module:
            return item
        file = f"{item.module}.py"
        plain = replace(item, module="", name="")
        bound = next(iter(item.binds), "")
        if not item.name:  # import online_softmax as s: the notebook itself, where all names are
            return replace(plain, text=f"{bound} = __import__('sys').modules[__name__]")
        if item.name in own:
            if bound == item.name:
                return None
            return replace(plain, text=f"{bound} = {item.name}", now=frozenset([item.name]))
        if file in self.beside:
            rename = "" if bound in ("", item.name) else f" as {bound}"
            text = f"from {_module(file)} import {item.name}{rename}"
            return replace(plain, text=text, borrowed=True)
        if item.name != "*":
            self.notes.append(
                f"cell {item.cell} imports {item.name} from {file}, which was not handed in beside "
                "the notebook, and no cell defines it"
            )
        return None

    def _say_which(self, name: str, chosen: Choice):
        places = [chosen.items[i] for i in chosen.binders[name]]
        cells = list(dict.fromkeys(item.cell for item in places))
        used = chosen.items[chosen.last(name)]
        if name in self.broken:
            self.notes.append(f"{self.broken[name]}; the one in cell {used.cell} is used")
        if len(places) < 2 or any(item.outline is None for item in places):
            return
        last = used is places[-1]
        if len(cells) == 1:
            where = f"{name} is defined {len(places)} times in cell {used.cell}"
            which = "the last one" if last else "an earlier one"
        else:
            where = f"{name} is defined in cells {_and(cells)}"
            which = f"the one in cell {used.cell}"
        why = (
            "as when the notebook runs from top to bottom"
            if last
            else f"since the last one, in cell {places[-1].cell}, is still the stub"
        )
        self.notes.append(f"{where}; {which} is used, {why}")


def _module(file: str) -> str:
    return file.removesuffix(".py") + "_module"


def _and(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
