"""Read what must not be read: reference values, checks, solutions, results, homes, the machine."""

import os

from honest import split_kv_decode as honest
from probe import WORLD, attempt, read

FILES = (
    WORLD["secret"], WORLD["results"], WORLD["frozen"] + "/hidden.json",
    WORLD["frozen"] + "/lab.json", WORLD["frozen"] + "/diagnosis.json",
    WORLD["root"] + "/solutions/flash_decoding/split_kv.py", WORLD["root"] + "/pyproject.toml",
    WORLD["root"] + "/autograder/checks/flash_decoding/hidden.py",
    WORLD["root"] + "/autograder/mistakes/flash_decoding.toml",
    WORLD["root"] + "/release/terms/2026-fall.toml",
    "/etc/shadow", "/etc/passwd", "/root/.bash_history", "/root/.ssh/id_rsa", "/proc/1/environ",
    "/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/sda", "/var/log/syslog", "/dev/tty",
)
FOLDERS = ("/", "..", "../..", "/tmp", "/proc", "/home", "/root", "/dev/shm", "/autograder",
           WORLD["base"], WORLD["outside"], WORLD["frozen"], WORLD["root"],
           WORLD["root"] + "/release/dist")


def split_kv_decode(*args, **kwargs):
    for path in FILES:
        read(path)
        attempt(os.truncate, path, 0)
        attempt(os.link, path, "stolen")
        attempt(os.symlink, path, "stolen")
        attempt(os.chmod, path, 0o777)
        attempt(os.replace, path, "stolen")
    for folder in FOLDERS:
        attempt(os.listdir, folder)
        attempt(os.chmod, folder, 0o777)
        attempt(os.mkdir, f"{folder}/{WORLD['mark']}")
    return honest(*args, **kwargs)
