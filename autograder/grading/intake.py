"""
What a student handed in, as source texts by module name, with every decision in a sentence.

A folder, a zip, a module or a notebook is read into memory; nothing of it is run. Files are taken
by name; when a name is missing the one sensible reading is looked for (another folder, another
letter case, a copy's name, the file that defines the function), and when there is none the student
is told what was looked for and what was found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading.archive import Box, listed, open_box, shown
from autograder.grading.source import (
    LARGEST,
    Unreadable,
    decode,
    functions_defined,
    is_stub_file,
    size,
    unfinished,
)
from autograder.grading.wanted import Wanted
from autograder.kit.errors import KitError
from autograder.kit.questions import FILE as ANSWERS

if TYPE_CHECKING:  # a submission without a notebook needs none of that
    from autograder.grading.notebook import Notebook

LARGEST_ANSWERS = 8 << 10  # bytes; reading TOML may take time and memory that grow by their square
MOST_SOURCES = 300  # modules of one submission
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


# How much a file's name is that of a wanted file; less is more.
NAMED, OTHER_CASE, SIMILAR, BY_CONTENT = range(4)


@dataclass(frozen=True, order=True)
class _Candidate:
    likeness: int
    depth: int
    path: str

    @property
    def folder(self) -> str:
        return _folder(self.path)


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _name(path: str) -> str:
    """The last part, without the .txt that a mail program or a browser added."""
    name = path.rpartition("/")[2].strip()
    return name[:-4] if re.search(r"\.(py|toml|ipynb)\.txt$", name, re.IGNORECASE) else name


def _squash(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


class _Intake:
    """One submission being read."""

    def __init__(self, box: Box, wanted: Wanted):
        self.box = box
        self.wanted = wanted
        self.notes = [*box.notes]
        self.problems: dict[str, str] = {}
        self._texts: dict[str, str | Unreadable] = {}
        self.python = [p for p in box.files if _name(p).lower().endswith(".py")]
        self.notebooks = [p for p in box.files if re.search(r"\.ipynb(\.json)?$", _name(p).lower())]

    def submission(self) -> Submission:
        found = {file: self._candidates(file) for file in self.wanted.students}
        for file in self.wanted.students:
            if not found[file]:
                found[file] = self._by_content(file)
        root = self._root(found)
        used = {}
        for file in self.wanted.students:
            if path := self._pick(file, found[file], root):
                used[file] = path
        sources = {file: self.text(path) for file, path in used.items()}
        if self.notebooks:
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

    # Reading

    def text(self, path: str) -> str:
        """The text of a module that can be read."""
        found = self._try_text(path)
        assert isinstance(found, str), path
        return found

    def _try_text(self, path: str) -> str | Unreadable:
        if path not in self._texts:
            self._texts[path] = self._decoded(path, LARGEST)
        return self._texts[path]

    def _decoded(self, path: str, limit: int) -> str | Unreadable:
        try:
            text, encoding = decode(self.box.read(path, limit), limit)
        except Unreadable as error:
            return error
        if encoding:
            self.notes.append(f"{shown(path)} is not UTF-8; it was read as {encoding}")
        return text

    # Finding the files

    def _candidates(self, file: str) -> list[_Candidate]:
        """The files whose name is that of the wanted file, or a copy's of it."""
        found = []
        functions = set(self.wanted.functions_of(file))
        for path in self.python:
            name = _name(path)
            if name == file:
                likeness = NAMED if path.endswith(file) else SIMILAR
            elif name.casefold() == file.casefold():
                likeness = OTHER_CASE
            elif _squash(file[:-3]) in _squash(name[:-3]) and self._defines(path, functions):
                likeness = SIMILAR
            else:
                continue
            found.append(_Candidate(likeness, path.count("/"), path))
        return sorted(found)

    def _by_content(self, file: str) -> list[_Candidate]:
        """The files of any name that define the wanted file's functions; the ones with most."""
        functions = set(self.wanted.functions_of(file))
        defined = {path: len(self._defines(path, functions)) for path in self._nearest(self.python)}
        most = max(defined.values(), default=0)
        found = [path for path, n in defined.items() if most and n == most]
        return sorted(_Candidate(BY_CONTENT, path.count("/"), path) for path in found)

    def _defines(self, path: str, functions: set[str]) -> set[str]:
        text = self._try_text(path)
        return functions & functions_defined(text) if isinstance(text, str) else set()

    def _nearest(self, paths: Iterable[str]) -> list[str]:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:MOST_SOURCES]

    def _root(self, found: dict[str, list[_Candidate]]) -> str:
        """The folder with most of the wanted files; among equals one that is filled in, then the
        one nearest to the top."""
        supply: dict[str, dict[str, _Candidate]] = {}
        for file, candidates in found.items():
            for candidate in candidates:
                supply.setdefault(candidate.folder, {}).setdefault(file, candidate)
        if not supply:
            return ""
        most = max(len(files) for files in supply.values())
        best = sorted(
            (folder for folder, files in supply.items() if len(files) == most),
            key=lambda folder: (folder.count("/"), folder),
        )
        if len(best) == 1 or self._all_equal(supply[folder] for folder in best):
            return best[0]
        written = [folder for folder in best if not self._untouched(supply[folder])]
        root = (written or best)[0]
        others = listed((folder or "the top folder" for folder in best if folder != root), 3)
        stubs = " (the stubs as they were handed out)" if root != best[0] else ""
        self.notes.append(
            f"the lab's files were found more than once; those in {shown(root) or 'the top folder'}"
            f" are used, not those in {others}{stubs}"
        )
        return root

    def _all_equal(self, supplies: Iterable[dict[str, _Candidate]]) -> bool:
        texts = [{f: self._try_text(c.path) for f, c in files.items()} for files in supplies]
        return all(text == texts[0] for text in texts)

    def _untouched(self, files: dict[str, _Candidate]) -> bool:
        texts = {file: self._try_text(candidate.path) for file, candidate in files.items()}
        return all(
            isinstance(text, str) and is_stub_file(text, self.wanted.functions_of(file))
            for file, text in texts.items()
        )

    def _pick(self, file: str, candidates: list[_Candidate], root: str) -> str | None:
        """The path of the one candidate that is meant; None, with a problem, when that is open."""
        here = [c for c in candidates if c.folder == root]
        elsewhere = [c for c in candidates if c.folder != root] if here else []
        if here and (here[0].likeness != BY_CONTENT or self._has_names(root)):
            candidates = here
        readable: dict[str, _Candidate] = {}  # by text: equal copies are one
        for candidate in candidates:
            text = self._try_text(candidate.path)
            if isinstance(text, str):
                readable.setdefault(text, candidate)
        if not readable:
            if candidates:
                path = candidates[0].path
                self.problems[file] = f"{shown(path)} {self._texts[path]}"
            return None
        first = self._least_untouched(file, readable)
        rivals = [
            c
            for c in readable.values()
            if c != first and c.likeness == first.likeness and not self._is_untouched(file, c)
        ]
        if first.likeness != NAMED and rivals:
            paths = listed(sorted(c.path for c in (first, *rivals)))
            self.problems[file] = (
                f"{file} was looked for; found instead, and it is not clear which is meant: {paths}"
            )
            return None
        self._say_which(file, first, [c for c in readable.values() if c != first], elsewhere)
        return first.path

    def _has_names(self, root: str) -> bool:
        """Does a wanted file lie in this folder under its own name?"""
        return any(root + file in self.box.files for file in self.wanted.students)

    def _least_untouched(self, file: str, readable: dict[str, _Candidate]) -> _Candidate:
        """The best name; but a stub gives way to a file in which more has been written."""
        ranked = sorted(readable.values())
        first = ranked[0]
        if len(ranked) > 1 and self._is_untouched(file, first):
            left = unfinished(self.text(first.path))
            ranked = [c for c in ranked[1:] if unfinished(self.text(c.path)) < left] or [first]
        return ranked[0]

    def _is_untouched(self, file: str, candidate: _Candidate) -> bool:
        return is_stub_file(self.text(candidate.path), self.wanted.functions_of(file))

    def _say_which(
        self, file: str, used: _Candidate, others: list[_Candidate], elsewhere: list[_Candidate]
    ):
        path = shown(used.path)
        if used.likeness == BY_CONTENT:
            functions = sorted(self._defines(used.path, set(self.wanted.functions_of(file))))
            self.notes.append(f"{path} defines {' and '.join(functions)} and is used as {file}")
        elif used.likeness != NAMED:
            self.notes.append(f"{path} is used as {file}")
        if not others:
            others = [c for c in elsewhere if c.likeness == NAMED and not self._same(c, used)]
        if others:
            stub = all(self._is_untouched(file, c) for c in others if self._readable(c))
            why = ", still the stub" if stub and used.likeness >= others[0].likeness else ""
            self.notes.append(
                f"{path} is used for {file}, not {listed((c.path for c in others), 3)}{why}"
            )

    def _same(self, one: _Candidate, other: _Candidate) -> bool:
        return self._try_text(one.path) == self._try_text(other.path)

    def _readable(self, candidate: _Candidate) -> bool:
        return isinstance(self._try_text(candidate.path), str)

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
            name = shown(self._nearest(self.notebooks)[0])
            self.notes.append(
                f"{both}; the modules are used, not {name}, because {written[0]} is filled in"
            )
            return sources, used, root
        about_modules = slice(len(self.box.notes), len(self.notes))
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
        return dict(notebook.sources), {}, _folder(path)

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
        from autograder.grading.cells import LARGEST_NOTEBOOK
        from autograder.grading.notebook import Notebook, read_notebook

        read = {}
        for path in self._nearest(self.notebooks)[:MOST_NOTEBOOKS]:
            text = self._decoded(path, LARGEST_NOTEBOOK)
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
                f"{len(self.notebooks)} notebooks were handed in; {shown(ranked[0])} is used: it "
                f"defines {functions} of the {len(self.wanted.functions)} functions, "
                f"{len(read[ranked[0]].written)} of them filled in"
            )
        return ranked[0], read[ranked[0]]

    # What is not there, and what comes along

    def _refuse_missing(self, sources: dict[str, str]):
        missing = [f for f in self.wanted.students if f not in sources and f not in self.problems]
        for file in missing:
            self.problems[file] = self._looked_for(file)
        if missing and not sources and self.python and len(missing) == len(self.wanted.students):
            self.notes.append(
                f"none of the files of {self.wanted.lab} was found: is this another lab's work?"
            )

    def _looked_for(self, file: str) -> str:
        files = self._nearest(self.box.files)
        files.sort(key=lambda path: not _name(path).lower().endswith((".py", ".ipynb", ".toml")))
        found = listed(files) if files else "nothing"
        refused = [
            f"{shown(path)} {reason}"
            for path, reason in self.box.refused.items()
            if _name(path).casefold() == file.casefold() or not files
        ]
        return "; ".join([f"{file} was looked for; found: {found}", *refused[:3]])

    def _say_where(self, used: dict[str, str], root: str):
        if root and any(path.startswith(root) for path in used.values()):
            self.notes.append(f"the lab's files were found in {shown(root)}")
        for file, path in used.items():
            if _folder(path) != root:
                where = shown(_folder(path)) or "the top folder"
                self.notes.append(f"{file} was found in {where}")

    def _add_companions(self, sources: dict[str, str], used: dict[str, str], root: str):
        """The student's other modules, under the names by which the wanted ones import them."""
        if not sources:
            return
        room = LARGEST_SOURCES - sum(map(len, sources.values()))
        wanted = {file.removesuffix(".py") for file in self.wanted.students}
        given = {file.removesuffix(".py") for file in self.wanted.given}
        for folder in dict.fromkeys([root, *map(_folder, used.values())]):
            for path in self._nearest(p for p in self.python if p.startswith(folder)):
                key = f"{_folder(path)[len(folder) :]}{_name(path)[:-3]}.py"
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
                text = self._try_text(path)
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
        tools = {path[len(there) :]: path for path in self.python if path.startswith(there)}
        changed = [
            f"autograder/{name}"
            for name, own in sorted(_own_tools().items())
            if name in tools and self._try_text(tools[name]) != own
        ]
        if changed:
            self.notes.append(
                f"not as in this release, so the grader used its own: {listed(changed, 3)}"
            )

    def _answers(self, root: str) -> str | None:
        """The text of answers.toml, from the files' own folder if it is there."""
        ranked = []
        for path in self.box.files:
            name = _name(path)
            if name == ANSWERS:
                likeness = NAMED if path.endswith(ANSWERS) else SIMILAR
            elif name.casefold() == ANSWERS:
                likeness = OTHER_CASE
            elif name.lower().endswith(".toml") and "answers" in _squash(name[:-5]):
                likeness = SIMILAR
            else:
                continue
            ranked.append((_folder(path) != root, likeness, path.count("/"), path))
        if not ranked:
            self.problems[ANSWERS] = self._looked_for(ANSWERS)
            return None
        ranked.sort()
        elsewhere, likeness, depth, path = ranked[0]
        rivals = [r[3] for r in ranked if r[:3] == (elsewhere, likeness, depth)]
        if len(rivals) > 1 and likeness != NAMED:
            self.problems[ANSWERS] = (
                f"{ANSWERS} was looked for; found instead, and it is not clear which is meant: "
                f"{listed(rivals)}"
            )
            return None
        text = self._decoded(path, LARGEST_ANSWERS)
        if isinstance(text, Unreadable):
            self.problems[ANSWERS] = f"{shown(path)} {text}"
            return None
        if likeness != NAMED:
            self.notes.append(f"{shown(path)} is used as {ANSWERS}")
        elif elsewhere:
            self.notes.append(f"{ANSWERS} was found in {shown(_folder(path)) or 'the top folder'}")
        return text


@cache
def _own_tools() -> dict[str, str]:
    """The files of autograder/ that students are given too, as they are here."""
    package = Path(__file__).parents[1]
    paths = [*package.glob("kit/*.py"), *package.glob("checks/*/public.py")]
    return {p.relative_to(package).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def _importable(key: str) -> bool:
    return all(part.isidentifier() for part in key.removesuffix(".py").split("/"))
