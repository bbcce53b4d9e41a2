"""Kill, stop and slow down whoever else is there; answer rightly."""

import ctypes
import fcntl
import os
import resource
import signal

from honest import split_kv_decode as honest
from probe import WORLD, attempt


def syscall(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) < 0:
        raise OSError(ctypes.get_errno())


def split_kv_decode(*args, **kwargs):
    for pid in (WORLD["victim"], WORLD["nursery"], WORLD["grader"], os.getppid(), 0, -1,
                -WORLD["nursery"], 1):
        for number in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            attempt(os.kill, pid, number)
        attempt(os.sched_setaffinity, abs(pid) or 1, {0})
        attempt(os.setpriority, os.PRIO_PROCESS, abs(pid), 5)
        attempt(resource.prlimit, abs(pid) or 1, resource.RLIMIT_CPU, (1, 1))
        attempt(syscall, {"x86_64": 200}.get(os.uname().machine, 130), abs(pid), 9)
        attempt(fcntl.fcntl, 3, fcntl.F_SETOWN, pid)
    attempt(os.killpg, os.getpgid(0), signal.SIGTERM)
    attempt(os.setpriority, os.PRIO_USER, 0, 19)
    attempt(os.nice, 5)
    return honest(*args, **kwargs)
