"""
The submission as a check sees it: `lab.flash_fwd(...)` runs the student's function.

Lab is the interface; LocalLab runs modules or a notebook in this process. The grader's own lab,
which asks a confined worker, is elsewhere. Whatever a function returns comes back as plain data.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.kit import border, evaluate
from autograder.kit.calls import ArgumentsAfter, Call, PeakMemory, Request, Run, call, describe
from autograder.kit.check import Failed


class CallFailed(Failed):
    """A student's function gave no plain result; `error` is the exception's name or the reason."""

    def __init__(self, error: str, *lines: tuple[str, str], status: str = "graded"):
        super().__init__(*lines, status="not implemented" if error == TODO else status)
        self.error = error


TODO = "NotImplementedError"
FRAMES = 3  # of a student's traceback that are shown


class Lab:
    """The functions of one submission."""

    call = call

    def __init__(self):
        self.last: Call | None = None  # the call to show when a check fails
        self._known: dict[tuple[int, ...], tuple[list[Call], list]] = {}

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.run(Call(name, args, kwargs))

    def run(self, call: Call) -> Any:
        """What the call returns."""
        return self.run_all([call])[0]

    def run_all(self, calls: list[Call]) -> list:
        """What the calls return, taken after the last of them has run."""
        self.last = calls[-1]
        return self._ask(Run(tuple(calls)))

    def run_once(self, calls: list[Call]) -> list:
        """run_all of calls that stay the same: asked once, however often somebody wants to know."""
        key = tuple(map(id, calls))
        if key not in self._known:
            self._known[key] = calls, self.run_all(calls)
        return self._known[key][1]

    def arguments_after(self, call: Call) -> list:
        """The arguments of the call as it left them."""
        self.last = call
        return self._ask(ArgumentsAfter(call))

    def peak_memory(self, call: Call, warm_up: Call, limit: float) -> tuple[Any, int]:
        """(what the call returns, the most extra bytes it held at once), which is measured well
        enough to say whether it is within the limit; warmed up before."""
        self.last = call
        result, peak = self._ask(PeakMemory(call, warm_up, limit))
        return result, peak

    @property
    def answers(self) -> dict[str, Any]:
        """The written answers, by key; an unanswered one is "TODO"."""
        raise NotImplementedError

    def _ask(self, request: Request) -> Any:
        raise NotImplementedError

    def inputs(self) -> str:
        """The last call in one line."""
        return describe(self.last) if self.last else ""


class LocalLab(Lab):
    """A submission in this process: no limits, no confinement; the student's own machine."""

    def __init__(self, look_up: Callable[[str], Any], answers: Callable[[], dict[str, Any]]):
        super().__init__()
        self._look_up = look_up
        self._answers = answers

    @property
    def answers(self) -> dict[str, Any]:
        return self._answers()

    def _ask(self, request: Request) -> Any:
        copy = border.put_together(*border.take_apart(request))  # the call's own arguments
        try:
            value = evaluate.evaluate(copy, self._look_up)
            return border.put_together(*border.take_apart(value))
        except CallFailed:  # there was nothing to call
            raise
        except border.NotPlain as error:
            raise CallFailed("not plain", ("got", str(error))) from None
        except Exception as error:
            raise raised(type(error).__name__, str(error), _own_frames(error)) from error


def raised(kind: str, text: str, frames: list[tuple[str, int, str, str]],
           status: str = "graded") -> CallFailed:
    """
    A student's exception as they see it.

    Args:
        frames: file, line, function and source of the frames of their own it came through
    """
    lines = [f"{kind}: {text}"]
    for file, line, function, source in frames[-FRAMES:]:
        where = f"{file}:{line}" + (f" in {function}" if function else "")
        lines.append(where if kind == TODO else f"{where}: {source.strip()}")
    return CallFailed(kind, ("got", "\n".join(lines)), status=status)


def _own_frames(error: BaseException) -> list[tuple[str, int, str, str]]:
    """The student's own frames; where the text could not even be compiled, its place."""
    if isinstance(error, SyntaxError) and error.filename:
        return [(_file(error.filename), error.lineno or 0, "", error.text or "")]
    return [(_file(f.filename), f.lineno or 0, f.name, f.line or "")
            for f in traceback.extract_tb(error.__traceback__)
            if not (f.filename.startswith(OTHERS) or "-packages" in f.filename)]


OTHERS = ("<frozen ", str(Path(__file__).parent), sysconfig.get_path("stdlib"))  # files' beginnings


def _file(name: str) -> str:
    path = Path(name)
    return "cell" if path.parent.name.startswith("ipykernel") else path.name


def modules_look_up(names: dict[str, str]) -> Callable[[str], Any]:
    """Finds the lab's objects by importing the module that `names` says holds each."""

    def look_up(name: str) -> Any:
        module = names[name]
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
        raise CallFailed("missing", ("got", f"{module}.py was looked for; found: {_here()}"),
                         status="missing")

    return look_up


def _here() -> str:
    """The modules in the folder that the first one is imported from."""
    folder = Path(sys.path[0] or ".")
    return ", ".join(sorted(p.name for p in folder.glob("*.py"))) or "nothing"
