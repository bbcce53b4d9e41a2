"""
A lab's notebook, made of its handout and its modules.

The handout's text is cut where its marks stand:

    <!-- code: flash_fwd -->     the stub of the function comes here, and its check cells
    <!-- figure: traffic -->     the figure is drawn here, instead of the picture in the next line

There are two of each notebook. The course's is what nbgrader grades with: its check cells for
hidden checks hold the call in a region. The student's is, byte for byte, what nbgrader makes of
that; it is made without nbgrader, which not every Python has. Neither holds a solution.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.kit.check import Check
from autograder.kit.errors import KitError
from release.solution import FIGURES, Solution
from release.strip import regions

MARK = re.compile(r"<!-- (\w+): (\w+) -->")
BEGIN, END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
LANGUAGES = {"en": "handout.md", "zh": "handout.zh.md"}
HOW = {
    "en": "**In this notebook** complete the cells that end in `NotImplementedError` and run the "
          "cell below each: it says what every check found and ends in your points. Cells that "
          "check and cells marked as given stay as they are. The written answers go into "
          "`answers.toml`, which lies beside the notebook and is handed in with it. Who would "
          "rather work in the `.py` files can: hand in what you filled in, one or the other.",
    "zh": "**在本笔记本中**，请完成以 `NotImplementedError` 结尾的单元格，然后运行其下方的单元格："
          "它会说明每项检查的结果，并以你的得分结尾。检查单元格和标明为给定代码的单元格请保持原样。"
          "书面题的答案写入笔记本旁边的 `answers.toml`，并与笔记本一起提交。"
          "也可以改在 `.py` 文件中完成：两者之中，提交你填写的那一份。",
}
Cell = dict[str, Any]


@dataclass(frozen=True)
class Notebook:
    """A lab's notebook for the course and for students, as files."""

    course: bytes
    student: bytes


def make(solution: Solution, files: Mapping[str, bytes], language: str,
         checks: Sequence[Check]) -> Notebook:
    """
    The lab's notebook.

    Args:
        files: what students get, the handouts with every figure filled in among them
        language: of the handout that it is made of
        checks: all of the lab's, of which each cell's points are the sum
    """
    pages = _Pages(solution, language, checks)
    if LANGUAGES[language] not in files:
        raise KitError(f"{pages.name}: there is no such file", "the notebook is made of it")
    cells = list(pages.cells(files[LANGUAGES[language]].decode()))
    return Notebook(_file(cells), _file([_for_students(cell) for cell in cells]))


class _Pages:
    """One pass over a handout."""

    def __init__(self, solution: Solution, language: str, checks: Sequence[Check]):
        self.solution = solution
        self.language = language
        self.checks = checks
        self.name = f"solutions/{solution.lab}/{LANGUAGES[language]}"
        self.stubs = {file: Stub(solution.stubs[file], solution.sources[file])
                      for file in solution.students}
        self.begun: list[str] = []  # files whose given code has been shown
        self.done: list[str] = []  # functions whose stub has been shown
        self.texts = 0

    def cells(self, handout: str) -> Iterator[Cell]:
        """The notebook's cells, those for hidden checks with their region."""
        text: list[str] = []
        after_figure = fenced = False
        for number, line in enumerate(handout.splitlines(), 1):
            fenced ^= line.startswith("```")
            mark = None if fenced else MARK.fullmatch(line.strip())
            if mark or (line.startswith("## ") and not fenced):
                yield from self.text(text)
                text = []
            if mark:
                yield from self.marked(mark[1], mark[2], f"{self.name}:{number}")
                after_figure = mark[1] == "figure"
            elif after_figure and line.startswith("!["):
                after_figure = False
            else:
                text.append(line)
        yield from self.text(text)
        missing = self.solution.functions.keys() - set(self.done)
        if missing:
            raise KitError(f"{self.name}: no place for the stub of {', '.join(sorted(missing))}",
                           "put a line <!-- code: FUNCTION --> where the notebook asks for it")
        for part in dict.fromkeys(c.part for c in self.checks):
            if self.function_of(part) is None:
                yield from self.check_cells(part)

    def text(self, lines: list[str]) -> Iterator[Cell]:
        """The text so far; how to work with the notebook comes after the first."""
        source = "\n".join(lines).strip("\n")
        if not source:
            return
        self.texts += 1
        yield _cell("markdown", f"text-{self.texts:02}", source, locked=True)
        if self.texts == 1:
            yield _cell("markdown", "text-how", HOW[self.language], locked=True)

    def marked(self, kind: str, name: str, where: str) -> Iterator[Cell]:
        """What a mark stands for."""
        if kind == "code" and name in self.solution.functions and name not in self.done:
            yield from self.stub(name)
        elif kind == "figure" and name in self.figures:
            yield self.figure(name)
        else:
            raise KitError(f"{where}: {kind}: {name} is no mark, or the second of its kind",
                           f"code: {', '.join(self.solution.functions)}; "
                           f"figure: {', '.join(self.figures)}")

    def stub(self, name: str) -> Iterator[Cell]:
        """The function's stub after what its file gives, and the check cells of its parts."""
        file = self.solution.functions[name]
        stub = self.stubs[file]
        if file not in self.begun:
            self.begun.append(file)
            given = self.without_circle(stub.given)
            yield _cell("code", f"given-{file.removesuffix('.py')}",
                        f"# Given, as in {file}: nothing to complete here.\n\n{given}", locked=True)
        self.done.append(name)
        yield _cell("code", f"stub-{name}", stub.take(name), solution=True)
        for part in dict.fromkeys(c.part for c in self.checks):
            if self.function_of(part) == name:
                yield from self.check_cells(part)

    def without_circle(self, given: str) -> str:
        """The code without imports from other files that the notebook replaces."""
        files = "|".join(re.escape(f.removesuffix(".py")) for f in self.solution.students)
        return re.sub(rf"^from (?:{files}) import .*\n", "", given, flags=re.MULTILINE)

    def function_of(self, part: str) -> str | None:
        """The function that a part's points are for: flash_fwd for flash_fwd_fa1."""
        fitting = [f for f in self.solution.functions if f"{part}_".startswith(f"{f}_")]
        return max(fitting, key=len, default=None)

    def check_cells(self, part: str) -> Iterator[Cell]:
        """A cell that judges the part's public checks, and one for its hidden ones."""
        call = ["from autograder.kit.cell import check_cell", ""]
        public, hidden = (sum(c.points for c in self.checks if c.part == part and c.hidden == h)
                          for h in (False, True))
        if public:
            yield _cell("code", f"check-{part}", "\n".join(
                [*call, f'check_cell("{part}", globals())']), points=public)
        if hidden:
            yield _cell("code", f"hidden-{part}", "\n".join(
                [f"# Hidden checks of {part}: {hidden:g} points, judged when this is graded.",
                 BEGIN, *call, f'check_cell("{part}", globals(), hidden=True)', END]),
                points=hidden)

    @property
    def figures(self) -> dict[str, list[str]]:
        """Figure of plots.py -> the students' functions that it takes."""
        tree = ast.parse(self.solution.sources.get(FIGURES, ""))
        return {f.name: [a.arg for a in f.args.args] for f in tree.body
                if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}

    def figure(self, name: str) -> Cell:
        """A cell that draws a figure with the notebook's functions."""
        arguments = ", ".join(self.figures[name])
        return {"cell_type": "code", "id": f"figure-{name}", "metadata": {},
                "source": f"import plots\n\nplots.{name}({arguments})"}


