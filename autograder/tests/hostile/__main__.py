"""Tries attacks on a release, two at a time: one line of JSON each, [name, what does not hold]."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from autograder.tests.hostile import Attack, attacks
from autograder.tests.hostile.arena import SECRET, Arena
from autograder.worker import limits

AT_ONCE = 2
# Honest calls of these labs take milliseconds.
LOWERED = {"CALL_SECONDS": 1.0, "MEMORY_CALL_SECONDS": 3.0, "SUBMISSION_SECONDS": 60.0}


def main(frozen: Path, only: list[str]) -> int:
    """Try them all; what the process prints is for `run` to read."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        os.chmod(folder, 0o755)
        tempfile.tempdir = folder  # whatever the grader leaves is found here
        return try_all(frozen, only, folder)


def try_all(frozen: Path, only: list[str], folder: str) -> int:
    """The same, in a folder that is empty before and afterwards."""
    os.environ["HOSTILE_SECRET"] = SECRET  # nobody may see the grader's environment
    for name, value in LOWERED.items():
        setattr(limits, name, value)
    descriptors = len(os.listdir("/proc/self/fd"))
    chosen = [attack for attack in attacks() if attack.name in only or not only]
    together = [attack for attack in chosen if not attack.limits]
    alone = [attack for attack in chosen if attack.limits]  # limits are the process's
    arenas = threading.local()
    opened = []

    def attempt(attack: Attack) -> list[str]:
        if not hasattr(arenas, "own"):
            arenas.own = Arena(frozen)
            opened.append(arenas.own)
        return arenas.own.attempt(attack)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        tries = {pool.submit(attempt, attack): attack for attack in together}
        for done in as_completed(tries):
            show(tries[done].name, done.result())
    for attack in alone:
        for name, value in attack.limits.items():
            setattr(limits, name, value)
        show(attack.name, attempt(attack))
        for name in attack.limits:
            setattr(limits, name, LOWERED.get(name, DEFAULTS[name]))
    left = [problem for arena in opened for problem in arena.close()]
    left += [f"{path} is left" for path in os.listdir(folder)]
    if len(os.listdir("/proc/self/fd")) > descriptors:
        left.append("descriptors are left open")
    status = Path("/proc/self/status").read_text(encoding="ascii")  # rusage has the parent's too
    grown = int(status.split("VmHWM:")[1].split()[0]) >> 10
    if grown > MOST_MEMORY:
        left.append(f"the grader grew to {grown} MiB")
    show("afterwards", left)
    return 0


MOST_MEMORY = 200  # MiB of this process, with two graders in it
DEFAULTS = dict(vars(limits))


def show(name: str, problems: list[str]) -> None:
    print(json.dumps([name, problems]), flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
