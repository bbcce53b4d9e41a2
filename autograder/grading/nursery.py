"""
The grader's end of the nursery, the fork server in which all workers of a grader begin.

One user, one folder and one process at a time belong to it, and end with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from autograder.kit.errors import KitError
from autograder.worker import confine, limits

ORDER_SECONDS = 60  # for a nursery's reply; it loads numpy within one
NURSERY = Path(__file__).parents[1] / "worker" / "nursery.py"
CLEAN = {  # all of the environment; hashes are the same in every worker, and so is a set's order
    "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


class NurseryEnded(Exception):
    """The fork server is gone, or gives no answer; `Nursery.restart` makes a new one."""


class Nursery:
    """One fork server process, whose workers have a user of their own when the grader is root."""

    def __init__(self):
        self.uid, self.claim = _own_user() if confine.available().uids else (None, None)
        self.folder = tempfile.mkdtemp(prefix="grading-")
        os.chmod(self.folder, 0o711)
        self._launch()

    def _launch(self) -> None:
        self.control, theirs = socket.socketpair()
        self.control.settimeout(ORDER_SECONDS)
        home = str(Path(find_spec("numpy").origin).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-s", "-S", "-B", "-X", "utf8", str(NURSERY), str(theirs.fileno()),
             self.folder, home],
            pass_fds=[theirs.fileno()], env=CLEAN, cwd="/", stdin=subprocess.DEVNULL,
            start_new_session=True)
        theirs.close()
        self.replies = self.control.makefile("rb")
        self.asked = self.loading = False

    def load_numpy(self) -> None:
        """Have it loaded while the grader goes on, because workers will need it."""
        with contextlib.suppress(NurseryEnded):  # the next order will tell
            self._send({"load": "numpy"})
            self.loading = True

    def order(self, message: dict, fds: tuple[int, ...] = ()) -> dict:
        """Send one order, with descriptors, and wait for its reply."""
        if self.asked:
            raise NurseryEnded("somebody stopped waiting for its last reply")
        self.asked = True
        if self.loading:
            self._reply()
            self.loading = False
        self._send(message, fds)
        reply = self._reply()
        self.asked = False
        return reply

    def _send(self, message: dict, fds: tuple[int, ...] = ()) -> None:
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], list(fds))
        except OSError as error:
            raise NurseryEnded(str(error)) from None

    def _reply(self) -> dict:
        try:
            line = self.replies.readline()
        except OSError as error:
            raise NurseryEnded(str(error)) from None
        if not line:
            raise NurseryEnded("it closed its socket")
        return json.loads(line)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        """A folder that one submission may write to, gone afterwards."""
        inner = tempfile.mkdtemp(dir=self.folder)
        if self.uid is not None:
            os.chown(inner, self.uid, self.uid)
        try:
            yield inner
        finally:
            shutil.rmtree(inner, ignore_errors=True)

    def restart(self) -> None:
        """Take a new process; the workers of the old one end with it."""
        self.process.kill()
        self._end()
        self._launch()

    def sweep(self) -> None:
        """Once a submission's workers have ended: end what they may have started."""
        if self.uid is not None:
            self.order({"sweep": self.uid})

    def close(self) -> None:
        """End the nursery and every worker it still has."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._end()
        if self.claim:
            self.claim.close()

    def _end(self) -> None:
        self.control.close()
        self.replies.close()
        try:
            self.process.wait(ORDER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


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
