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
import builtins
import json
import re
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autograder.grading.archive import shown
from autograder.grading.source import (
    LARGEST,
    LARGEST_PARSED,
    OPAQUE,
    Outline,
    Unreadable,
    outline,
    parse,
    parsing,
    size,
    stubs,
)

if TYPE_CHECKING:
    from autograder.grading.intake import Wanted

LARGEST_NOTEBOOK = 10 << 20  # bytes; parsed JSON takes up to 30 times as much memory
MOST_CELLS = 2_000
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


def functions_from_notebook(
    text: str, wanted: Wanted
) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """
    The students' functions in a notebook, as modules.

    Returns:
        (sources, notes, problems): texts by file name; sentences about what was done; and for each
        wanted file that the notebook gives no function of, why
    """
    found = read_notebook(text, wanted)
    return found.sources, found.notes, found.problems


def read_notebook(
    text: str,
    wanted: Wanted,
    beside: Mapping[str, str] | None = None,
    title: str = "the notebook",
) -> Notebook:
    """The same as a Notebook; `beside` holds the wanted files that lie next to it, by name."""
    try:
        cells, notes = _cells(text)
    except Unreadable as error:
        return Notebook(problems={file: f"{title} {error}" for file in wanted.students})
    reading = _Reading(wanted, beside or {}, notes, title)
    for number, kind, source in cells:
        if kind == "code":
            reading.code(number, source)
        else:
            reading.prose(number, kind, source)
    return reading.result()


def _cells(text: str) -> tuple[list[tuple[int, str, str]], list[str]]:
    """(number, type, source) of each cell, and what is odd about the notebook."""
    if len(text) > LARGEST_NOTEBOOK:
        raise Unreadable(
            f"is larger than {size(LARGEST_NOTEBOOK)}: clear its outputs and hand it in again"
        )
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
            source = "".join(line for line in source if isinstance(line, str))
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


@dataclass(frozen=True)
class _Item:
    """One top-level statement that binds names."""

    cell: int
    text: str
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()  # names whose value it alters: X += 1, X[0] = 1
    now: frozenset[str] = frozenset()  # names that it needs when it runs
    later: frozenset[str] = frozenset()  # names that its functions need when they are called
    outline: Outline | None = None  # of a function
    module: str = ""  # of an import from a students' file, which is replaced once all is read
    name: str = ""  # what it takes from there: a name, "*", or "" for the module itself
    borrowed: bool = False  # it takes a name from a students' file beside the notebook

    @property
    def unfinished(self) -> bool:
        return self.outline is not None and self.outline.unfinished


_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, *_FUNCTION, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


