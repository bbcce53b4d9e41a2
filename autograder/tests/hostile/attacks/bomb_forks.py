"""Start processes without end, in every way there is; answer rightly."""

import multiprocessing
import os
import subprocess

from honest import split_kv_decode as honest
from probe import attempt


def fork():
    if os.fork() == 0:
        os._exit(0)


def session():
    pid = os.fork()  # a daemon: fork, a session of its own, fork again
    if pid == 0:
        os.setsid()
        os._exit(0)


def split_kv_decode(*args, **kwargs):
    for _ in range(100):
        attempt(fork)
    attempt(session)
    attempt(os.setsid)
    attempt(os.posix_spawn, "/bin/sleep", ["sleep", "1000"], {})
    attempt(os.execv, "/bin/sleep", ["sleep", "1000"])
    attempt(subprocess.run, ["true"], check=True)
    attempt(subprocess.run, "exit 0", shell=True, check=True)
    attempt(multiprocessing.get_context("fork").Process(target=print).start)
    attempt(os.forkpty)
    return honest(*args, **kwargs)
