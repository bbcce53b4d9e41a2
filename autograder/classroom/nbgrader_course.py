"""
What a course's nbgrader needs of the kit: cells mended, check cells judged, grades exported.

nbgrader runs a notebook in one process with everything in it, so what a check cell puts out there
proves nothing. Here the grader judges the submission as it judges any other, and each check cell
shows and counts its share of that.
"""

from __future__ import annotations

import atexit
import csv
from functools import cache
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode, from_dict
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells
from nbgrader.utils import is_grade
from traitlets import Bool

from autograder.classroom.grades import safe
from autograder.grading.grade import Graded, Grader
from autograder.kit import cell as check_cells
from autograder.kit import message
from autograder.kit.release import Release

KINDS = {"check": False, "hidden": True}  # what a check cell's id begins with


class MendCells(OverwriteCells):
    """
    Gives every cell that the course knows its own metadata, and takes it from every other.

    Old schemas, keys that are too many or too few, copied and re-typed cells would each stop
    nbgrader, some of them for the whole class. Deleted check cells come back at the end: where
    they stand does not matter to what they are worth.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Mend the metadata, then do what nbgrader does to a submission's cells."""
        known = _known_cells(resources["nbgrader"])
        for cell in reversed(nb.cells):  # of copies the last one counts, as in nbgrader
            metadata = cell["metadata"] if isinstance(cell.get("metadata"), dict) else {}
            theirs = metadata.pop("nbgrader", None)
            name = theirs.get("grade_id") if isinstance(theirs, dict) else None
            if isinstance(name, str) and name in known:
                metadata["nbgrader"] = known.pop(name)
            cell["metadata"] = from_dict(metadata)
        return super().preprocess(nb, resources)

    def add_missing_grade_cells(self, nb: NotebookNode, resources: dict
                                ) -> tuple[NotebookNode, dict]:
        """Append the check cells that are not there."""
        here = {cell.metadata.nbgrader["grade_id"] for cell in nb.cells if is_grade(cell)}
        notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        for cell in sorted(notebook.source_cells, key=lambda cell: cell.name):
            if cell.name in points and cell.name not in here:
                nb.cells.append(self.missing_cell_transform(cell, points[cell.name]))
        return nb, resources


def _known_cells(ids: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Cell id -> its metadata, of the notebook that was handed out."""
    with Gradebook(ids["db_url"]) as gradebook:
        notebook = gradebook.find_notebook(ids["notebook"], ids["assignment"])
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        solutions = {cell.name for cell in notebook.solution_cells}
        return {cell.name: {
            "grade_id": cell.name, "grade": cell.name in points, "locked": cell.locked,
            "solution": cell.name in solutions, "schema_version": 3, "task": False,
            "cell_type": cell.cell_type,
            **({"points": points[cell.name]} if cell.name in points else {}),
        } for cell in notebook.source_cells}


class JudgeOutside(NbGraderPreprocessor):
    """Puts the grader's word in the place of what the check cells put out."""

    trust = Bool(False, help="Run submissions unconfined.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Grade the submitted folder and fill the check cells."""
        ids = resources["nbgrader"]
        course = self.parent.parent.coursedir  # of the exporter's converter
        submitted = course.format_path(course.submitted_directory, ids["student"],
                                       ids["assignment"])
        grader = _grader(ids["assignment"], Path(course.root), self.trust)
        graded = grader.grade(Path(submitted))
        notes = [message.clean(note) for note in graded.notes]
        for cell in nb.cells:
            kind, _, part = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("-")
            if is_grade(cell) and kind in KINDS:
                _fill(cell, graded, part, KINDS[kind], notes)
                notes = []  # once is enough
        return nb, resources


@cache
def _grader(lab: str, course: Path, trust: bool) -> Grader:
    """The course's grader of a lab, kept warm for the whole class."""
    grader = Grader(Release(lab, course / "grader" / "autograder" / "frozen" / lab), trust)
    atexit.register(grader.close)
    return grader


def _fill(cell: NotebookNode, graded: Graded, part: str, hidden: bool, notes: list[str]) -> None:
    """A check cell's outputs: the checks' messages, and the points as a plain number."""
    results = [r for r in graded.results
               if (r.check.part, r.check.hidden) == (part, hidden)]
    text = "\n".join([*notes, check_cells.report(results, graded.content["extra_data"]["version"])])
    count = cell.execution_count = cell.execution_count or 0
    cell.outputs = [
        from_dict({"output_type": "stream", "name": "stdout", "text": text + "\n"}),
        from_dict({"output_type": "execute_result", "execution_count": count, "metadata": {},
                   "data": {"text/plain": repr(check_cells.points(results))}}),
    ]


class Grades(ExportPlugin):
    """
    grades.csv with a row a student and lab: status, points, and a column a part.

    A submission whose grading did not come to an end has the status "not graded" and no points:
    nbgrader itself would export 0.0. Nothing in a cell can be taken for a formula.
    """

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that --to names, grades.csv by default."""
        rows = [{"assignment": assignment.name, "student_id": student,
                 "max_score": assignment.max_score, **_person(gradebook, student),
                 **self._points(gradebook, assignment.name, student)}
                for assignment in gradebook.assignments
                if not self.assignment or assignment.name in map(str, self.assignment)
                for student in self._students(gradebook, assignment.name)]
        parts = sorted({column for row in rows for column in row} - set(COLUMNS))
        path = Path(self.to or "grades.csv")
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, [*COLUMNS, *parts], restval="")
            writer.writeheader()
            writer.writerows({column: safe(value) if isinstance(value, str) else value
                              for column, value in row.items()} for row in rows)
        self.log.info("%s: %d rows", path, len(rows))

    def _students(self, gradebook: Gradebook, assignment: str) -> list[str]:
        """Everybody, once somebody has handed in: also those who never got into the gradebook."""
        folders = self._folder("submitted", "x", assignment).parents[1].glob(f"*/{assignment}")
        handed_in = {folder.parent.name for folder in folders}
        found = handed_in | {s.id for s in gradebook.students} if handed_in else set()
        return sorted(s for s in found if not self.student or s in map(str, self.student))

    def _folder(self, step: str, student: str, assignment: str) -> Path:
        course = self.parent.coursedir
        return Path(course.format_path(getattr(course, f"{step}_directory"), student, assignment))

    def _points(self, gradebook: Gradebook, assignment: str, student: str) -> dict[str, Any]:
        """The status of a submission and, when it was graded, its points by part."""
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            there = self._folder("submitted", student, assignment).exists()
            return {"status": "not graded" if there else "not handed in"}
        autograded = self._folder("autograded", student, assignment)  # nbgrader removes it when
        grades = [g for notebook in submission.notebooks for g in notebook.grades]  # grading fails
        if not grades or not autograded.exists() or any(
                g.auto_score is None and g.manual_score is None for g in grades):
            return {"status": "not graded"}
        points: dict[str, float] = {}
        for grade in grades:
            kind, _, part = grade.name.partition("-")
            column = f"{assignment}/{part if kind in KINDS else grade.name}"
            points[column] = points.get(column, 0.0) + grade.score
        penalty = submission.late_submission_penalty or 0.0
        return {"status": "graded", "late_penalty": penalty, **points,
                "score": max(0.0, sum(points.values()) - penalty)}


COLUMNS = ("assignment", "student_id", "last_name", "first_name", "email", "status", "score",
           "max_score", "late_penalty")


def _person(gradebook: Gradebook, student: str) -> dict[str, Any]:
    try:
        person = gradebook.find_student(student)
    except MissingEntry:
        return {}
    return {name: getattr(person, name) for name in ("last_name", "first_name", "email")}
