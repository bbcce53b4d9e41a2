"""
Which of a submission's files is meant by each wanted one: by name, by a name like it, by content.

A stub gives way to work; what stays open between two files is a problem of that file alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.intake.archive import listed, shown
from autograder.intake.files import Files, folder_of, name_of, squash
from autograder.intake.source import functions_defined, is_stub_file, unfinished
from autograder.intake.wanted import Wanted

# How much a file's name is that of a wanted file; less is more.
NAMED, OTHER_CASE, SIMILAR, BY_CONTENT = range(4)


@dataclass(frozen=True, order=True)
class Candidate:
    """A file that may be meant; the best is the least."""

    likeness: int
    depth: int
    path: str

    @property
    def folder(self) -> str:
        return folder_of(self.path)


def likeness(path: str, file: str) -> int | None:
    """How much the path's name is that of the wanted file; None when it is not at all."""
    name, ending = name_of(path), file[file.rindex("."):]
    if name == file:
        return NAMED if path.endswith(file) else SIMILAR
    if name.casefold() == file.casefold():
        return OTHER_CASE
    like = squash(file.removesuffix(ending)) in squash(name[: -len(ending)])
    return SIMILAR if like and name.lower().endswith(ending) else None


class Search:
    """
    The search for the files that students fill in.

    Args:
        notes, problems: where it is told what was found, and for which file what is wrong
    """

    def __init__(self, files: Files, wanted: Wanted, notes: list[str], problems: dict[str, str]):
        self.files = files
        self.wanted = wanted
        self.notes = notes
        self.problems = problems

    def found(self) -> tuple[dict[str, str], str]:
        """(wanted file -> the path that is meant, the folder with most of them)."""
        candidates = {file: self._candidates(file) or self._by_content(file)
                      for file in self.wanted.students}
        root = self._root(candidates)
        used = {file: path for file in self.wanted.students
                if (path := self._pick(file, candidates[file], root))}
        return used, root

    def _candidates(self, file: str) -> list[Candidate]:
        """The files whose name is that of the wanted file, or a copy's of it."""
        found = []
        functions = set(self.wanted.functions_of(file))
        for path in self.files.python:
            like = likeness(path, file)
            alone = like == SIMILAR and name_of(path) != file  # its name alone is not enough
            if like is not None and not (alone and not self._defines(path, functions)):
                found.append(Candidate(like, path.count("/"), path))
        return sorted(found)

    def _by_content(self, file: str) -> list[Candidate]:
        """The files of any name that define the wanted file's functions; the ones with most."""
        self.files.tell_notebooks()
        functions = set(self.wanted.functions_of(file))
        defined = {path: len(self._defines(path, functions))
                   for path in self.files.nearest(self.files.python)}
        most = max(defined.values(), default=0)
        found = [path for path, n in defined.items() if most and n == most]
        return sorted(Candidate(BY_CONTENT, path.count("/"), path) for path in found)

    def _defines(self, path: str, functions: set[str]) -> set[str]:
        text = self.files.text(path)
        return functions & functions_defined(text) if isinstance(text, str) else set()

    def _root(self, found: dict[str, list[Candidate]]) -> str:
        """The folder with most of the wanted files; among equals one that is filled in, then the
        one nearest to the top."""
        supply: dict[str, dict[str, Candidate]] = {}
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

    def _all_equal(self, supplies: Iterable[dict[str, Candidate]]) -> bool:
        texts = [{f: self.files.text(c.path) for f, c in files.items()} for files in supplies]
        return all(text == texts[0] for text in texts)

    def _untouched(self, files: dict[str, Candidate]) -> bool:
        texts = {file: self.files.text(candidate.path) for file, candidate in files.items()}
        return all(
            isinstance(text, str) and is_stub_file(text, self.wanted.functions_of(file))
            for file, text in texts.items()
        )

    def _pick(self, file: str, candidates: list[Candidate], root: str) -> str | None:
        """The path of the one candidate that is meant; None, with a problem, when that is open."""
        here = [c for c in candidates if c.folder == root]
        elsewhere = [c for c in candidates if c.folder != root] if here else []
        if here and (here[0].likeness != BY_CONTENT or self._has_names(root)):
            candidates = here
        readable: dict[str, Candidate] = {}  # by text: equal copies are one
        for candidate in candidates:
            text = self.files.text(candidate.path)
            if isinstance(text, str):
                readable.setdefault(text, candidate)
        if not readable:
            if candidates:
                path = candidates[0].path
                self.problems[file] = f"{shown(path)} {self.files.text(path)}"
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
        return any(root + file in self.files.box.files for file in self.wanted.students)

    def _least_untouched(self, file: str, readable: dict[str, Candidate]) -> Candidate:
        """The best name; but a stub gives way to a file in which more has been written."""
        ranked = sorted(readable.values())
        first = ranked[0]
        if len(ranked) > 1 and self._is_untouched(file, first):
            left = unfinished(self.files.text(first.path))
            ranked = [c for c in ranked[1:]
                      if unfinished(self.files.text(c.path)) < left] or [first]
        return ranked[0]

    def _is_untouched(self, file: str, candidate: Candidate) -> bool:
        return is_stub_file(self.files.text(candidate.path), self.wanted.functions_of(file))

    def _say_which(
        self, file: str, used: Candidate, others: list[Candidate], elsewhere: list[Candidate]
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

    def _same(self, one: Candidate, other: Candidate) -> bool:
        return self.files.text(one.path) == self.files.text(other.path)

    def _readable(self, candidate: Candidate) -> bool:
        return isinstance(self.files.text(candidate.path), str)
