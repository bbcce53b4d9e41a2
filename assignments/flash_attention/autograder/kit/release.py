"""
The release that a grader or a student's kit belongs to: its frozen files and its checks.

`frozen/<lab>/` holds lab.json (names, files, term, version), public.json, hidden.json,
diagnosis.json and handed_out/ (the modules as students get them). A student's kit has no hidden
part.
"""

from __future__ import annotations

import importlib
import json
import os
import traceback
from functools import cached_property
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from autograder.kit import frozen
from autograder.kit.check import Check, checks_of
from autograder.kit.diagnosis import Diagnosis
from autograder.kit.errors import KitError

PACKAGE = Path(__file__).parent.parent


class Release:
    """One lab of a release, read from `folder`."""

    def __init__(self, lab: str, folder: Path):
        self.lab = lab
        self.folder = folder
        try:
            self.about: dict[str, Any] = json.loads(
                (folder / "lab.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise KitError(f"{lab}: there is no release of it in {folder.parent}",
                           "build it with: python -m release build") from None

    @property
    def version(self) -> str:
        """The release's short hash."""
        return self.about["version"]

    @property
    def names(self) -> dict[str, str]:
        """Public name -> the lab's module that defines it."""
        return self.about["names"]

    @property
    def uses_numpy(self) -> bool:
        """Whether the modules that students fill in import it."""
        return any("numpy" in text for text in self.handed_out(self.about["students"]).values())

    def handed_out(self, files: list[str]) -> dict[str, str]:
        """The named files as students got them."""
        return {name: (self.folder / "handed_out" / name).read_text(encoding="utf-8")
                for name in files}

    @cached_property
    def public(self) -> list[Check]:
        """The public checks."""
        return checks_of(module_of(self.lab, "public"))

    @cached_property
    def hidden(self) -> list[Check]:
        """The hidden checks; none in a student's kit."""
        if not (PACKAGE / "checks" / self.lab / "hidden.py").exists():
            return []
        return checks_of(module_of(self.lab, "hidden"), self.about["hidden_visibility"],
                         start=len(self.public) + 1)

    @property
    def checks(self) -> list[Check]:
        """All checks, public ones first."""
        return self.public + self.hidden

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The known mistakes' answers."""
        return Diagnosis(frozen.load(self.folder / "diagnosis.json"))

    @property
    def questions(self) -> list[str]:
        """The keys of the written questions, which only a grader's release knows."""
        return list(self._hidden_cases.answers)

    @property
    def hints(self) -> SimpleNamespace | None:
        """The diagnosis, read when a check first fails; None where the term wants no hints."""
        if not self.about["hints"]:
            return None
        return SimpleNamespace(of=lambda part, lab: self.diagnosis.of(part, lab))

    def frozen_for(self, check: Check) -> frozen.Frozen:
        """The frozen cases that the check may see."""
        return self._hidden_cases if check.hidden else self._public_cases

    @cached_property
    def _public_cases(self) -> frozen.Frozen:
        return frozen.Frozen(frozen.load(self.folder / "public.json"))

    @cached_property
    def _hidden_cases(self) -> frozen.Frozen:
        return frozen.Frozen(frozen.load(self.folder / "hidden.json"))


def module_of(lab: str, audience: str) -> ModuleType:
    """A module of autograder/checks/<lab>, such as public, hidden or reference."""
    name = f"autograder.checks.{lab}.{audience}"
    try:
        return importlib.import_module(name)
    except Exception as error:  # a typing mistake of its author
        if isinstance(error, ModuleNotFoundError) and name.startswith(error.name or "-"):
            raise KitError(f"{name.replace('.', '/')}.py: there is no such file",
                           f"a lab has public.py, hidden.py and reference.py in checks/{lab}"
                           ) from None
        what = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
        raise KitError(f"{_place(error)}: {what}", "mend that, then run the command again"
                       ) from error


def _place(error: Exception) -> str:
    """file:line of the mistake, as people type it where the package lies."""
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        written = [f for f in frames if PACKAGE / "checks" in Path(f.filename).parents]
        file, line = (written or frames)[-1][:2]
    return f"{os.path.relpath(file, PACKAGE.parent)}:{line}"


def labs() -> list[str]:
    """The labs that have checks here, in alphabetical order."""
    return sorted(p.parent.name for p in (PACKAGE / "checks").glob("*/public.py"))


def release_of(lab: str) -> Release:
    """The release beside this package: a bundle's own, else the project's last build."""
    if lab not in labs():
        raise KitError(f"{lab}: no such lab", f"labs here: {', '.join(labs())}")
    bundled = PACKAGE / "frozen" / lab
    return Release(lab, bundled if bundled.exists() else
                   PACKAGE.parent / "release" / "dist" / "frozen" / lab)
