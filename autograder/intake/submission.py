"""
What a student handed in, as source texts by module name, with every decision in a sentence.

A folder, a zip, a module or a notebook is read into memory; nothing of it is run. Files are taken
by name; when a name is missing the one sensible reading is looked for (another folder, another
letter case, a copy's name, the file that defines the function), and when there is none the student
is told what was looked for and what was found.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.intake.archive import Box, listed, open_box, shown
from autograder.intake.candidates import NAMED, Search, likeness
from autograder.intake.files import MOST_SOURCES, Files, folder_of, name_of
from autograder.intake.source import (
    Unreadable,
    functions_defined,
    is_stub_file,
    size,
    unfinished,
)
from autograder.intake.wanted import Wanted
from autograder.kit.errors import KitError
from autograder.kit.questions import FILE as ANSWERS

if TYPE_CHECKING:  # a submission without a notebook needs none of that
    from autograder.intake.notebook import Notebook

LARGEST_ANSWERS = 8 << 10  # bytes; reading TOML may take time and memory that grow by their square
LARGEST_SOURCES = 8 << 20  # characters of all of them
MOST_NOTEBOOKS = 10  # that are read to find the one with the functions
MOST_NOTES = 20
TOOLS = {"autograder", "conftest"}  # what students are given to check themselves with
NOT_REPLACED = {"numpy"}  # packages that no submission brings along


@dataclass(frozen=True)
class Submission:
    """What of a submission is graded."""

    sources: dict[str, str] = field(default_factory=dict)  # "flash_forward.py" -> its text
    answers: str | None = None  # the text of answers.toml
    notes: tuple[str, ...] = ()  # what was found and done, a sentence each, for the student
    problems: dict[str, str] = field(default_factory=dict)  # wanted file -> why it can't be used
    digest: str = ""  # of sources and answers: equal work, however packed, has equal digests


def read_submission(path: Path, wanted: Wanted) -> Submission:
    """
    The submission at a path; whatever a student handed in ends in notes and problems.

    Raises:
        KitError: nothing is there
    """
    try:
        box = open_box(Path(path))
    except Unreadable as error:
        why = f"was looked for, but {error}; hand in a zip, or the files themselves"
        problems = {file: f"{file} {why}" for file in (*wanted.students, ANSWERS)}
        return Submission(problems=problems, digest=_digest({}, None))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "there can be no such path"
        raise KitError(
            f"{shown(str(path))}: {reason}",
            "give the path of a submission: a folder, a zip, a module or a notebook",
        ) from None
    try:
        return _Intake(box, wanted).submission()
    finally:
        box.close()


def _digest(sources: dict[str, str], answers: str | None) -> str:
    whole = hashlib.sha256()
    for name, text in sorted(sources.items()):
        _add(whole, name)
        _add(whole, text)
    if answers is not None:
        _add(whole, ANSWERS)
        _add(whole, answers)
    return whole.hexdigest()


def _add(whole, text: str):
    data = text.encode("utf-8", "surrogatepass")
    whole.update(b"%d:" % len(data) + data)


class _Intake:
    """One submission being read."""

    def __init__(self, box: Box, wanted: Wanted):
        self.wanted = wanted
        self.notes = [*box.notes]
        self.problems: dict[str, str] = {}
        self.files = Files(box, self.notes)

    def submission(self) -> Submission:
        used, root = Search(self.files, self.wanted, self.notes, self.problems).found()
        sources = {file: self.files.text(path) for file, path in used.items()}
        if self.files.notebooks:
            sources, used, root = self._with_notebook(sources, used, root)
        self._refuse_missing(sources)
        self._say_where(used, root)
        self._add_companions(sources, used, root)
        answers = self._answers(root)
        self._say_changed_tools(root)
        notes = list(dict.fromkeys(self.notes))
        if len(notes) > MOST_NOTES:
            notes[MOST_NOTES - 1 :] = [f"and {len(notes) - MOST_NOTES + 1} more remarks"]
        return Submission(sources, answers, tuple(notes), self.problems, _digest(sources, answers))

    # Notebooks

    def _with_notebook(self, sources, used, root) -> tuple[dict[str, str], dict[str, str], str]:
        """The sources, from the notebook when it is what the student worked in."""
        written = [
            file
            for file, text in sources.items()
            if not is_stub_file(text, self.wanted.functions_of(file))
        ]
        both = "both a notebook and modules were handed in"
        if written:
            name = shown(self.files.nearest(self.files.notebooks)[0])
            self.notes.append(
                f"{both}; the modules are used, not {name}, because {written[0]} is filled in"
            )
            return sources, used, root
        about_modules = slice(len(self.files.box.notes), len(self.notes))
        path, notebook = self._notebook(sources)
        name = shown(path)
        if sources or self.problems:
            if why := self._why_modules(sources, notebook):
                self.notes.append(f"{both}; the modules are used, not {name}, because {why}")
                return sources, used, root
            self.notes.append(f"{both}; {name} is used, because the modules are still the stubs")
        elif notebook.sources:
            self.notes.append(f"the functions were taken from the notebook {name}")
        del self.notes[about_modules]
        self.notes.extend(notebook.notes)
        self.problems = dict(notebook.problems)
        return dict(notebook.sources), {}, folder_of(path)

    def _why_modules(self, sources: dict[str, str], notebook: Notebook) -> str:
        """Why modules in which no function is filled in are used all the same; "" if they are not.

        A function that rests on a helper counts as a stub until all its helpers are written, so
        somebody may have filled in a helper on either side.
        """
        left = set().union(*(unfinished(text) for text in sources.values()))
        defined = set().union(*(functions_defined(text) for text in sources.values()))
        if not notebook.sources:
            return next(iter(notebook.problems.values()), "it defines none of the functions")
        if ahead := (notebook.unfinished - left) & defined:
            return f"{min(ahead)} is filled in there"
        if notebook.written or (left - notebook.unfinished) & notebook.defined:
            return ""
        return "neither is filled in"

    def _notebook(self, beside: dict[str, str]) -> tuple[str, Notebook]:
        """The notebook in which most functions are written, then most are defined."""
        from autograder.intake.cells import LARGEST_NOTEBOOK
        from autograder.intake.notebook import Notebook, read_notebook

        read = {}
        for path in self.files.nearest(self.files.notebooks)[:MOST_NOTEBOOKS]:
            text = self.files.decoded(path, LARGEST_NOTEBOOK)
            name = f"the notebook {shown(path)}"
            if isinstance(text, str):
                read[path] = read_notebook(text, self.wanted, beside, name)
            else:
                problem = f"{name} {text}"
                read[path] = Notebook(problems=dict.fromkeys(self.wanted.students, problem))
        ranked = sorted(
            read,
            key=lambda path: (
                -len(read[path].written),
                -len(read[path].defined & set(self.wanted.functions)),
                len(read[path].unfinished),
                len(path),
                path,
            ),
        )
        if len(ranked) > 1:
            functions = len(read[ranked[0]].defined & set(self.wanted.functions))
            self.notes.append(
                f"{len(self.files.notebooks)} notebooks were handed in; {shown(ranked[0])} is "
                f"used: it defines {functions} of the {len(self.wanted.functions)} functions, "
                f"{len(read[ranked[0]].written)} of them filled in"
            )
        return ranked[0], read[ranked[0]]

    # What is not there, and what comes along

    def _refuse_missing(self, sources: dict[str, str]):
        missing = [f for f in self.wanted.students if f not in sources and f not in self.problems]
        for file in missing:
            self.problems[file] = self._looked_for(file)
        none = not sources and len(missing) == len(self.wanted.students)
        if none and self.files.python:
            self.notes.append(
                f"none of the files of {self.wanted.lab} was found: is this another lab's work?"
            )

    def _looked_for(self, file: str) -> str:
        files = self.files.nearest(self.files.box.files)
        files.sort(key=lambda path: not name_of(path).lower().endswith((".py", ".ipynb", ".toml")))
        found = listed(files) if files else "nothing"
        refused = [
            f"{shown(path)} {reason}"
            for path, reason in self.files.box.refused.items()
            if name_of(path).casefold() == file.casefold() or not files
        ]
        return "; ".join([f"{file} was looked for; found: {found}", *refused[:3]])

    def _say_where(self, used: dict[str, str], root: str):
        if root and any(path.startswith(root) for path in used.values()):
            self.notes.append(f"the lab's files were found in {shown(root)}")
        for file, path in used.items():
            if folder_of(path) != root:
                where = shown(folder_of(path)) or "the top folder"
                self.notes.append(f"{file} was found in {where}")

    def _add_companions(self, sources: dict[str, str], used: dict[str, str], root: str):
        """The student's other modules, under the names by which the wanted ones import them."""
        if not sources:
            return
        room = LARGEST_SOURCES - sum(map(len, sources.values()))
        wanted = {file.removesuffix(".py") for file in self.wanted.students}
        given = {file.removesuffix(".py") for file in self.wanted.given}
        for folder in dict.fromkeys([root, *map(folder_of, used.values())]):
            for path in self.files.nearest(p for p in self.files.python if p.startswith(folder)):
                key = f"{folder_of(path)[len(folder) :]}{name_of(path)[:-3]}.py"
                top = key.removesuffix(".py").partition("/")[0]
                if key in sources or top in wanted | TOOLS or not _importable(key):
                    continue
                if top in given:
                    if "/" not in key:
                        self.notes.append(f"a copy of {key} was handed in; the kit's own is used")
                    continue
                if top in NOT_REPLACED:
                    self.notes.append(f"{shown(path)} was handed in; the real {top} is used")
                    continue
                text = self.files.text(path)
                if isinstance(text, Unreadable):
                    self.notes.append(f"{shown(path)} is not used: it {text}")
                elif len(sources) >= MOST_SOURCES or len(text) > room:
                    self.notes.append(
                        f"more than {MOST_SOURCES} modules, or {size(LARGEST_SOURCES)} of them, "
                        f"were handed in; {shown(path)} and what follows is not used"
                    )
                    return
                else:
                    sources[key] = text
                    room -= len(text)

    def _say_changed_tools(self, root: str):
        """Which of the kit's own files were handed in changed; the grader has its own."""
        there = f"{root}autograder/"
        tools = {path[len(there) :]: path for path in self.files.python if path.startswith(there)}
        changed = [
            f"autograder/{name}"
            for name, own in sorted(_own_tools().items())
            if name in tools and self.files.text(tools[name]) != own
        ]
        if changed:
            self.notes.append(
                f"not as in this release, so the grader used its own: {listed(changed, 3)}"
            )

    def _answers(self, root: str) -> str | None:
        """The text of answers.toml, from the files' own folder if it is there."""
        ranked = sorted((folder_of(path) != root, like, path.count("/"), path)
                        for path in self.files.box.files
                        if (like := likeness(path, ANSWERS)) is not None)
        if not ranked:
            self.problems[ANSWERS] = self._looked_for(ANSWERS)
            return None
        elsewhere, like, depth, path = ranked[0]
        rivals = [r[3] for r in ranked if r[:3] == (elsewhere, like, depth)]
        if len(rivals) > 1 and like != NAMED:
            self.problems[ANSWERS] = (
                f"{ANSWERS} was looked for; found instead, and it is not clear which is meant: "
                f"{listed(rivals)}"
            )
            return None
        text = self.files.decoded(path, LARGEST_ANSWERS)
        if isinstance(text, Unreadable):
            self.problems[ANSWERS] = f"{shown(path)} {text}"
            return None
        if like != NAMED:
            self.notes.append(f"{shown(path)} is used as {ANSWERS}")
        elif elsewhere:
            where = shown(folder_of(path)) or "the top folder"
            self.notes.append(f"{ANSWERS} was found in {where}")
        return text


@cache
def _own_tools() -> dict[str, str]:
    """The files of autograder/ that students are given too, as they are here."""
    package = Path(__file__).parents[1]
    paths = [*package.glob("kit/*.py"), *package.glob("checks/*/public.py")]
    return {p.relative_to(package).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def _importable(key: str) -> bool:
    return all(part.isidentifier() for part in key.removesuffix(".py").split("/"))
