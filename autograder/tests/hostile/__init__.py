"""
Submissions that attack the grader, and what must hold after each: see corpus.toml.

An attack is a file of `attacks/`, handed in as one of a lab's files. Beside it lie the solution's
own files, the one that it replaces as honest.py, and probe.py, through which it says what it got.
`run` tries all of them in a process of their own, whose limits are lowered so that it takes less
than a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@dataclass(frozen=True)
class Attack:
    """
    One attack and what must hold after it, besides what must hold after all of them.

    Args:
        lab, file: what it is handed in as
        zero: parts that it gets no point of; all others keep theirs, but for
        some: parts of which it keeps some points and loses some
        may: parts of which it may lose points, by chance
        status: of the checks that it fails; one of these, if there are several
        limits: limits that are its own; it is tried alone then
    """

    name: str
    lab: str = "flash_decoding"
    file: str = "split_kv.py"
    zero: Sequence[str] = ("split_kv_decode",)
    some: Sequence[str] = ()
    may: Sequence[str] = ()
    status: str | Sequence[str] = "graded"
    limits: dict[str, float] = field(default_factory=dict)


def attacks() -> list[Attack]:
    """All attacks, in the table's order."""
    table = tomllib.loads((HERE / "corpus.toml").read_text(encoding="utf-8"))
    return [Attack(name, **entry) for name, entry in table.items()]


def run(frozen: Path, prefix: Sequence[str] = (), only: Sequence[str] = ()
        ) -> Iterator[tuple[str, list[str]]]:
    """
    (attack, what does not hold after it) for each attack on a release, as they are done.

    Args:
        frozen: the folder that holds the release's frozen/<lab>
        prefix: a command in front, such as one that becomes another user
        only: names of attacks; all of them when empty
    """
    command = [*prefix, sys.executable, "-B", "-m", "autograder.tests.hostile", str(frozen), *only]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stdout:
            name, problems = json.loads(line)
            yield name, problems
    if process.returncode:
        yield "all", [f"the run ended with {process.returncode}"]
