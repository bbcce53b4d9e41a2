"""
The course folder for nbgrader: nbgrader_config.py, source/, release/, grader/ and gradebook.db.

nbgrader itself makes release/ and the gradebook, in a process of its own that gets ready while the
labs are built. What it releases must be, byte for byte, what students get from assignments/.
Without nbgrader release/ is laid out all the same, and the gradebook is left to whoever has it.

    python -m release.nbgrader COURSE      (the process; it waits until its input ends)
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from autograder.kit.errors import KitError
from release import package
from release.package import AUTOGRADER, Files

CONFIG = Path(__file__).parent / "course"
TODO = "see release/notebook.py; nothing was written"
LEFT_OUT = ("nbgrader is not installed (Python 3.11 and up): the course has no gradebook.db yet; "
            "run nbgrader generate_assignment LAB in it")


class Course:
    """A course folder that grows lab by lab."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.released: dict[str, Files] = {}
        package.write({p.name: p.read_bytes() for p in CONFIG.glob("*.py")}, folder)
        self.process = None
        if find_spec("nbgrader"):
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(folder)], stdin=subprocess.PIPE,
                stderr=subprocess.PIPE, cwd=package.ROOT, text=True, encoding="utf-8")

    def __enter__(self) -> Course:
        return self

    def __exit__(self, *error) -> None:
        if self.process:
            self.process.kill()
            self.process.communicate()

    def add(self, lab: str, student: Files, notebook: bytes, bundle: Files) -> None:
        """
        Put a lab into the course.

        Args:
            student: what students get
            notebook: the notebook with its hidden regions
            bundle: the Gradescope bundle, of which the course's grader has the engine's part
        """
        self.released[lab] = student
        package.write(student | {f"{lab}.ipynb": notebook}, self.folder / "source" / lab)
        package.write({name: data for name, data in (bundle | _plugins()).items()
                       if name.startswith("autograder/")}, self.folder / "grader")

    def keep(self, lab: str, old: Path) -> None:
        """Bring a lab along from an older course folder, if it is there."""
        if not (old / "source" / lab).exists():
            return
        for part in (f"source/{lab}", f"release/{lab}", f"grader/autograder/checks/{lab}",
                     f"grader/autograder/frozen/{lab}"):
            shutil.copytree(old / part, self.folder / part)
        checks = self.folder / "grader" / "autograder" / "checks"
        for shared in (old / "grader" / "autograder" / "checks").glob("*.py"):
            if not (checks / shared.name).exists():
                shutil.copy(shared, checks)
        self.released[lab] = _read(self.folder / "release" / lab)

    def finish(self) -> None:
        """Let nbgrader make release/ and the gradebook; KitError when it can't."""
        if not self.process:
            print(LEFT_OUT)
            for lab, files in self.released.items():
                package.write(files, self.folder / "release" / lab)
            return
        _, errors = self.process.communicate("")
        if self.process.returncode:
            what, *rest = errors.strip().splitlines()[-2:] or ["nbgrader ended without a word"]
            raise KitError(what, rest[0] if rest else TODO)
        for lab, files in self.released.items():
            released = _read(self.folder / "release" / lab)
            other = [n for n in files.keys() | released if files.get(n) != released.get(n)]
            if other:
                raise KitError(f"nbgrader releases {lab}/{min(other)} otherwise than assignments/",
                               TODO)


def _plugins() -> Files:
    """What the course's grader has beyond a bundle."""
    names = ("__init__.py", "grades.py", "nbgrader_course.py", "submissions.py")
    return package._read([AUTOGRADER / "classroom" / name for name in names])


def _read(folder: Path) -> Files:
    return {p.relative_to(folder).as_posix(): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}


# --- in the process that has nbgrader -------------------------------------------------------------


def main(course: Path) -> int:
    """Once the input has ended, generate every assignment; 2 with two lines when one fails."""
    # A grammar of web addresses, compiled for seconds by jsonschema, which does without it.
    sys.modules.setdefault("rfc3987_syntax", None)
    import nbgrader.apps.api  # takes a second or two, while the labs are built

    sys.stdin.read()
    _make_stable(nbgrader.api)
    api = _api(course)
    for source in sorted((course / "source").iterdir()):
        result = api.generate_assignment(source.name)
        if not result["success"]:
            print(_reason(source, result), TODO, sep="\n", file=sys.stderr)
            return 2
    _settle(course / "gradebook.db")
    return 0


def _api(course: Path):
    """nbgrader's interface with the course's own settings, and nothing on the terminal."""
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    config.NbGraderAPI.log_level = "CRITICAL"
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def _make_stable(api: Any) -> None:
    """Give the gradebook's entries the same ids at every build, and find its version at once."""
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    numbers = count()
    api.uuid4 = lambda: uuid5(NAMESPACE_URL, f"entry {next(numbers)}")
    api.get_alembic_version = ScriptDirectory(ALEMBIC_DIR).get_current_head  # else by a command


def _reason(source: Path, result: dict[str, Any]) -> str:
    """The notebook, the cell where one is to blame, and what nbgrader says."""
    from nbformat import read, v4
    from nbgrader.preprocessors import CheckCellMetadata, ClearHiddenTests

    name = f"{source.name}.ipynb"
    where = name
    try:
        for cell in read(source / name, 4).cells:
            where = f"{name}: cell {cell.id}"
            for step in (CheckCellMetadata(), ClearHiddenTests()):
                step.preprocess(v4.new_notebook(cells=[cell]), {})
    except Exception as error:
        return f"{where}: {str(error).splitlines()[0]}"
    raised = re.findall(r"^\w[\w.]*(?:Error|Exception): (.+)$", result.get("log", ""), re.MULTILINE)
    return f"{name}: {raised[0] if raised else 'nbgrader gave no reason'}"


def _settle(database: Path) -> None:
    """Take out of a database file what differs from build to build without being content."""
    connection = sqlite3.connect(database)
    connection.execute("VACUUM")
    connection.close()
    with database.open("r+b") as file:
        for at in (24, 92):  # the count of changes, in two places
            file.seek(at)
            file.write((1).to_bytes(4, "big"))
        file.write((3_040_000).to_bytes(4, "big"))  # SQLite's version


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
