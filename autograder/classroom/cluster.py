"""
The same work on a Dask cluster that is already there: submissions go out as bytes, results come
back as text.

Workers need this project and this release, built, and no file of this machine. A submission whose
worker is lost is graded again on another one.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from distributed import Client, KilledWorker, as_completed, get_worker

from autograder.classroom.graders import Steady, broken
from autograder.classroom.kept import grader_hash
from autograder.classroom.submissions import Handed
from autograder.intake.archive import TOTAL
from autograder.kit.errors import KitError
from autograder.kit.release import Release, release_of

SECONDS = 30  # to find the scheduler and a worker
AHEAD = 2  # submissions a processor of the cluster that are on their way
Packed = tuple[str, bytes | dict[str, bytes | None]]  # name, content; None for a link


def graded(release: Release, todo: list[Handed], address: str, trust: bool
           ) -> Iterator[tuple[Handed, str]]:
    """(submission, its results.json) as they are done, by the cluster's workers."""
    with _client(address) as client:
        here, waiting = grader_hash(release), iter(todo)
        processors = sum(w["nthreads"] for w in client.scheduler_info(-1)["workers"].values())
        on_their_way: dict = {}

        def send(count: int) -> list:
            new = [(one, client.submit(grade_one, release.lab, here, pack(one.path), trust,
                                       pure=False))
                   for one in islice(waiting, count)]
            on_their_way.update({future.key: one for one, future in new})
            return [future for _, future in new]

        running = as_completed(send(AHEAD * processors))
        for future in running:
            one = on_their_way.pop(future.key)
            there, text = _outcome(release, future)
            if there != here and text is None:
                raise KitError(f"{address}: a worker has another release or grader ({there}, "
                               f"here {here})", "update and build the project on every worker")
            yield one, text
            running.update(send(1))


def _client(address: str) -> Client:
    try:
        client = Client(address, timeout=SECONDS)
        client.wait_for_workers(1, timeout=SECONDS)
        return client
    except (OSError, ValueError, TimeoutError) as error:
        raise KitError(f"{address}: no Dask cluster with a worker answers ({error})",
                       "start `dask scheduler` and `dask worker ADDRESS` first") from None


def _outcome(release: Release, future) -> tuple[str, str | None]:
    try:
        return future.result()
    except KilledWorker as error:
        return "", broken(release, f"every worker that graded it was lost: {error}")
    except Exception as error:
        if future.cancelled():
            raise KitError("the cluster is gone", "the same command goes on where it was") from None
        return "", broken(release, f"on the cluster: {error!r}")


# --- on a worker ----------------------------------------------------------------------------------

_own = threading.local()  # a grader for each thread of a worker


def grade_one(lab: str, here: str, packed: Packed, trust: bool) -> tuple[str, str | None]:
    """(this worker's grader hash, results.json); no result when the hash is not `here`."""
    if getattr(_own, "lab", None) != (lab, trust):
        _own.hash = grader_hash(release_of(lab))
        _own.steady = Steady(lab, trust)
        _own.lab = (lab, trust)
    if _own.hash != here:
        return _own.hash, None
    with tempfile.TemporaryDirectory(dir=get_worker().local_directory) as folder:
        return here, _own.steady.text(unpack(packed, Path(folder)))


# --- submissions as bytes -------------------------------------------------------------------------


def pack(path: Path) -> Packed:
    """The submission's name and content; of a large file only what a grader would look at."""
    if path.is_file():
        return path.name, _head(path)
    files: dict[str, bytes | None] = {}
    for folder, folders, names in os.walk(path):
        for name in sorted(names + [f for f in folders if os.path.islink(f"{folder}/{f}")]):
            inner = Path(folder, name)
            if inner.is_symlink() or inner.is_file():
                files[inner.relative_to(path).as_posix()] = (
                    None if inner.is_symlink() else _head(inner))
    return path.name, files


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(TOTAL + 1)


def unpack(packed: Packed, into: Path) -> Path:
    """The submission below `into`, as it was."""
    name, content = packed
    path = into / name
    if isinstance(content, bytes):
        path.write_bytes(content)
        return path
    path.mkdir()
    for inner, data in content.items():
        place = path / inner
        place.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            place.symlink_to("gone")
        else:
            place.write_bytes(data)
    return path
