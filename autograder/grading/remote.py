"""
The submission as checks see it when a grader asks: every function runs in a worker of its own.

So a function that hangs, dies or spoils its process costs the checks that call it and no others.
Public checks are judged before hidden ones, and nothing that a worker says after that is shown.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from typing import Any

from autograder.grading.nursery import Nursery, NurseryEnded
from autograder.grading.worker import Died, Output, Worker, ending
from autograder.kit import border
from autograder.kit.calls import ArgumentsAfter, PeakMemory, Request, Run
from autograder.kit.check import NotJudged
from autograder.kit.lab import FRAMES, CallFailed, Lab, raised
from autograder.worker import limits

LOADING = 512 << 10  # bytes that loading a submission, and its first call, may add to a process
CALLING = 256 << 10  # and a larger call after that: buffers of the BLAS library, for one
UNSEEN = 256 << 10  # and what the kernel, which counts by the page and now and then, may miss
AT_REST = 64 << 20  # bytes that a worker may hold on to while others are asked
MEMORY = " (memory)"  # ends the key of a worker whose memory is measured
TRIES = 2  # of a request, should the nursery end


class RemoteLab(Lab):
    """
    One submission, run by workers of a nursery.

    Args:
        setup: what a worker needs: sources, names, preload, numpy, scratch, uid, trust
        answers: the parsed answers.toml, or the reason why there is none
        problems: wanted file -> why it can't be used
        compiled: file -> its code, where that is known; else a worker of its own compiles
    """

    def __init__(self, nursery: Nursery, setup: dict, answers: dict[str, Any] | str,
                 problems: dict[str, str], compiled: dict[str, bytes] | None = None):
        super().__init__()
        self._nursery = nursery
        self._setup = setup
        self._answers = answers
        self._problems = problems
        self._workers: dict[str, Worker] = {}
        self._running = ""
        self._compiled = compiled
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
        try:
            for name in list(self._workers):
                self._end(name)
            self._nursery.sweep()
        except NurseryEnded:
            self._start_over()
            self._nursery.sweep()

    def _ask(self, request: Request) -> Any:
        name = self._name(request)
        self._refuse(name)
        measured = isinstance(request, PeakMemory)
        key = name + MEMORY if measured else name
        for _ in range(TRIES):
            try:
                try:
                    return self._answer(key, request)
                except Died as death:
                    raise self._failure(name, key, death) from None
            except NurseryEnded:  # its workers with it
                self._start_over()
        raise NotJudged("the grader broke: tell staff, this is not your score")

    def _answer(self, key: str, request: Request) -> Any:
        self._let_run(key)
        if isinstance(request, PeakMemory):
            return self._peak_memory(key, request)
        answer = self._value(self._workers[key], request, limits.CALL_SECONDS)
        expected = len(request.calls) if isinstance(request, Run) else \
            len(request.call.args) + len(request.call.kwargs)
        return _sequence(answer, expected)

    def _failure(self, name: str, key: str, death: Died) -> CallFailed:
        status = self._end(key)
        _empty(self._setup["scratch"])
        if death.status == "timeout":
            self._hangs[name] += 1
        text = f"{str(death) or ending(status)}, in {name}"
        return CallFailed(death.status, ("got", text), status=death.status)

    def _start_over(self) -> None:
        """With a new nursery, and none of the workers that ended with the old one."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._nursery.restart()

    def _let_run(self, key: str) -> None:
        """This worker runs, and no other: what one left running can't disturb another's call."""
        if self._running != key and self._running in self._workers:
            self._rest(self._running)
        self._running = key
        if key in self._workers:
            self._workers[key].resume()
        else:
            self._workers[key] = self._start(key)

    def _rest(self, key: str) -> None:
        worker = self._workers[key]
        try:
            now = worker.memory()
        except Died:
            self._end(key)
            return
        held = now["VmRSS"] - worker.at_rest["VmRSS"]
        if held > AT_REST or now["Threads"] > worker.at_rest["Threads"]:
            self._end(key)
        else:
            worker.stop()

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

    def _start(self, key: str) -> Worker:
        setup = self._setup | {"measured": key.endswith(MEMORY), "compiled": self._compiled or {}}
        worker = Worker(self._nursery, setup, self.outputs)
        self.protections = worker.protections
        if self._compiled is None:
            worker = self._compile(worker, setup)
        return worker

    def _compile(self, worker: Worker, setup: dict) -> Worker:
        """A worker like this one, once the submission is compiled, if it can be."""
        try:
            self._compiled = worker.compile()
            if not setup["measured"]:
                return worker
        except Died:
            self._compiled = {}
        worker.end()
        return Worker(self._nursery, setup | {"compiled": self._compiled}, self.outputs)

    def _value(self, worker: Worker, request: Request, seconds: float) -> Any:
        seconds = min(seconds, max(0.1, self._until - time.monotonic()))
        tree, buffers = border.take_apart(request)
        header, parts = worker.ask({"request": tree}, buffers, seconds)
        try:
            if "value" in header:
                return border.put_together(header["value"], parts)
            if "not_plain" in header:
                raise border.NotPlain(_text(header["not_plain"], 500))
            raise _raised(header)
        except border.NotPlain as reason:
            raise CallFailed("not plain", ("got", str(reason))) from None

    def _peak_memory(self, key: str, request: PeakMemory) -> list:
        """
        [what the call returns, the most bytes it held]: all that its process has grown by as seen
        from outside, while that is within the limit; else what can't be explained otherwise, or
        the worker's word, whichever is more.

        The word is of a second call: to trace a loop of pure Python takes more memory than the
        loop, and that must not be seen from outside. What the first call returns counts, so that
        nothing is gained by doing other work when traced.
        """
        worker = self._workers[key]
        if _held(worker) > LOADING or not worker.forget_peak():
            self._end(key)
            worker = self._workers[key] = self._start(key)
        self._value(worker, Run((request.warm_up,)), limits.MEMORY_CALL_SECONDS)
        worker.forget_peak()
        before = worker.memory()
        call = Run((request.call,))
        result = _sequence(self._value(worker, call, limits.MEMORY_CALL_SECONDS), 1)[0]
        peak = worker.memory()["VmHWM"]
        rest = worker.at_rest["VmRSS"]
        if peak - rest + UNSEEN < request.limit:
            return [result, peak - rest]
        kept = max(0, before["VmRSS"] - rest - LOADING)
        grown = peak - before["VmRSS"] - CALLING if peak > before["VmHWM"] else 0
        _, inside = self._measured(worker, request)
        return [result, max(inside, kept + grown, peak - rest - LOADING - CALLING)]

    def _measured(self, worker: Worker, request: PeakMemory) -> list:
        answer = _sequence(self._value(worker, request, limits.MEMORY_CALL_SECONDS), 2)
        if type(answer[1]) is not int or abs(answer[1]) >> 62:
            raise CallFailed("not plain", ("got", "a measurement that is none"))
        return answer

    def _end(self, name: str) -> int:
        return self._workers.pop(name).end()