class _Reading:
    """One pass over a notebook's cells, and what comes of it."""

    def __init__(self, wanted: Wanted, beside: Mapping[str, str], notes: list[str], title: str):
        self.wanted = wanted
        self.beside = beside
        self.notes = notes
        self.title = title
        self.stems = {file.removesuffix(".py") for file in wanted.students}
        self.items: list[_Item] = []
        self.futures: set[str] = set()
        self.broken: dict[str, str] = {}  # wanted function -> why its code cell can't be used
        self.idle: dict[str, str] = {}  # wanted function -> the text cell in which it stands

    def code(self, number: int, source: str):
        magic, argument, source = _cell_magic(source)
        if magic in ("writefile", "file"):
            if not argument.endswith(".py"):
                return
            self.notes.append(
                f"cell {number} writes {shown(argument.split()[-1])}; its text was read as a cell"
            )
        elif magic in _NOT_PYTHON:
            self._lost(self.broken, number, source, f"begins with %%{magic} and is not Python")
            return
        try:
            tree, source = _parse_cell(source)
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

    def _statements(self, number: int, tree: ast.Module, source: str) -> Iterator[_Item]:
        lines = source.split("\n")
        for node in tree.body:
            if isinstance(node, _IMPORTS):
                yield from self._imports(number, node)
            elif _is_quiet(node, self.stems):
                text = _segment(lines, node)
                try:
                    yield _item(number, node, text)
                except Unreadable as error:
                    if isinstance(node, _FUNCTION):
                        self._lost(self.broken, number, text, str(error))
                        self.notes.append(
                            f"{shown(node.name)} of cell {number} was left out: it {error}"
                        )

    def _imports(self, number: int, node: ast.Import | ast.ImportFrom) -> Iterator[_Item]:
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
            yield _Item(
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
        chosen = _Choice(items)
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

    def _without_circle(self, item: _Item, own: set[str]) -> _Item | None:
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

    def _say_which(self, name: str, chosen: _Choice):
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


class _Choice:
    """Which statement gives each name its value."""

    def __init__(self, items: list[_Item]):
        self.items = items
        self.binders: dict[str, list[int]] = {}
        self.changers: dict[str, list[int]] = {}
        self.stars: list[int] = []
        for i, item in enumerate(items):
            for name in item.binds:
                self.binders.setdefault(name, []).append(i)
            for name in item.changes:
                self.changers.setdefault(name, []).append(i)
            if item.text.endswith(" import *"):
                self.stars.append(i)
        self._stubs = {i for i, item in enumerate(items) if item.unfinished}
        unwritten = stubs(self.outlines())
        for name, places in self.binders.items():
            for i in places if len(places) > 1 else ():
                if (found := items[i].outline) and found.names & unwritten - {name}:
                    self._stubs.add(i)

    def last(self, name: str, before: int | None = None) -> int | None:
        """
        The statement that binds the name last, or last before another statement.

        A stub gives way to a written function. What is only bound later is taken from there.
        """
        places = self.binders.get(name)
        if not places:
            return None
        written = [i for i in places if i not in self._stubs] or places
        if before is None:
            return written[-1]
        earlier = [i for i in written if i < before]
        later = [i for i in written if i > before]
        return earlier[-1] if earlier else later[0] if later else None

    def outlines(self) -> dict[str, Outline]:
        used = {name: self.items[self.last(name)].outline for name in self.binders}
        return {name: found for name, found in used.items() if found}

    def texts(self, roots: set[str]) -> list[str]:
        """The statements that these names need, each after those that it needs when it runs."""
        kept = self._closure((name, None) for name in sorted(roots))
        spare = {  # other functions need nothing to be defined, and a check may call them
            i
            for name, places in self.binders.items()
            if (i := self.last(name)) is not None
            and self.items[i].outline
            and "@" != self.items[i].text[0]
            and all(self._is_there(need, kept) for need in self.items[i].now)
            and not any(place in kept for place in places)
        }
        order: dict[int, None] = {}
        for i in sorted(kept | spare):
            self._place(i, kept | spare, order)
        texts, cell = [], 0
        for i in order:
            item = self.items[i]
            if item.cell != cell:
                texts.append(f"\n\n# cell {item.cell}\n")
                cell = item.cell
            elif "\n" in item.text:
                texts.append("\n\n")
            texts.append(item.text + "\n")
        return texts

    def _closure(self, needs: Iterable[tuple[str, int | None]]) -> set[int]:
        kept: set[int] = set()
        seen: set[tuple[str, int | None]] = set()
        todo = list(needs)
        while todo:
            need = todo.pop()
            if need in seen:
                continue
            seen.add(need)
            name, before = need
            i = self.last(name, before)
            found = self.changers.get(name, []) + ([] if i is None else [i])
            if i is None and not hasattr(builtins, name):
                found += self.stars
            for i in found:
                if i not in kept:
                    kept.add(i)
                    todo.extend((name, i) for name in self.items[i].now)
                    todo.extend((name, None) for name in self.items[i].later)
        return kept

    def _is_there(self, name: str, kept: set[int]) -> bool:
        return hasattr(builtins, name) or any(i in kept for i in self.binders.get(name, ()))

    def _place(self, first: int, kept: set[int], order: dict[int, None]):
        """Put a statement in order, after the statements that it needs when it runs."""
        todo, open_ = [first], set()
        while todo:
            i = todo[-1]
            if i in order:
                todo.pop()
                continue
            before = {self.last(name, i) for name in self.items[i].now} if i not in open_ else set()
            open_.add(i)
            waiting = sorted(j for j in before if j in kept and j not in order and j not in open_)
            if waiting:
                todo.extend(reversed(waiting))
            else:
                order[i] = None
                todo.pop()


_FUTURES = {"annotations", "division", "generator_stop", "print_function", "unicode_literals"}


def _is_quiet(node: ast.stmt, stems: set[str]) -> bool:
    """Is it a definition, or a block of nothing but definitions, such as try: import?"""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            todo.extend(node.body + getattr(node, "orelse", []) + getattr(node, "finalbody", []))
            todo.extend(s for handler in getattr(node, "handlers", []) for s in handler.body)
        elif not isinstance(node, (*_SIMPLE, *_IMPORTS, ast.Pass)):
            return False
        elif isinstance(node, _IMPORTS) and stems & {
            getattr(node, "module", ""),
            *(alias.name for alias in node.names),
        }:
            return False
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            return False
    return True


def _segment(lines: list[str], node: ast.stmt) -> str:
    """The statement's own text."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    part = [line.encode() for line in lines[first - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][0 if first < node.lineno else node.col_offset :]
    return b"\n".join(part).decode()


def _item(number: int, node: ast.stmt, text: str) -> _Item:
    """What a statement binds and needs; Unreadable when it can't be compiled by itself."""
    with parsing():
        compile(text, "cell", "exec", dont_inherit=True)
        table = symtable.symtable(text, "cell", "exec")
    binds, changes = _targets(node)
    now: set[str] = set(changes)
    later: set[str] = set()
    tables = [(table, True)]
    while tables:
        scope, runs = tables.pop()
        for symbol in scope.get_symbols():
            name = symbol.get_name()
            if scope is not table:
                needed = symbol.is_global()
            else:  # a comprehension's variable is assigned here, from Python 3.12 on
                needed = symbol.is_referenced() and (name in binds or not symbol.is_assigned())
            if needed:
                (now if runs else later).add(name)
        for child in scope.get_children():
            called = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
            tables.append((child, runs and not called))
    return _Item(
        number,
        text,
        frozenset(binds),
        frozenset(changes),
        frozenset(now),
        frozenset(later),
        outline(node) if isinstance(node, _FUNCTION) else None,
    )


_COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}


