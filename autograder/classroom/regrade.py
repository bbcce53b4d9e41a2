"""
Regrades a class: every submission once, whatever happens in between, then the sums.

What is written below `out`: results/<id>.json as they come, at the end grades.csv, checks.csv and
report.html.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from autograder.classroom import graders, grades, report, similarity, submissions
from autograder.classroom.kept import BROKEN, Kept
from autograder.classroom.submissions import Handed
from autograder.classroom.tally import Tally
from autograder.kit.errors import KitError, is_full
from autograder.kit.release import Release, release_of

STEP = 100  # submissions a line, where there is no terminal


def regrade(lab: str, export: Path, out: Path, workers: int | None, scheduler: str | None,
            trust: bool) -> int:
    """
    Grade what is not graded yet, then write the tables and the report; 1 on grader errors.

    Args:
        workers: grader processes; None for one a processor
    """
    workers = (os.cpu_count() or 1) if workers is None else workers
    if workers < 1:
        raise KitError(f"--workers {workers}: no process would grade", "give 1 or more")
    try:
        return _regrade(release_of(lab), export, out, workers, scheduler, trust)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or is_full(error):  # --out is not to blame
            raise
        raise KitError(f"{error.filename or out}: {error.strerror or error}",
                       "see to it; the same command goes on where it was") from None


def _regrade(release: Release, export: Path, out: Path, workers: int, scheduler: str | None,
             trust: bool) -> int:
    submissions.expect_export(export)
    with closing(Kept(out, release)) as kept:
        nothing = kept.scratch / "nothing"
        nothing.mkdir()
        handed = [one if one.path else replace(one, path=nothing) for one in
                  submissions.read_export(submissions.unpacked(export, kept.scratch / "export"))]
        for note in kept.notes:
            print(note)
        todo = [one for one in handed if not kept.has(one)]
        if len(todo) < len(handed):
            print(f"{len(handed) - len(todo)} of {len(handed)} submissions are graded already")
        print(f"{len(todo)} to grade, with {len(release.checks)} checks", flush=True)
        try:
            with closing(_graded(release, todo, workers, scheduler, trust)) as stream:
                for one, text in _watched(stream, len(todo)):
                    kept.write(one, text)
        except KeyboardInterrupt:
            left = sum(not kept.has(one) for one in todo)
            print(f"stopped; {left} of {len(handed)} submissions are left: the same command goes "
                  "on with them", file=sys.stderr)
            return 130
        return _sum_up(release, handed, kept, out, workers)


def _graded(release: Release, todo: list[Handed], workers: int, scheduler: str | None,
            trust: bool) -> Iterator[tuple[Handed, str]]:
    if scheduler:
        try:
            from autograder.classroom import cluster
        except ModuleNotFoundError as error:
            raise KitError(f"--scheduler: {error}", "Python 3.11 or newer, and: "
                           "pip install -e '.[cluster]'") from None
        return cluster.graded(release, todo, scheduler, trust)
    return graders.graded(release, todo, min(workers, len(todo)), trust)


def _watched(stream: Iterator, count: int) -> Iterator:
    """The stream, its progress shown: a bar on a terminal, else a line every hundred."""
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            pass
        else:
            yield from tqdm(stream, total=count, unit="submission")
            return
    for number, entry in enumerate(stream, 1):
        yield entry
        if number % STEP == 0:
            print(f"{number} of {count} graded", flush=True)


def _sum_up(release: Release, handed: list[Handed], kept: Kept, out: Path, workers: int) -> int:
    tally = Tally(release)
    with grades.Tables(out, release) as tables:
        for one in handed:
            content = kept.read(one)
            if content is None:
                raise KitError(f"{kept.path(one)}: it is not of release {release.version}",
                               "was it built again meanwhile? start the same command again")
            tables.add(one, content)
            tally.add(one, content)
    alike = similarity.compare(release, handed, workers)
    report.write(out / "report.html", tally, alike)
    for status, number in tally.statuses.items():
        print(f"{number:6} {status}")
    for row in tally.rows:
        if row.status == BROKEN:
            print(f"grader error: {row.id}: {row.error}")
    print(f"{os.path.join(out, 'report.html')}, grades.csv and checks.csv beside it")
    return 1 if tally.statuses.get(BROKEN) else 0