def _held(worker: Worker) -> int:
    """Bytes resident beyond those that it started with."""
    return worker.memory()["VmRSS"] - worker.at_rest["VmRSS"]


def _empty(folder: str) -> None:
    """Remove what a worker that ended has left there, so that it costs no other one anything."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)


def _sequence(answer: Any, length: int) -> list:
    """The list of an answer that should be one; whatever stands in it is the check's business."""
    if not isinstance(answer, list) or len(answer) != length:
        raise CallFailed("not plain", ("got", "an answer to another question"))
    return answer


def _raised(header: dict) -> CallFailed:
    """The student's exception, from a reply that may hold anything."""
    kind, text = _text(header.get("error"), 80), _text(header.get("text"), 1000)
    frames = header.get("frames")
    frames = [tuple(_text(part, 200) for part in frame) for frame in frames[-FRAMES:]
              if isinstance(frame, list) and len(frame) == 4] if isinstance(frames, list) else []
    limit = next((f" ({said})" for name, part, said in _limits()
                  if kind.endswith(name) and part in text), "")
    status = "memory" if kind.endswith("MemoryError") else "graded"
    return raised(kind, text + limit, frames, status=status)


def _limits() -> list[tuple[str, str, str]]:
    """(an exception's name, what its text holds, the limit of which this is the sign)."""
    return [
        ("MemoryError", "", f"the limit is {limits.MEMORY_BYTES >> 20} MiB"),
        ("RuntimeError", "can't start new thread", f"the limit is {limits.PROCESSES} threads"),
        ("OSError", "File too large", f"the limit is {limits.FILE_BYTES >> 20} MiB for a file"),
        ("OSError", "Too many open files", f"the limit is {limits.OPEN_FILES} open files"),
        ("ModuleNotFoundError", "", "the grader has numpy, Python's own modules and the files that "
                                    "were handed in"),
        ("PermissionError", "", "a submission gets no processes, no network, and no files but "
                                "plain ones in the folder it runs in"),
    ]


def _text(part: Any, room: int) -> str:
    return str(part)[:room] if isinstance(part, (str, int)) else ""
