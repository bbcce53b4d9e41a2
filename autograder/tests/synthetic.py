"""
Writes a made-up class as a Gradescope export: right, wrong, empty, hostile and odd submissions.

Sources come from the project's own solutions and known mistakes, names from everybody's nightmares.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from release.freeze import mistaken, read_mistakes
from release.solution import SOLUTIONS, Solution, read_solution
from release.term import blank_answers

NAMES = ["Ann Lee", "=HYPERLINK(\"http://evil.example\")", "Müller, Jörg", "O'Neil \"Tip\"",
         "+1 (555) 0100", "李小龙", "😀 Smiley", "-2+3", "@sum", "<script>alert(1)</script>",
         "Null", "Bobby'); DROP TABLE grades;--", "مريم", "Tab\tbed", "  padded  "]
HOSTILE = {
    "exit": "import os; os._exit(0)",
    "crash": "import os; os.abort()",
    "memory": "return bytearray(1 << 40)",
    "flood": "\n    while True: print('x' * 1000)",
    "hang": "\n    while True: pass",
    "quit": "raise SystemExit(0)",
    "interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); return 1",
}
STATUS = {"exit": "crashed", "crash": "crashed", "memory": "memory", "flood": "crashed",
          "hang": "timeout", "gone": "missing", "empty": "missing"}


@dataclass(frozen=True)
class Made:
    """One submission of the class as it was made."""

    id: str
    kind: str  # solved, stub, the id of a mistake, or a word of HOSTILE
    students: tuple[tuple[str, str, str], ...]  # name, sid, email
    created_at: str

    @property
    def status(self) -> str:
        """What its grading comes to."""
        return STATUS.get(self.kind, "graded")


def write_class(export: Path, lab: str, count: int, hostile: Sequence[str] = ("exit",),
                metadata: str = "submission_metadata.yml") -> list[Made]:
    """
    Write a class of so many submissions below `export`; what it is made of.

    Args:
        hostile: kinds of HOSTILE, or "gone" (listed, not there) and "empty" (a folder of nothing)
    """
    solution = read_solution(lab)
    usual = [m.id for m in read_mistakes(solution)]
    kinds = [*hostile, *islice(_mix(usual), count - len(hostile))]
    made = [_made(number, kind) for number, kind in enumerate(kinds)]
    for one in made:
        write_files(export / f"submission_{one.id}", files_of(solution, one.kind))
    if metadata:
        (export / metadata).write_text("".join(map(_entry, made)), encoding="utf-8")
    return made


def _mix(mistakes: list[str]):
    """Solutions, mistakes and stubs, 4 to 5 to 1."""
    for number, mistake in enumerate(cycle(mistakes)):
        yield mistake
        yield "solved" if number % 5 else "stub"


def _made(number: int, kind: str) -> Made:
    """A student, every seventh time with another one, and ids whose zeros count."""
    students = []
    for i in range(2 if number % 7 == 3 else 1):
        name = NAMES[(number + i) % len(NAMES)]
        sid = f"{number * 10 + i:06d}"
        students.append((f"{name} {number}" if number >= len(NAMES) else name, sid,
                         f"s{sid}@example.edu"))
    return Made(f"{number:04d}", kind, tuple(students),
                f"2026-12-{number % 28 + 1:02d} 17:34:00.861687000 Z")


def files_of(solution: Solution, kind: str) -> dict[str, str] | None:
    """File -> text; None for a submission that is only listed."""
    answers = (SOLUTIONS / solution.lab / "answers.toml").read_text(encoding="utf-8")
    if kind in ("gone", "empty"):
        return None if kind == "gone" else {}
    if kind == "stub":
        return solution.stubs | {"answers.toml": blank_answers(answers)}
    if kind in HOSTILE:
        name, file = next(iter(solution.functions.items()))
        bad = f"\n\ndef {name}(*args, **kwargs):\n    {HOSTILE[kind]}\n"
        return solution.sources | {file: solution.sources[file] + bad, "answers.toml": answers}
    wrong = {m.id: m for m in read_mistakes(solution)}
    sources = mistaken(solution, wrong[kind]) if kind in wrong else solution.sources
    return sources | {"answers.toml": answers}


def write_files(folder: Path, files: dict[str, str] | None) -> None:
    """Write a submission's folder."""
    if files is None:
        return
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def write_zip(path: Path, files: dict[str, str]) -> None:
    """The same as a zip."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def _entry(made: Made) -> str:
    """The submission in submission_metadata.yml, as Ruby writes it, old results and all."""
    students = "".join(
        f"  - :name: {json.dumps(name, ensure_ascii=False)}\n    :sid: '{sid}'\n"
        f"    :email: {email}\n" for name, sid, email in made.students)
    return (f"submission_{made.id}:\n  :submitters:\n{students}"
            f"  :created_at: {made.created_at}\n  :score: 1.0\n  :status: processed\n"
            f"  :results:\n    output: |-\n      old: results\n        - :name: nobody\n"
            f"    tests:\n    - score: 1.0\n      name: a check\n"
            f"  :history:\n  - :id: 1\n    :created_at: 2000-01-01\n    :score: 0.0\n")
