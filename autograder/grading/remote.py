"""
The submission as checks see it when a grader asks: every function runs in a worker of its own.

So a function that hangs, dies or spoils its process costs the checks that call it and no others.
Public checks are judged before hidden ones, and nothing that a worker says after that is shown.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from autograder.grading.intake import imported_modules
from autograder.grading.process import Died, Nursery, Output, Worker, ending
from autograder.kit import border
from autograder.kit.calls import ArgumentsAfter, PeakMemory, Request
from autograder.kit.check import NotJudged
from autograder.kit.lab import CallFailed, Lab, raised
from autograder.worker import limits

ALLOWANCE = 1 << 20  # bytes that loading a submission and calling it may add, seen from outside
CODE = 4 << 20  # bytes of library code that a first call may bring into memory


class RemoteLab(Lab):
    """
    One submission, run by workers of a nursery.

    Args:
        setup: what a worker needs: sources, names, preload, numpy, scratch, uid, trust
        answers: the parsed answers.toml, or the reason why there is none
        problems: wanted file -> why it can't be used
    """

    def __init__(self, nursery: Nursery, setup: dict, answers: dict[str, Any] | str,
                 problems: dict[str, str]):
        super().__init__()
        self._nursery = nursery
        self._setup = setup
        self._answers = answers
        self._problems = problems
        self._workers: dict[str, Worker] = {}
        self._hangs: Counter[str] = Counter()
        self._until = time.monotonic() + limits.SUBMISSION_SECONDS
        self.outputs = (Output(), Output())
        self.protections: list[str] = []

    @property
    def answers(self) -> dict[str, Any]:
        if isinstance(self._answers, str):
            raise CallFailed("missing", ("got", self._answers), status="missing")
        return self._answers

    def close(self) -> None:
        """End all workers."""
        for name in list(self._workers):
            self._end(name)
        self._nursery.sweep()

    def _ask(self, request: Request) -> Any:
        name = self._name(request)
        self._refuse(name)
        measured = isinstance(request, PeakMemory)
        key = f"{name} (memory)" if measured else name
        try:
            if key not in self._workers:
                self._workers[key] = self._start()
            if measured:
                return self._peak_memory(key, request)
            return self._value(self._workers[key], request, limits.CALL_SECONDS)
        except Died as death:
            status = self._end(key)
            if death.status == "timeout":
                self._hangs[name] += 1
            text = f"{str(death) or ending(status)}, in {name}"
            raise CallFailed(death.status, ("got", text), status=death.status) from None

    def _name(self, request: Request) -> str:
        if isinstance(request, (ArgumentsAfter, PeakMemory)):
            return request.call.name
        return request.calls[-1].name

    def _refuse(self, name: str) -> None:
        if time.monotonic() > self._until:
            raise NotJudged(f"not reached within {limits.SUBMISSION_SECONDS:g} s, the limit of "
                            "one submission", "timeout")
        if self._hangs[name] >= limits.HANGS:
            raise CallFailed("timeout", ("got", f"{name} gave no answer within the time limit "
                                         f"{limits.HANGS} times; it is not called again"),
                             status="timeout")
        file = f"{self._setup['names'].get(name, '')}.py"
        if file in self._problems:
            raise CallFailed("missing", ("got", self._problems[file]), status="missing")

    def _start(self) -> Worker:
        worker = Worker(self._nursery, self._setup, self.outputs)
        self.protections = worker.protections
        return worker

    def _value(self, worker: Worker, request: Request, seconds: float) -> Any:
        seconds = min(seconds, max(0.1, self._until - time.monotonic()))
        tree, buffers = border.take_apart(request)
        header, parts = worker.ask({"request": tree}, buffers, seconds)
        try:
            if "value" in header:
                return border.put_together(header["value"], parts)
            if "not_plain" in header:
                raise border.NotPlain(str(header["not_plain"])[:500])
            raise _raised(header)
        except border.NotPlain as reason:
            raise CallFailed("not plain", ("got", str(reason))) from None

    def _peak_memory(self, key: str, request: PeakMemory) -> list:
        """What the worker says, and the growth of its process as seen from outside."""
        worker = self._workers[key]
        if not worker.forget_peak():
            self._end(key)
            worker = self._workers[key] = self._start()
        result = self._value(worker, request, limits.MEMORY_CALL_SECONDS)
        after = worker.memory()
        if not isinstance(result, list) or len(result) != 2 or type(result[1]) is not int:
            raise CallFailed("not plain", ("got", "a measurement that is none"))
        code = min(CODE, after["RssFile"] - worker.at_rest["RssFile"])
        outside = after["VmHWM"] - worker.at_rest["VmRSS"] - code - ALLOWANCE
        return [result[0], max(result[1], outside)]

    def _end(self, name: str) -> int:
        return self._workers.pop(name).end()


def setup_for(sources: dict[str, str], given: dict[str, str], names: dict[str, str], scratch: str,
              uid: int | None, trust: bool) -> dict:
    """
    What a worker needs to hold a submission.

    Args:
        sources: the submission's files; `given` ones take the place of theirs
        names: public name of the lab -> the module that defines it
        scratch: the folder it may write to, which belongs to user `uid`
        trust: leave it unconfined
    """
    sources = sources | given
    imported = imported_modules(sources)
    own = {name.split("/")[0].removesuffix(".py") for name in sources}
    return {"sources": sources, "names": names, "preload": sorted(imported - own),
            "numpy": "numpy" in imported, "scratch": scratch, "uid": uid, "trust": trust}


def _raised(header: dict) -> CallFailed:
    """The student's exception, from a reply that may hold anything."""
    kind, text = str(header.get("error", ""))[:80], str(header.get("text", ""))[:2000]
    frames = header.get("frames")
    frames = [tuple(str(part)[:200] for part in frame) for frame in frames
              if isinstance(frame, list) and len(frame) == 4] if isinstance(frames, list) else []
    if kind == "MemoryError":
        limit = f"{text} (the limit is {limits.MEMORY_BYTES >> 20} MiB)"
        return raised(kind, limit, frames, status="memory")
    return raised(kind, text, frames)
