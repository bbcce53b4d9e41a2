"""
Grader processes of this machine: each keeps a warm Grader and grades what it is handed.

Whatever happens to one, every submission comes back with a complete result, and when the process
that started them ends, they end too.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from autograder.classroom.submissions import Handed
from autograder.grading import results
from autograder.grading.grade import Grader, refuse_unconfined
from autograder.kit.release import Release, release_of
from autograder.kit.run import planned
from autograder.worker import limits

INTERRUPT = {signal.SIGINT}
SECONDS = 2 * limits.SUBMISSION_SECONDS  # after which a grader that says nothing is given up


class Steady:
    """A Grader whose every submission gets a result; one that broke is replaced."""

    def __init__(self, lab: str, trust: bool):
        self.make: Callable[[], Grader] = lambda: Grader(release_of(lab), trust)
        self.grader = self.make()

    def text(self, path: Path) -> str:
        """The submission's results.json."""
        try:
            return results.as_text(self.grader.grade(path).content)
        except Exception:  # staff's fault, never the batch's end
            release = self.grader.release
            self.close()
            self.grader = self.make()
            return broken(release, traceback.format_exc())

    def close(self) -> None:
        """End the grader."""
        self.grader.close()


def broken(release: Release, why: str) -> str:
    """The results.json of a submission that could not be graded, through no fault of its own."""
    nothing = planned(release.checks, 0, "the grader broke: tell staff, this is not your score")
    staff = {"seed": 0, "digest": "", "error": why[-4000:]}
    return results.as_text(results.as_gradescope(nothing, release.about, [], staff, 0.0))


def graded(release: Release, todo: Iterable[Handed], workers: int, trust: bool
           ) -> Iterator[tuple[Handed, str]]:
    """(submission, its results.json) as they are done, by so many processes."""
    refuse_unconfined(trust)
    scratch = Path(tempfile.mkdtemp(prefix="regrade-"))
    scratch.chmod(0o711)
    waiting, busy = iter(todo), {}
    hands = [_Hand(release, trust, scratch) for _ in range(workers)]
    try:
        idle = list(hands)
        while True:
            while idle and (handed := next(waiting, None)):
                hand = idle.pop()
                hand.give(handed)
                busy[hand.connection] = hand
            if not busy:
                break
            for connection in wait(list(busy), timeout=1) or _overdue(busy):
                hand = busy.pop(connection)
                yield hand.handed, hand.take()
                idle.append(hand)
        for hand in hands:
            hand.dismiss()
    finally:
        for hand in hands:
            hand.end()
        shutil.rmtree(scratch, ignore_errors=True)


def _overdue(busy: dict[Connection, _Hand]) -> list[Connection]:
    return [c for c, hand in busy.items() if time.monotonic() > hand.until]


class _Hand:
    """One grader process and what it has been handed."""

    def __init__(self, release: Release, trust: bool, scratch: Path):
        self.release = release
        self.settings = (release.lab, trust, scratch)
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # nothing of this process is in it
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, *self.settings), daemon=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT)  # until it can ignore it
        self.process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
        theirs.close()

    def give(self, handed: Handed) -> None:
        self.handed = handed
        self.until = time.monotonic() + SECONDS
        try:
            self.connection.send(handed.path)
        except OSError:
            pass  # it has ended: `take` finds out

    def take(self) -> str:
        """The result; when there is none, the process is replaced."""
        try:
            if self.connection.poll():
                return self.connection.recv()
            why = f"the grader gave no answer within {SECONDS} s"
        except (EOFError, OSError):
            self.process.join()
            why = f"the grader process ended with exit code {self.process.exitcode}"
        self.end()
        self._start()
        return broken(self.release, why)

    def dismiss(self) -> None:
        """There is nothing left to do: it ends by itself."""
        self.connection.close()
        self.process.join(limits.CALL_SECONDS)

    def end(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _serve(connection: Connection, lab: str, trust: bool, scratch: Path) -> None:
    """Grade the paths that come, one after the other; the body of a grader process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that hands out
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
    threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True).start()
    tempfile.tempdir = str(scratch)
    steady = Steady(lab, trust)
    while True:
        try:
            path = connection.recv()
        except EOFError:
            break
        connection.send(steady.text(path))
    steady.close()


def _end_with_parent(scratch: Path) -> None:
    multiprocessing.parent_process().join()
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)
