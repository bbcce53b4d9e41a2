"""
The grader's end of the nursery and of its workers: start, ask, measure, end.

Everything that a worker sends is bounded and checked; its death is an answer like any other.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from autograder.kit import border
from autograder.kit.errors import KitError
from autograder.worker import confine, limits

NURSERY = Path(__file__).parents[1] / "worker" / "nursery.py"
CLEAN = {
    "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "65536",
}  # large arrays go back to the system when they are freed, so that peaks can be seen from outside


class Died(Exception):
    """The worker gave no answer: `status` is timeout, memory or crashed, the text says what."""

    def __init__(self, status: str, text: str):
        super().__init__(text)
        self.status = status


class Nursery:
    """One fork server process, whose workers have a user of their own when the grader is root."""

    def __init__(self):
        self.uid, self.claim = _own_user() if confine.available().uids else (None, None)
        self.control, theirs = socket.socketpair()
        home = str(Path(find_spec("numpy").origin).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(NURSERY), str(theirs.fileno()),
             home],
            pass_fds=[theirs.fileno()], env=CLEAN, cwd="/", stdin=subprocess.DEVNULL,
            start_new_session=True)
        theirs.close()
        self.replies = self.control.makefile("rb")

    def order(self, message: dict, fds: tuple[int, ...] = ()) -> dict:
        """Send one order, with descriptors, and wait for its reply."""
        socket.send_fds(self.control, [json.dumps(message).encode()], list(fds))
        line = self.replies.readline()
        if not line:
            raise RuntimeError("the nursery ended")
        return json.loads(line)

    def sweep(self) -> None:
        """Once a submission's workers have ended: end what they may have started."""
        if self.uid is not None:
            self.order({"sweep": self.uid})

    def close(self) -> None:
        """End the nursery and every worker it still has."""
        self.control.close()
        self.replies.close()
        self.process.wait()
        if self.claim:
            self.claim.close()


def _own_user() -> tuple[int, socket.socket]:
    """A user that no other nursery of this machine has, and the claim to it while it is open."""
    start = os.getpid()  # containers that share a kernel but not its sockets begin elsewhere
    for uid in (limits.FIRST_UID + (start + i) % limits.USERS for i in range(limits.USERS)):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0grader-{uid}")
            return uid, claim
        except OSError:
            claim.close()
    raise KitError(f"{limits.USERS} graders run on this machine", "wait until some have ended")


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
        self.flood = sum(o.seen for o in outputs) + limits.FLOOD_BYTES
        self.scratch = setup["scratch"]
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        (out, out_w), (err, err_w) = os.pipe(), os.pipe()
        self.pipes = {out: outputs[0], err: outputs[1]}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        fds = (theirs.fileno(), out_w, err_w)
        self.pid = nursery.order({"numpy": setup["numpy"]}, fds)["pid"]
        theirs.close()
        os.close(out_w)
        os.close(err_w)
        self.count = 0
        self.gone = False
        try:
            self._send(border.frame(setup, []), limits.CALL_SECONDS)
            self.protections = self._receive(limits.CALL_SECONDS)[0]["ready"]
        except Died as death:  # nothing of the submission has run yet
            raise RuntimeError(f"a worker did not start: {death}, {ending(self.end())}") from None
        self.at_rest = self.memory()

    def ask(self, tree: dict, buffers: list[bytes], seconds: float) -> tuple[dict, list[bytes]]:
        """The worker's reply to a request; Died when there is none in time."""
        self.count += 1
        deadline = time.monotonic() + seconds
        self._send(border.frame({**tree, "id": self.count}, buffers), seconds)
        header, parts = self._receive(deadline - time.monotonic(), seconds)
        if header.get("id") != self.count:
            raise Died("crashed", "the process sent something that is no answer")
        return header, parts

    def memory(self) -> dict[str, int]:
        """Bytes now resident, resident at the peak, and of these backed by files; 0 if unknown."""
        status = Path(f"/proc/{self.pid}/status")
        text = status.read_text(encoding="utf-8") if status.exists() else ""
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return {name: int(fields.get(name, "0").split()[0]) << 10
                for name in ("VmRSS", "VmHWM", "RssFile")}

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
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        self.channel.close()
        return self.nursery.order({"reap": self.pid, "gone": self.gone})["status"]

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
            raise Died("timeout", f"no answer within {limit:g} s, the limit of one call")
        reading = [self.channel, *self.pipes]
        ready, _, _ = select.select(reading, [self.channel] if writing else [], [], min(left, 0.1))
        for fd in ready:
            if isinstance(fd, int):
                self._drain(fd)
        if sum(o.seen for o in self.outputs) > self.flood:
            raise Died("crashed", f"more than {limits.FLOOD_BYTES >> 20} MiB were printed, "
                                  "the limit of one call")
        if not ready:
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

    def _watch_scratch(self) -> None:
        size = count = 0
        for entry in os.scandir(self.scratch):
            count += 1
            size += entry.stat(follow_symlinks=False).st_size
        if size > limits.SCRATCH_BYTES or count > limits.SCRATCH_FILES:
            raise Died("crashed", f"more than {limits.SCRATCH_FILES} files or "
                                  f"{limits.SCRATCH_BYTES >> 20} MiB were written, the limit")


def ending(status: int) -> str:
    """How a process ended, in words."""
    if os.WIFSIGNALED(status):
        return f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended itself with exit code {os.waitstatus_to_exitcode(status)}"
