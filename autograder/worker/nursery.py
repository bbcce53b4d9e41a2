"""
A fork server: a fresh interpreter that loads numpy once and forks one worker after another.

Run as a script with `-s -S -B` and next to no environment, so that neither it nor a worker ever
holds a path, a value or a descriptor of the grader's. Orders come over a socket, one JSON line
each; a spawn order brings the worker's channel, stdout and stderr as descriptors.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import stat
import sys
import time
from typing import NoReturn

ORDER = 64 << 10  # bytes of one order
LATER = ("numpy.ma", "concurrent.futures.thread", "encodings.latin_1", "encodings.utf_16", "mmap")
# what numpy and Python load when they are first asked: no longer possible for a worker that is
# another user where only root may read the interpreter


def main(control_fd: int, folder: str, numpy_home: str) -> NoReturn:
    """Serve orders until the grader closes the socket; then end every worker."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the grader does with it
    here = sys.path.pop(0)
    sys.path.append(os.path.dirname(os.path.dirname(here)))
    from autograder.worker import confine, serve

    sys.path.pop()
    confinement = confine.prepare(confine.readable_paths(numpy_home))
    control = socket.socket(fileno=control_fd)
    alive: set[int] = set()
    while True:
        data, fds = _next_order(control)
        if not data:
            break
        order = json.loads(data)
        if "load" in order:
            _load_numpy(numpy_home)
            reply = {}
        elif "reap" in order:
            alive.discard(order["reap"])
            reply = {"status": _end(order["reap"], order["gone"])}
        elif "signal" in order:
            os.kill(order["signal"], order["number"])
            reply = {}
        elif "sweep" in order:
            _kill_user(order["sweep"])
            reply = {}
        else:
            if order["numpy"]:
                _load_numpy(numpy_home)
            try:
                pid = _fork(control, fds, confinement, serve)
            except OSError as error:  # no more processes, no more memory
                reply = {"error": str(error)}
            else:
                alive.add(pid)
                reply = {"pid": pid}
        try:
            control.sendall(json.dumps(reply).encode() + b"\n")
        except ConnectionError:
            break
    for pid in alive:
        _end(pid)
    if os.path.isdir(folder):  # a grader that was killed has left it
        importlib.import_module("shutil").rmtree(folder, ignore_errors=True)
    os._exit(0)  # the grader waits, and there is nothing to tidy up


def _next_order(control: socket.socket) -> tuple[bytes, list[int]]:
    """Nothing when the grader has closed the socket, or was killed before it read a reply."""
    try:
        data, fds, _, _ = socket.recv_fds(control, ORDER, 3)
    except ConnectionError:
        return b"", []
    return data, fds


def _load_numpy(home: str) -> None:
    if "numpy" in sys.modules:
        return
    gc.disable()  # hardly anything of this is ever freed
    sys.path.append(home)
    import numpy as np

    sys.path.remove(home)
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS sets itself up before the first fork
    importlib.import_module("tracemalloc")
    if os.geteuid() == 0 and not _open_to_all(os.__file__):
        for name in LATER:
            importlib.import_module(name)
    gc.freeze()  # the workers' collector leaves shared pages alone
    gc.enable()


def _open_to_all(file: str) -> bool:
    """Whether every user may read the file, by the folders above it."""
    folder = os.path.dirname(os.path.realpath(file))
    while os.stat(folder).st_mode & stat.S_IXOTH:
        if folder == os.path.dirname(folder):
            return True
        folder = os.path.dirname(folder)
    return False


def _fork(control: socket.socket, fds: list[int], confinement, serve) -> int:
    try:
        pid = os.fork()
        if pid == 0:
            try:
                control.close()
                serve.serve(*fds, confinement)
            finally:
                os._exit(70)
    finally:
        for fd in fds:
            os.close(fd)
    return pid


def _end(pid: int, gone: bool = False) -> int:
    """Kill the worker; its wait status, its own when it is `gone` by itself."""
    done = status = 0
    for _ in range(20 if gone else 1):  # one that closed its channel is about to end by itself
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.005 if gone else 0)
    if not done:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return status


def _kill_user(uid: int) -> None:
    """Kill whatever runs as that user: what a worker may have left where nothing forbids it."""
    broom = os.fork()
    if broom == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(broom, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
