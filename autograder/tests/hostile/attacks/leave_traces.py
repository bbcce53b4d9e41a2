"""Leave things that outlive the process: shared memory, queues, keys, files everywhere."""

import ctypes
import os
import tempfile
from multiprocessing import shared_memory

from honest import split_kv_decode as honest
from probe import WORLD, attempt, write

CALLS = {  # name: x86_64, aarch64
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "add_key": (248, 217),
    "keyctl": (250, 219), "mq_open": (240, 180), "memfd_create": (319, 279),
    "io_uring_setup": (425, 425), "inotify_init1": (294, 26), "userfaultfd": (323, 282),
    "bpf": (321, 280), "perf_event_open": (298, 241), "timer_create_for_others": (312, 272),
}


def syscall(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) < 0:
        raise OSError(ctypes.get_errno())


def split_kv_decode(*args, **kwargs):
    for numbers in CALLS.values():
        attempt(syscall, numbers[os.uname().machine != "x86_64"], 0, 4096, 0o1600)
    attempt(shared_memory.SharedMemory, create=True, size=4096)
    attempt(os.mkfifo, "pipe")
    attempt(os.mkdir, "folder")
    attempt(os.symlink, "/etc/passwd", "answers.toml")
    for folder in (*WORLD["shared"], WORLD["outside"], WORLD["base"], WORLD["root"], "/run", "/"):
        write(f"{folder}/{WORLD['mark']}")
        attempt(os.mkdir, f"{folder}/{WORLD['mark']}")
        attempt(tempfile.mkstemp, suffix=WORLD["mark"], dir=folder)
    return honest(*args, **kwargs)
