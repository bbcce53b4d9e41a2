"""
Takes solutions out of a source: every marked region becomes a TODO and a NotImplementedError.

    # BEGIN SOLUTION: <goal>
    ...
    # END SOLUTION

A region stands in a function and reaches its end. Anything that looks like a marker but is none
stops the build: a misspelt marker would hand out the solution.
"""

from __future__ import annotations

import difflib
import re

from autograder.kit.errors import KitError

BEGIN = re.compile(r"( +)# BEGIN SOLUTION: (\S.*)")
END = re.compile(r"( +)# END SOLUTION")
EDGES = ("begin", "end")
WIDTH = 100  # characters of a line


def strip(source: str, name: str) -> str:
    """The stub of a source; KitError with file and line for a marker that is not as it must be."""
    stub: list[str] = []
    open_at = 0
    indent = ""
    ended = ""  # the indent of a region that has just ended
    for number, line in enumerate(source.splitlines(), 1):
        begin, end = BEGIN.fullmatch(line), END.fullmatch(line)
        if begin and open_at:
            raise _error(name, number, f"BEGIN SOLUTION inside the region of line {open_at}")
        if begin:
            open_at, indent = number, begin[1]
            stub += [f"{indent}# TODO: {begin[2]}", *_raise(indent, begin[2])]
        elif end and not open_at:
            raise _error(name, number, "END SOLUTION without a BEGIN SOLUTION")
        elif end and end[1] != indent:
            raise _error(name, number, f"END SOLUTION is not below the marker of line {open_at}")
        elif end:
            open_at, ended = 0, indent
        elif not begin and looks_like_a_marker(line):
            raise _error(name, number, f"looks like a solution marker but is none: {line.strip()}")
        elif ended and line.startswith(ended) and not open_at:
            raise _error(name, number, "the function goes on after END SOLUTION")
        elif not open_at:
            ended = "" if line.strip() else ended
            stub.append(line)
    if open_at:
        raise _error(name, open_at, "BEGIN SOLUTION has no END SOLUTION")
    return "\n".join(stub) + "\n"


def regions(source: str) -> list[list[str]]:
    """The lines inside each region of a well-marked source."""
    inside: list[list[str]] = []
    is_open = False
    for line in source.splitlines():
        if BEGIN.fullmatch(line):
            inside.append([])
            is_open = True
        elif END.fullmatch(line):
            is_open = False
        elif is_open:
            inside[-1].append(line)
    return inside


def looks_like_a_marker(line: str) -> bool:
    """Whether a line's comment reads like a marker, however it is spelt or placed."""
    _, _, comment = line.partition("#")
    first, *rest = [*re.sub(r"[^a-z]+", " ", comment.lower()).split()[:3], "", ""]
    apart = any(_alike(first, edge) for edge in EDGES) and any(_alike(w, "solution") for w in rest)
    joined = any(first.startswith(edge) and _alike(first.removeprefix(edge), "solution")
                 for edge in EDGES)
    return apart or joined


def _alike(word: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, word, other).ratio() > 0.75


def _raise(indent: str, goal: str) -> list[str]:
    text = f'"TODO: {_quoted(goal)}"'
    line = f"{indent}raise NotImplementedError({text})"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}raise NotImplementedError(", f"{indent}    {text}", f"{indent})"]


def _quoted(goal: str) -> str:
    return goal.replace("\\", "\\\\").replace('"', '\\"')


def _error(name: str, line: int, what: str) -> KitError:
    return KitError(f"{name}:{line}: {what}",
                    "a region is '# BEGIN SOLUTION: <goal>' to '# END SOLUTION', to its "
                    "function's end")
