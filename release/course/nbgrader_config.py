"""
This course's settings for nbgrader: start every nbgrader command in this folder.

    nbgrader autograde LAB             submitted/<student>/<lab>/ -> autograded/, gradebook.db
    nbgrader generate_feedback LAB     -> feedback/
    nbgrader export                    -> grades.csv: a row a student, a column a part, a status

The check cells' points are those of `python -m autograder grade`: the grader in grader/ judges the
submitted files, in a process of its own, and its word takes the place of what the cells put out.
Made by the release; needs nbgrader, numpy and gradescope-utils, and matplotlib for the figures.
"""

import json
import os
import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parent
sys.path.insert(0, str(COURSE / "grader"))
LABS = {path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in (COURSE / "grader" / "autograder" / "frozen").glob("*/lab.json")}

# Students' cells run in nbgrader's kernel with all your rights. False: they are not run at all;
# the points are the same, and the feedback lacks what the cells put out.
RUN_CELLS = True
# Whether the grader may run submissions unconfined, where this machine can't confine them.
TRUST = False

NBGRADER = "nbgrader.preprocessors"
OURS = "autograder.classroom.nbgrader_course"
os.environ["CHECK_CELLS_ARE_JUDGED_OUTSIDE"] = "1"  # by JudgeOutside: the kernel need not

c = get_config()  # noqa: F821  (nbgrader defines it)

c.CourseDirectory.root = str(COURSE)
c.CourseDirectory.source_directory = "source"
c.CourseDirectory.release_directory = "release"

# Nothing here is a solution: stubs stay as they are, and are not replaced by nbgrader's own.
c.GenerateAssignment.preprocessors = [f"{NBGRADER}.{name}" for name in (
    "LockCells", "ClearOutput", "CheckCellMetadata", "ComputeChecksums", "SaveCells",
    "ClearHiddenTests", "ComputeChecksums", "CheckCellMetadata")]

# A cell that a student deleted, copied, changed or gave other metadata costs nothing and stops
# nobody else's grading.
c.OverwriteCells.add_missing_cells = True
c.Autograde.sanitize_preprocessors = [
    f"{OURS}.MendCells", f"{NBGRADER}.ClearOutput", f"{NBGRADER}.OverwriteKernelspec",
    f"{NBGRADER}.CheckCellMetadata"]

c.Execute.timeout = 60  # seconds a cell
c.Autograde.autograde_preprocessors = [
    *([f"{NBGRADER}.Execute"] if RUN_CELLS else []), f"{OURS}.JudgeOutside",
    f"{NBGRADER}.LimitOutput", f"{NBGRADER}.SaveAutoGrades", f"{NBGRADER}.AssignLatePenalties",
    f"{NBGRADER}.CheckCellMetadata"]
c.JudgeOutside.trust = TRUST

# What students write beside the notebook stays theirs; all else is put back as it was handed out.
c.Autograde.exclude_overwriting = {
    lab: ["answers.toml", *about["students"]] for lab, about in LABS.items()}

c.ExportApp.plugin_class = f"{OURS}.Grades"