class Stub:
    """A file that students fill in, cut into the functions with a region and what it gives."""

    def __init__(self, stub: str, source: str):
        self.lines = stub.splitlines()
        tree = ast.parse(stub)
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.marked = {n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)
                       and regions("\n".join(source.splitlines()[n.lineno - 1: n.end_lineno + 1]))}
        left = {f.name: f for f in self.functions.values()
                if f.name in self.marked or self._used(f) & self.marked}
        own = [tree.body[0]] if ast.get_docstring(tree) else []
        taken = {number for node in [*own, *left.values()] for number in self._span(node)}
        self.given = _tidy([line for number, line in enumerate(self.lines, 1)
                            if number not in taken])

    def take(self, name: str) -> str:
        """A function's text, and that of the private ones with a region that it uses."""
        helpers = self._used(self.functions[name]) & self.marked - {name}
        texts = [self._text(self.functions[n]) for n in self.functions
                 if n == name or (n in helpers and n.startswith("_"))]
        return "\n\n\n".join(texts)

    def _used(self, function: ast.FunctionDef) -> set[str]:
        return {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}

    def _span(self, node: ast.stmt) -> range:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return range(first, node.end_lineno + 1)

    def _text(self, node: ast.stmt) -> str:
        span = self._span(node)
        return "\n".join(self.lines[span.start - 1: span.stop - 1])


def _tidy(lines: list[str]) -> str:
    """The lines with at most two blank ones on end."""
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")


# --- the file's format ----------------------------------------------------------------------------


def _cell(kind: str, name: str, source: str, points: float = 0, locked: bool = False,
          solution: bool = False) -> Cell:
    """A cell with nbgrader's metadata, schema 3: no key may be added, none left out."""
    grade = bool(points)
    about = {"grade": grade, "grade_id": name, "locked": locked or grade, "schema_version": 3,
             "solution": solution, "task": False}
    if grade:
        about["points"] = float(points)
    return {"cell_type": kind, "id": name, "metadata": {"nbgrader": about}, "source": source}


def _for_students(cell: Cell) -> Cell:
    """The cell as nbgrader hands it out: no hidden region, locked, with its checksum."""
    if "nbgrader" not in cell["metadata"]:
        return cell
    region = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
    source = region.sub("", cell["source"])
    source = source[:-1] if source != cell["source"] else source  # the line break before it
    about = cell["metadata"]["nbgrader"]
    metadata: dict[str, Any] = {"deletable": False, "nbgrader": {
        **about, "cell_type": cell["cell_type"], "checksum": _checksum(cell, source)}}
    if not about["solution"]:
        metadata["editable"] = False
    return {**cell, "metadata": metadata, "source": source}


def _checksum(cell: Cell, source: str) -> str:
    """What nbgrader compares to see whether a cell was changed."""
    about = cell["metadata"]["nbgrader"]
    parts = [source, cell["cell_type"], about["grade"], about["solution"],
             about["locked"], about["grade_id"], *([about["points"]] if about["grade"] else [])]
    return hashlib.md5("".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def _file(cells: list[Cell]) -> bytes:
    """A notebook of format 4.5 without outputs, written as Jupyter writes it."""
    run = {"execution_count": None, "outputs": []}
    whole = [{**cell, **(run if cell["cell_type"] == "code" else {}),
              "source": cell["source"].splitlines(keepends=True)} for cell in cells]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": whole, "nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False,
                      separators=(",", ": "))
    return text.encode() + b"\n"
