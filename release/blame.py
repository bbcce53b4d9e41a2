"""
Says which file that people write is at fault: one line and what to do, never a traceback.

Checks, references and figures are Python that the build runs; an error in them is a typing mistake
of their author, whatever its type. An error of the build's own code stays a traceback: it is a bug.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from autograder.kit.errors import KitError
from autograder.kit.lab import CallFailed

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ("autograder/checks/", "autograder/mistakes/", "solutions/", "release/terms/")
ASKS_THE_TERM = ("/reference.py", "/figures.py")
FIGURES = "it works with the term's figures and the solution: look there, too; "
AGAIN = "mend that, then run the command again; the old release is whole"


def blamed(error: Exception) -> KitError | None:
    """The error as a tool error; None when nothing that people write or own is at fault."""
    if isinstance(error, KitError):
        return error if error.__cause__ is None else blamed(error.__cause__)
    if isinstance(error, OSError) and error.filename:
        return KitError(f"{shown_path(error.filename)}: {error.strerror}", AGAIN)
    if isinstance(error, SyntaxError) and _written(error.filename):
        return KitError(f"{shown_path(error.filename)}:{error.lineno}: {error.msg}", AGAIN)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _written(frame.filename):
            file = shown_path(frame.filename)
            text = "; ".join(" ".join(line.split()) for line in str(error).splitlines())
            what = ("the solution does something else: " if isinstance(error, CallFailed)
                    else f"{type(error).__name__}: ")
            return KitError(f"{file}:{frame.lineno}: {what}{text}",
                            FIGURES + AGAIN if file.endswith(ASKS_THE_TERM) else AGAIN)
    return None


def text_of(path: Path) -> str:
    """The text of a file that people write; KitError with the line when it is not UTF-8."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise KitError(f"{shown_path(path)}:{line}: byte {data[error.start]:#04x} is not UTF-8",
                       "save the file as UTF-8") from None


def _written(path: str | None) -> bool:
    return bool(path) and shown_path(path).startswith(WRITTEN)


def shown_path(path: str | Path) -> str:
    """A path below the project as people type it there; another one as it is."""
    try:
        return Path(path).resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return str(path)
