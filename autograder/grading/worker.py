"""
The grader's end of a worker: start, ask, measure, end.

Everything that a worker sends is bounded and checked; its death is an answer like any other.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path

from autograder.grading.nursery import Nursery
from autograder.kit import border
from autograder.worker import limits

START_SECONDS = 30  # for a worker to be ready
LOOK_SECONDS = 0.1  # between two looks into the scratch folder
STATUS = Path("/proc/self/status")
FIELDS = {"VmRSS": 10, "VmHWM": 10, "Threads": 0}  # name -> the unit, as a shift


class Died(Exception):
    """The worker gave no answer: `status` is timeout, memory or crashed, the text says what."""

    def __init__(self, status: str, text: str):
        super().__init__(text)
        self.status = status


class Output:
    """What a worker prints on one stream: its head and its tail."""

    def __init__(self):
        self.head = bytearray()
        self.tail = bytearray()
        self.seen = 0

    def add(self, data: bytes) -> None:
        room = limits.OUTPUT_BYTES // 2
        self.seen += len(data)
        take = max(0, room - len(self.head))
        self.head += data[:take]
        self.tail = (self.tail + data[take:])[-room:]

    def text(self) -> str:
        """The kept output, with what was left out in numbers."""
        left = self.seen - len(self.head) - len(self.tail)
        gap = f"\n... {left} bytes left out ...\n".encode() if left else b""
        return bytes(self.head + gap + self.tail).decode("utf-8", "replace")


class Worker:
    """One confined process that holds one submission."""

    def __init__(self, nursery: Nursery, setup: dict, outputs: tuple[Output, Output]):
        self.nursery = nursery
        self.outputs = outputs
        self.scratch = setup["scratch"]
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        (out, out_w), (err, err_w) = os.pipe(), os.pipe()
        self.pipes = {out: outputs[0], err: outputs[1]}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        self.count = 0
        self.gone = self.stopped = False
        try:
            reply = nursery.order({"numpy": setup["numpy"]}, (theirs.fileno(), out_w, err_w))
            if "pid" not in reply:
                raise RuntimeError(f"a worker did not start: {reply['error']}")
            self.pid = reply["pid"]
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()
            os.close(out_w)
            os.close(err_w)
        self._watch_from_now()
        try:
            data = [text.encode("utf-8", "replace") for text in setup["sources"].values()]
            data += setup["compiled"].values()
            about = setup | {name: list(setup[name]) for name in ("sources", "compiled")}
            self._send(border.frame(about, data), START_SECONDS)
            self.protections = self._receive(START_SECONDS)[0]["ready"]
            self.at_rest = self.memory()
        except Died as death:  # nothing of the submission has run yet
            raise RuntimeError(f"a worker did not start: {death}, {ending(self.end())}") from None

    def compile(self) -> dict[str, bytes]:
        """
        The code of the submission's files, but for those that can't be compiled, for workers that
        come after this one; nothing of the submission has run in it yet, and none of it runs here.
        """
        self._send(border.frame({"compile": True}, []), limits.CALL_SECONDS)
        header, data = self._receive(limits.CALL_SECONDS)
        return dict(zip(header["compiled"], data, strict=True))

    def ask(self, tree: dict, buffers: list[bytes], seconds: float) -> tuple[dict, list[bytes]]:
        """The worker's reply to a request; Died when there is none in time."""
        self.count += 1
        self._watch_from_now()
        deadline = time.monotonic() + seconds
        self._send(border.frame({**tree, "id": self.count}, buffers), seconds)
        header, parts = self._receive(deadline - time.monotonic(), seconds)
        if header.get("id") != self.count:
            raise Died("crashed", "the process sent something that is no answer")
        return header, parts

    def memory(self) -> dict[str, int]:
        """Bytes resident now and at the peak, and the threads; 0 where no system tells."""
        if not STATUS.exists():
            return dict.fromkeys(FIELDS, 0)
        try:
            text = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8", errors="replace")
            fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            return {name: int(fields[name].split()[0]) << shift for name, shift in FIELDS.items()}
        except (OSError, LookupError, ValueError):  # it has just ended
            self.gone = True
            raise Died("crashed", "") from None

    def stop(self) -> None:
        """Let it stand still: whatever it left running does nothing until `resume`."""
        if not self.stopped:
            self.nursery.order({"signal": self.pid, "number": signal.SIGSTOP})
            self.stopped = True

    def resume(self) -> None:
        """Let it go on."""
        if self.stopped:
            self.nursery.order({"signal": self.pid, "number": signal.SIGCONT})
            self.stopped = False

    def forget_peak(self) -> bool:
        """Measure the peak from here on; True if it does, which another user's worker refuses."""
        if self.count == 0:
            return True
        try:
            Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="utf-8")
        except OSError:
            return False
        return True

    def end(self) -> int:
        """Kill the process; its wait status."""
        for fd in list(self.pipes):
            self._drain(fd)
        self.close()
        return self.nursery.order({"reap": self.pid, "gone": self.gone})["status"]

    def close(self) -> None:
        """Close the grader's ends alone."""
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        self.channel.close()

    def _send(self, data: bytes, seconds: float) -> None:
        view, deadline = memoryview(data), time.monotonic() + seconds
        while view:
            try:
                view = view[self.channel.send(view):]
            except BlockingIOError:
                self._wait(deadline, seconds, writing=True)
            except OSError:
                self.gone = True
                raise Died("crashed", "") from None

    def _receive(self, seconds: float, limit: float | None = None) -> tuple[dict, list[bytes]]:
        deadline = time.monotonic() + seconds
        limit = limit or seconds
        try:
            head, payload = border.frame_lengths(self._exactly(border.LENGTHS, deadline, limit))
            return border.open_frame(self._exactly(head, deadline, limit),
                                     self._exactly(payload, deadline, limit))
        except border.NotPlain as reason:
            raise Died("crashed", f"the process sent {reason}") from None

    def _exactly(self, count: int, deadline: float, limit: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            if time.monotonic() > deadline:
                raise Died("timeout", _too_slow(limit))
            try:
                piece = self.channel.recv(min(count - len(data), 1 << 20))
            except BlockingIOError:
                self._wait(deadline, limit)
                continue
            except OSError:
                piece = b""
            if not piece:
                self.gone = True
                raise Died("crashed", "")
            data += piece
        return bytes(data)

    def _wait(self, deadline: float, limit: float, writing: bool = False) -> None:
        """Until the channel is ready; meanwhile outputs are drained and limits watched."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Died("timeout", _too_slow(limit))
        reading = [self.channel, *self.pipes]
        ready, _, _ = select.select(reading, [self.channel] if writing else [], [], min(left, 0.1))
        for fd in ready:
            if isinstance(fd, int):
                self._drain(fd)
        if sum(o.seen for o in self.outputs) > self.flood:
            raise Died("crashed", f"more than {limits.FLOOD_BYTES >> 20} MiB were printed, "
                                  "the limit of one call")
        if time.monotonic() > self.look_again:
            self._watch_scratch()

    def _drain(self, fd: int) -> None:
        for _ in range(64):
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                return
            if not data:
                self.pipes.pop(fd)
                os.close(fd)
                return
            self.pipes[fd].add(data)

    def _watch_from_now(self) -> None:
        """What is printed, and what lies in the scratch folder, counts for one call."""
        self.flood = sum(o.seen for o in self.outputs) + limits.FLOOD_BYTES
        self.look_again = time.monotonic() + LOOK_SECONDS

    def _watch_scratch(self) -> None:
        size = count = 0
        with contextlib.suppress(OSError), os.scandir(self.scratch) as entries:
            for entry in entries:
                count += 1
                size += _size(entry)
                if size > limits.SCRATCH_BYTES or count > limits.SCRATCH_FILES:
                    raise Died("crashed", f"more than {limits.SCRATCH_FILES} files or "
                                          f"{limits.SCRATCH_BYTES >> 20} MiB were written, the "
                                          "limit")
        self.look_again = time.monotonic() + LOOK_SECONDS


def _size(entry: os.DirEntry) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0  # removed since


def _too_slow(limit: float) -> str:
    return f"no answer within {limit:g} s, the limit of one call"


def ending(status: int) -> str:
    """How a process ended, in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else number
        return f"the process was ended by signal {name}"
    return f"the process ended itself with exit code {os.waitstatus_to_exitcode(status)}"
