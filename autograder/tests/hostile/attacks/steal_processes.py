"""Read the grader, the nursery and everybody else through /proc, and by tracing them."""

import ctypes
import os

from honest import split_kv_decode as honest
from probe import WORLD, attempt, got, read

FILES = ("environ", "mem", "maps", "smaps", "cmdline", "stack", "syscall", "auxv", "io", "status",
         f"fd/{WORLD['held']}", "root/etc/passwd", "cwd", "task")


def trace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(request, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno())


def read_memory(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.process_vm_readv(pid, None, 0, None, 0, 0) < 0:
        raise OSError(ctypes.get_errno())


def split_kv_decode(*args, **kwargs):
    for pid in (WORLD["grader"], WORLD["nursery"], WORLD["victim"], os.getppid(), 1, "self"):
        for name in FILES:
            read(f"/proc/{pid}/{name}")
        attempt(os.listdir, f"/proc/{pid}/fd")
        if pid != "self":
            attempt(os.readlink, f"/proc/{pid}/cwd")
            attempt(trace, 16, pid)
            attempt(trace, 0x4206, pid)
            attempt(read_memory, pid)
            attempt(os.pidfd_open, pid)
    for name in os.environ:
        if "SECRET" in name or "HOSTILE" in name:
            got(name)
    return honest(*args, **kwargs)
