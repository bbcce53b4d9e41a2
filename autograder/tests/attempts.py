"""
A small nursery for test_confine: forks a process for each attempt, confined or not.

Run as `python -I -S -B attempts.py PROJECT NUMPY_HOME BASE UID OFFERED`; one JSON line in, one out.
An attempt is source text. It finds `secret` (a file it must not read), `outside` (a folder it must
not write to) and `victim` (a process of the nursery's user), and leaves its answer in `result`.
"""

import concurrent.futures.thread  # noqa: F401  what honest code imports is here before the user changes,
import decimal  # noqa: F401  in case the interpreter is out of the other user's reach
import json
import mmap  # noqa: F401
import multiprocessing  # noqa: F401
import os
import shutil
import signal
import subprocess  # noqa: F401
import sys
import tempfile
import threading  # noqa: F401
import time
import tracemalloc  # noqa: F401
import warnings  # noqa: F401

SECONDS = 30


def main(project: str, numpy_home: str, base: str, uid: int | None, offered: list) -> None:
    sys.path.append(project)
    from autograder.worker import confine

    sys.path[-1] = numpy_home
    import numpy as np
    import numpy.fft
    import numpy.random

    sys.path.pop()
    confinement = confine.prepare(
        confine.readable_paths(numpy_home), confine.Available(*offered) if offered else None
    )
    secret, outside = os.path.join(base, "secret"), os.path.join(base, "outside")
    names = {"np": np, "os": os, "sys": sys, "time": time, "secret": secret, "outside": outside}
    for line in sys.stdin:
        attempt = json.loads(line)
        prepare_ground(secret, outside)
        scratch = tempfile.mkdtemp(dir=base)
        if uid is not None:
            os.chown(scratch, uid, uid)
        victim = os.fork()
        if victim == 0:
            signal.pause()
        names |= {"victim": victim, "parent": os.getpid(), "scratch": scratch}
        answer = run(attempt, names, confinement, uid)
        answer["victim"] = os.waitpid(victim, os.WNOHANG) == (0, 0)
        if answer["victim"]:
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
        answer["scratch"] = sorted(os.listdir(scratch))
        answer["outside"] = intact(secret, outside)
        shutil.rmtree(scratch)
        print(json.dumps(answer), flush=True)


def prepare_ground(secret: str, outside: str) -> None:
    """The secret and the folder as they are before each attempt."""
    shutil.rmtree(outside, ignore_errors=True)
    os.mkdir(outside, 0o700)
    if os.path.lexists(secret):
        os.remove(secret)
    with open(secret, "w", encoding="utf-8") as file:
        file.write("the answer")
    os.chmod(secret, 0o600)
    os.utime(secret, (1, 1))


def intact(secret: str, outside: str) -> bool:
    try:
        status = os.stat(secret)
        seen = (status.st_size, status.st_mode & 0o777, status.st_nlink, int(status.st_mtime))
    except OSError:
        return False
    return seen == (10, 0o600, 1, 1) and os.listdir(outside) == []


def run(attempt: dict, names: dict, confinement, uid: int | None) -> dict:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = {}
        try:
            if attempt["confined"]:
                answer["on"] = confinement.enter(names["scratch"], uid)
            else:
                os.chdir(names["scratch"])
            scope = dict(names)
            exec(attempt["code"], scope)
            answer["result"] = scope.get("result")
        except BaseException as error:
            answer["error"] = type(error).__name__
            answer["text"] = str(error)
        os.write(write_end, json.dumps(answer).encode())
        os._exit(0)
    os.close(write_end)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(SECONDS)
    _, status = os.waitpid(pid, 0)
    signal.alarm(0)
    data = os.read(read_end, 1 << 16)
    os.close(read_end)
    return {"error": None, "result": None, **json.loads(data or b"{}"),
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}


if __name__ == "__main__":
    user = int(sys.argv[4]) if sys.argv[4] else None
    main(*sys.argv[1:4], user, json.loads(sys.argv[5]))
