"""
The results that a regrade keeps on disk: one file a submission, valid or not there.

A result counts as done when this release's grader made it of just this work and nothing of it was
the grader's fault. Results of another release are set aside, never mixed in and never lost. What a
regrade that was killed has left in its folder is gone when the next one starts.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from autograder.classroom.submissions import Handed
from autograder.grading.results import write_text
from autograder.intake.submission import read_submission
from autograder.intake.wanted import wanted_by
from autograder.kit.errors import KitError
from autograder.kit.release import PACKAGE, Release

BROKEN = "grader error"


class Kept:
    """The folder `out` of one regrade; nobody else regrades into it meanwhile."""

    def __init__(self, out: Path, release: Release):
        self.wanted = wanted_by(release.about)
        self.release = release
        self.folder = out / "results"
        self.scratch = out / ".scratch"
        self.notes: list[str] = []
        out.mkdir(parents=True, exist_ok=True)
        self._lock = (out / ".lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise KitError(f"{out}: another regrade is at work there",
                           "wait for it, or name another folder with --out") from None
        try:
            self._set_aside(out)
        except KitError:
            self._lock.close()
            raise
        self.folder.mkdir(exist_ok=True)
        for part in self.folder.glob(".*.part"):
            part.unlink()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(mode=0o700)

    def path(self, handed: Handed) -> Path:
        """Where the submission's result is or will be."""
        return self.folder / f"{handed.id}.json"

    def read(self, handed: Handed) -> dict[str, Any] | None:
        """The submission's result; None when there is none that is whole."""
        try:
            content = json.loads(self.path(handed).read_text(encoding="utf-8"))
            return content if content["extra_data"]["version"] == self.release.version else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, handed: Handed, text: str) -> None:
        """Keep the submission's results.json."""
        write_text(self.path(handed), text)

    def has(self, handed: Handed) -> bool:
        """Whether nothing is left to do for the submission."""
        extra = (self.read(handed) or {}).get("extra_data", {"status": BROKEN})
        return extra["status"] != BROKEN and (
            extra["digest"] == read_submission(handed.path, self.wanted).digest)

    def close(self) -> None:
        """Let others regrade into the folder."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._lock.close()

    def _set_aside(self, out: Path) -> None:
        """Move away what another release, or other checks, have made."""
        stamp = {"lab": self.release.lab, "version": self.release.version,
                 "grader": grader_hash(self.release)}
        made_by = out / "release.json"
        try:
            old = json.loads(made_by.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            old = stamp
        if old.get("lab") != self.release.lab:
            raise KitError(f"{out}: it holds results of {old.get('lab')}",
                           f"name another folder for {self.release.lab} with --out")
        if old != stamp and self.folder.exists():
            number = 1
            while (aside := out / f"results-{old.get('version', 'unknown')}-{number}").exists():
                number += 1
            self.folder.rename(aside)
            self.notes.append(f"the release or its grader has changed: the earlier results are "
                              f"now in {aside.name}/, and all are graded again")
        write_text(made_by, json.dumps(stamp) + "\n")


def grader_hash(release: Release) -> str:
    """A hash of all that decides a result: frozen values, checks, kit, intake, grader, worker."""
    digest = hashlib.sha256()
    folders = [release.folder, *(PACKAGE / name for name in (
        f"checks/{release.lab}", "kit", "intake", "grading", "worker"))]
    files = [p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".json")]
    for path in sorted([*files, *(PACKAGE / "checks").glob("*.py")]):
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]
