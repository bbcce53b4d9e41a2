"""
Read, list and change the grader's own files, processes and folders, and leave something where
everybody may write: what closed permissions must prevent where the kernel has no Landlock.
"""

import glob
import os

from honest import split_kv_decode as honest
from probe import WORLD, attempt, got, read, write

FOLDERS = (WORLD["root"], WORLD["frozen"], f"{WORLD['base']}/submission",
           f"{WORLD['base']}/results")
OPEN = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/mnt", "/home", "/root")


def split_kv_decode(*args, **kwargs):
    for folder in FOLDERS:
        attempt(os.listdir, folder)
        for path in glob.glob(f"{folder}/**", recursive=True):
            read(path)
        write(f"{folder}/{WORLD['mark']}")
    for path in (WORLD["secret"], WORLD["results"], f"{WORLD['frozen']}/hidden.json",
                 f"{WORLD['root']}/autograder/checks/flash_decoding/hidden.py",
                 f"{WORLD['base']}/submission_metadata.json"):
        read(path)
        attempt(os.truncate, path, 0)
        attempt(os.replace, path, "mine")
    for pid in (os.getppid(), WORLD["grader"], WORLD["nursery"], WORLD["victim"]):
        for name in ("environ", "mem", "maps", "stack", "auxv", "io", "fd/0", "cwd/x"):
            read(f"/proc/{pid}/{name}")
        attempt(os.listdir, f"/proc/{pid}/fd")
        attempt(os.kill, pid, 0)
    for folder in OPEN:
        write(f"{folder}/{WORLD['mark']}")
    if os.getuid() == 0:
        got("root")
    return honest(*args, **kwargs)