def _targets(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a definition binds, and those whose value it changes."""
    binds: set[str] = set()
    changes: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (*_FUNCTION, ast.ClassDef)):
            binds.add(node.name)
        elif isinstance(node, _IMPORTS):
            binds.update(a.asname or a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.AugAssign):
            changes.add(_base(node.target))
        elif isinstance(node, ast.Name):
            binds.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            changes.add(_base(node))
        elif isinstance(node, ast.Assign):
            todo.extend(node.targets)
        elif isinstance(node, ast.AnnAssign):
            todo.append(node.target)
        elif isinstance(node, ast.With):
            todo.extend(item.optional_vars for item in node.items if item.optional_vars)
            todo.extend(node.body)
        elif isinstance(
            node, (ast.If, ast.Try, ast.excepthandler, ast.Tuple, ast.List, ast.Starred)
        ):
            todo.extend(n for n in ast.iter_child_nodes(node) if n is not getattr(node, "test", 0))
    return binds, changes - {""}


def _base(node: ast.expr) -> str:
    """The variable of which this is a part: X of X[0].a, "" of f()[0]."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# What IPython adds to Python.

_NOT_PYTHON = {
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


def _cell_magic(source: str) -> tuple[str, str, str]:
    """The name and argument of the cell's magic, or "", and the cell without it."""
    found = _CELL_MAGIC.match(source)
    return (found[1], found[2].strip(), source[found.end() :]) if found else ("", "", source)


def _parse_cell(source: str) -> tuple[ast.Module, str]:
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
