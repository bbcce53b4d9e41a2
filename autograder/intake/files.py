"""The files of a submission as texts, each read once; not here: which of them is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autograder.intake.archive import Box, shown
from autograder.intake.source import LARGEST, Unreadable, decode

MOST_SOURCES = 300  # modules of one submission
EXPORTED = re.compile(r"^# In ?\[[ \d*]*\]:[ \t]*$", re.MULTILINE)  # Jupyter's line above a cell


class Files:
    """
    The files in a box.

    Args:
        notes: where it is told what is odd about a text
    """

    def __init__(self, box: Box, notes: list[str]):
        self.box = box
        self.notes = notes
        self.python = [p for p in box.files if name_of(p).lower().endswith(".py")]
        self.notebooks = [p for p in box.files
                          if name_of(p).lower().endswith((".ipynb", ".ipynb.json"))]
        self._texts: dict[str, str | Unreadable] = {}

    def tell_notebooks(self):
        """Count those that were saved as Python among the notebooks."""
        for path in self.nearest(self.python):
            text = self.text(path)
            if isinstance(text, str) and EXPORTED.search(text):
                self.python.remove(path)
                self.notebooks.append(path)

    def text(self, path: str) -> str | Unreadable:
        """The text of a module, or why it can't be read."""
        if path not in self._texts:
            self._texts[path] = self.decoded(path, LARGEST)
        return self._texts[path]

    def decoded(self, path: str, limit: int) -> str | Unreadable:
        """The text of a file of up to `limit` bytes, in whatever encoding."""
        try:
            text, encoding = decode(self.box.read(path, limit), limit)
        except Unreadable as error:
            return error
        if encoding:
            self.notes.append(f"{shown(path)} is not UTF-8; it was read as {encoding}")
        return text

    def nearest(self, paths: Iterable[str]) -> list[str]:
        """The paths from the top down, as many as are looked at."""
        return sorted(paths, key=lambda path: (path.count("/"), path))[:MOST_SOURCES]


def folder_of(path: str) -> str:
    """The folder with its slash; "" for the top."""
    return path[: path.rfind("/") + 1]


def name_of(path: str) -> str:
    """The last part, without the .txt that a mail program or a browser added."""
    name = path.rpartition("/")[2].strip()
    return name[:-4] if re.search(r"\.(py|toml|ipynb)\.txt$", name, re.IGNORECASE) else name


def squash(name: str) -> str:
    """What is left of a name that somebody wrote in another way."""
    return re.sub(r"[\W_]+", "", name.casefold())
