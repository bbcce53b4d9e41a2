"""
The tables of a regraded class: grades.csv, a row a student, and checks.csv, a row a judged check.

RFC 4180 in UTF-8. A byte order mark stands in front, without which spreadsheets garble names
(scripts read "utf-8-sig"), and no text that a student chose can be a formula.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from autograder.classroom.submissions import Handed
from autograder.kit.release import Release

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # the wide ones too


class Tables:
    """Both files, written a submission at a time and put in place when all are there."""

    def __init__(self, out: Path, release: Release):
        self.parts = release.about["parts"]
        self.places = [out / "grades.csv", out / "checks.csv"]

    def __enter__(self) -> Tables:
        self.files = [_part(place).open("w", encoding="utf-8-sig", newline="")
                      for place in self.places]
        self.grades, self.checks = map(csv.writer, self.files)
        self.grades.writerow(["name", "sid", "email", "status", "total", *self.parts,
                              "submission", "created_at", "version", "seed"])
        self.checks.writerow(["submission", "check", "part", "points", "score", "outcome",
                              "reason", "mistake", "hidden"])
        return self

    def __exit__(self, kind, *error) -> None:
        for file, place in zip(self.files, self.places, strict=True):
            file.close()
            if kind is None:
                os.replace(_part(place), place)
            else:
                _part(place).unlink()

    def add(self, handed: Handed, content: dict[str, Any]) -> None:
        """The rows of one submission."""
        extra, tests = content["extra_data"], content["tests"]
        got = dict.fromkeys(self.parts, 0.0)
        for test in tests:
            got[test["tags"][0]] += test["score"]
        for student in handed.students:
            self.grades.writerow([
                *map(safe, (student.name, student.sid, student.email)), extra["status"],
                f"{content['score']:g}", *(f"{points:g}" for points in got.values()),
                safe(handed.id), safe(handed.created_at), extra["version"], extra["seed"]])
        for test in tests:
            about = test["extra_data"]
            self.checks.writerow([
                safe(handed.id), about["id"], test["tags"][0], f"{test['max_score']:g}",
                f"{test['score']:g}", about["status"], about["reason"], about["mistake"],
                "yes" if about["hidden"] else "no"])


def _part(place: Path) -> Path:
    return place.with_name(f".{place.name}.part")


def safe(text: str) -> str:
    """The text as a cell that no spreadsheet computes."""
    shown = "".join(c if c.isprintable() else " " for c in text.encode(
        "utf-8", "replace").decode("utf-8"))
    return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown
