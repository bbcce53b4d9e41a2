"""
The real nbgrader on the built course: a class of eight for each lab, and every trap that is known.

One process a lab runs nbgrader's own commands, all labs at once; what they leave is looked at.
"""

from __future__ import annotations

import copy
import csv
import html
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import pytest

from autograder.grading import simulate
from autograder.grading.grade import Grader
from autograder.kit.errors import KitError
from autograder.kit.message import head
from autograder.kit.release import labs, release_of
from release import nbgrader
from release.freeze import Mistake, mistaken, read_mistakes
from release.leaks import Hidden, read, scan, scan_solution_lines
from release.solution import ROOT, SOLUTIONS, read_solution
from release.tests.notebooks import (
    COURSE,
    DIST,
    Notebook,
    filled_in,
    hand_in,
    handed_out,
    with_cell,
    without_cells,
)

LABS = labs()
ODD = "megakernel"  # the lab whose class has odd notebooks too
needs_nbgrader = pytest.mark.skipif(
    find_spec("nbgrader") is None, reason="nbgrader is not installed: it needs Python 3.11")

COMMANDS = """
import json, sys
sys.modules.setdefault("rfc3987_syntax", None)  # seconds of compiling that nothing here needs
import nbgrader.apps
codes = []
for name, *arguments in json.loads(sys.argv[1]):
    app = getattr(nbgrader.apps, name)
    try:
        code = app.launch_instance(arguments) or 0
    except SystemExit as end:
        code = end.code or 0
    app.clear_instance()
    codes.append([name, code])
print(json.dumps(codes))
"""

# What is done to a notebook, and what must come of it.
KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
FORGE = """
import numpy as np
import autograder.kit.cell
from IPython import get_ipython
autograder.kit.cell.check_cell = lambda *args, **kwargs: np.float64(1e9)
get_ipython().display_formatter.formatters["text/plain"].for_type(
    float, lambda value, printer, cycle: printer.text("nan"))
"""
NOISE = "import sys, warnings\nsys.stderr.write('noise')\nwarnings.warn('noise')"


@dataclass(frozen=True)
class Class:
    """A lab's class: the course folder after all commands, and how each submission was made."""

    lab: str
    course: Path
    wrong: dict[str, Mistake]  # student -> the mistake in their notebook
    codes: dict[str, int]

    @cached_property
    def rows(self) -> dict[str, dict[str, str]]:
        """The rows of grades.csv, by student as the file has them."""
        with (self.course / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
            return {row["student_id"]: row for row in csv.DictReader(file)}

    @cached_property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Student -> cell -> score, as they stand in nbgrader's gradebook."""
        query = """select s.student_id, c.name, g.auto_score from grade g
            join base_cell c on c.id = g.cell_id
            join submitted_notebook n on n.id = g.notebook_id
            join submitted_assignment s on s.id = n.assignment_id"""
        with closing(sqlite3.connect(self.course / "gradebook.db")) as gradebook:
            found: dict[str, dict[str, float | None]] = {}
            for student, cell, score in gradebook.execute(query):
                found.setdefault(student, {})[cell] = score
        return found

    @cached_property
    def graded(self) -> dict[str, dict[str, float]]:
        """Student -> part -> points, as `grade` gives them."""
        grader = Grader(release_of(self.lab))
        try:
            return {p.name: by_part(grader.grade(p / self.lab).content["tests"])
                    for p in sorted((self.course / "submitted").iterdir())}
        finally:
            grader.close()

    def notebook(self, student: str) -> Notebook:
        """The autograded notebook."""
        path = self.course / "autograded" / student / self.lab / f"{self.lab}.ipynb"
        return json.loads(path.read_text(encoding="utf-8"))

    def feedback(self, student: str) -> str:
        """The text of a student's feedback."""
        path = self.course / "feedback" / student / self.lab / f"{self.lab}.html"
        page = re.sub(r"<(style|script).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
        return html.unescape(re.sub("<[^>]+>", "", page))


def by_part(tests: list[dict]) -> dict[str, float]:
    points: dict[str, float] = {}
    for test in tests:
        points[test["tags"][0]] = points.get(test["tags"][0], 0.0) + test["score"]
    return points


def by_cell(scores: dict[str, float]) -> dict[str, float]:
    points: dict[str, float] = {}
    for cell, score in scores.items():
        part = cell.partition("-")[2]
        points[part] = points.get(part, 0.0) + score
    return points


def eight(lab: str) -> tuple[dict[str, Notebook], dict[str, Mistake]]:
    """The class: the solution, the stub, three mistakes, one raises, one lacks cells, one kills."""
    solution = read_solution(lab)
    solved = filled_in(solution, solution.sources)
    mistakes = read_mistakes(solution)
    first = {m.part: m for m in reversed(mistakes)}  # of each part
    chosen = [*first.values(), *(m for m in mistakes if m not in first.values())][:3]
    wrong = dict(zip(("ann", "O'Brien, Zo\u00eb", "\u674e\u5c0f\u9f99"), chosen, strict=True))
    return {
        "solved": solved,
        "007": handed_out(lab),
        **{student: filled_in(solution, mistaken(solution, m)) for student, m in wrong.items()},
        "raises": with_cell(solved, "raise RuntimeError('half way')", 8),
        "deleted": without_cells(solved, "check", "hidden"),
        "=killed": with_cell(solved, KILL, 8),
    }, wrong


def odd(lab: str) -> dict[str, Notebook | str]:
    """Notebooks that would make nbgrader give wrong points, or stop the whole class."""
    solution = read_solution(lab)
    solved = filled_in(solution, solution.sources)

    def changed(change) -> Notebook:
        notebook = copy.deepcopy(solved)
        for cell in notebook["cells"]:
            change(cell)
        return notebook

    def old(cell):
        if about := cell["metadata"].get("nbgrader"):
            about["schema_version"] = 1
            del about["task"]

    def extra(cell):
        cell["metadata"].setdefault("nbgrader", {})["colour"] = "red"

    def retyped(cell):
        if cell["id"].startswith("check"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]

    def rewritten(cell):
        if cell["id"].startswith("check"):
            cell["source"] = "99.0"
            cell["metadata"]["nbgrader"]["points"] = 99

    twice = copy.deepcopy(solved)
    twice["cells"] += [{**cell, "id": f"{cell['id']}-2"} for cell in solved["cells"]]
    return {
        "odd: old schema": changed(old),
        "odd: extra keys": changed(extra),
        "odd: no metadata": changed(lambda cell: cell["metadata"].clear()),
        "odd: retyped": changed(retyped),
        "odd: rewritten": changed(rewritten),
        "odd: twice": twice,
        "odd: forged": with_cell(handed_out(lab), FORGE, 3),
        "odd: noise": with_cell(solved, NOISE, 8),
        "odd: no JSON": "{",
    }


def run_nbgrader(course: Path, *commands: list[str]) -> dict[str, int]:
    """Run nbgrader's commands in one process; their exit codes."""
    done = subprocess.run([sys.executable, "-c", COMMANDS, json.dumps(commands)], cwd=course,
                          capture_output=True, text=True, encoding="utf-8", check=False)
    (course / "log.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def classes(tmp_path_factory) -> dict[str, Class]:
    """A graded class of every lab."""
    if find_spec("nbgrader") is None:
        pytest.skip("nbgrader is not installed: it needs Python 3.11")

    folder = tmp_path_factory.mktemp("courses")

    def one(lab: str) -> Class:
        course = folder / lab
        shutil.copytree(COURSE, course)
        notebooks, wrong = eight(lab)
        answers = (SOLUTIONS / lab / "answers.toml").read_text(encoding="utf-8")
        blank = (COURSE / "release" / lab / "answers.toml").read_text(encoding="utf-8")
        for student, notebook in (notebooks | (odd(lab) if lab == ODD else {})).items():
            hand_in(course / "submitted" / student / lab, lab, notebook,
                    blank if student == "007" else answers)
        codes = run_nbgrader(course, ["GenerateAssignmentApp", lab, "--force"],
                             ["AutogradeApp", lab], ["GenerateFeedbackApp", lab], ["ExportApp"])
        return Class(lab, course, wrong, codes)

    with ThreadPoolExecutor() as pool:
        return dict(zip(LABS, pool.map(one, LABS), strict=True))


@pytest.fixture(params=LABS)
def klass(request, classes) -> Class:
    return classes[request.param]


def test_every_command_ends_as_it_should(klass):
    codes = {"GenerateAssignmentApp": 0, "AutogradeApp": 1, "GenerateFeedbackApp": 0,
             "ExportApp": 0}
    assert klass.codes == codes  # nbgrader says 1 because of the one that killed its kernel


def test_nbgrader_s_points_are_those_of_grade_for_each_part(klass):
    ungraded = {"=killed", "odd: no JSON"}
    assert klass.graded["solved"] == release_of(klass.lab).about["parts"]
    for student, points in klass.graded.items():
        if student not in ungraded:
            assert by_cell(klass.scores[student]) == points, student


def test_the_class_gets_what_it_deserves(klass):
    full = release_of(klass.lab).about["parts"]
    for student in ("solved", "raises", "deleted"):
        assert klass.graded[student] == full
    assert set(klass.graded["007"].values()) == {0.0}
    for student, mistake in klass.wrong.items():
        lost = {part for part, points in klass.graded[student].items() if points < full[part]}
        assert lost == {mistake.part}
        assert mistake.hint in " ".join(klass.feedback(student).split())


def test_the_same_notebooks_get_the_same_points_in_the_gradescope_bundle(klass, tmp_path):
    students = [student for student in klass.graded if not student.startswith("odd")]
    roots = [tmp_path / str(number) / "autograder" for number in range(len(students))]
    for student, root in zip(students, roots, strict=True):  # all written before any is run
        simulate.lay_out(DIST / f"{klass.lab}-gradescope.zip",
                         klass.course / "submitted" / student / klass.lab, root)

    def simulated(root: Path) -> dict[str, float]:
        assert simulate.run(root) == 0
        return by_part(simulate.read_results(root)["tests"])

    with ThreadPoolExecutor(2) as pool:
        points = dict(zip(students, pool.map(simulated, roots), strict=True))
    assert points == {student: klass.graded[student] for student in students}


def test_a_killed_kernel_is_no_honest_zero(klass):
    killed, zero = klass.rows["'=killed"], klass.rows["007"]
    assert (killed["status"], killed["score"]) == ("not graded", "")
    assert all(value == "" for column, value in killed.items() if "/" in column)
    assert (zero["status"], zero["score"]) == ("graded", "0.0")


def test_the_export_is_one_row_a_student_with_a_column_a_part(klass):
    about = release_of(klass.lab).about
    assert {row["assignment"] for row in klass.rows.values()} == {klass.lab}
    assert "O'Brien, Zo\u00eb" in klass.rows and "\u674e\u5c0f\u9f99" in klass.rows
    for student, points in klass.graded.items():
        row = klass.rows.get(student)
        if row and row["status"] == "graded":
            assert float(row["score"]) == sum(points.values())
            assert float(row["max_score"]) == about["points"]
            assert {part: float(row[f"{klass.lab}/{part}"]) for part in points} == points


def test_feedback_shows_no_solution_and_nothing_of_hidden_checks_but_their_sentences(klass):
    solution = read_solution(klass.lab)
    assert scan_solution_lines({"feedback.txt": klass.feedback("007").encode()},
                               Hidden(solution)) == []
    source = (ROOT / "autograder" / "checks" / klass.lab / "hidden.py").read_text(encoding="utf-8")
    public = "".join(p.read_text(encoding="utf-8") for p in
                     (ROOT / "assignments" / klass.lab / "autograder").rglob("*.py"))
    lines = [line.strip() for line in source.splitlines() if len(line.strip()) > 30
             and line.strip() not in public and '"""' not in line]
    assert lines
    for student in ("007", *klass.wrong):
        said = klass.feedback(student)
        assert [line for line in lines if line in said] == []
        assert "hidden=True" in said  # the call is there: the page was not empty


def test_a_hidden_cell_says_sentences_hints_and_points_and_no_more(klass):
    hints = {m.hint for m in read_mistakes(read_solution(klass.lab))}
    hidden = release_of(klass.lab).hidden
    sentences = {c.sentence for c in release_of(klass.lab).checks}
    for student in ("007", "raises", *klass.wrong):
        for cell in klass.notebook(student)["cells"]:
            if not cell["id"].startswith("hidden"):
                continue
            text, value = cell["outputs"]
            for line in "".join(text["text"]).splitlines():
                label, _, rest = line.strip().partition(" ")
                assert (any(line.endswith(f"  {c.sentence}") for c in hidden)
                        or (label == "hint" and rest.strip() in hints)
                        or (label == "reason" and rest.strip().removeprefix("first mend: ")
                            in sentences)
                        or re.fullmatch(r"\w+: [\d.]+ of [\d.]+ hidden points, release \w{8}",
                                        line)), line
            assert re.fullmatch(r"\d+\.\d+", "".join(value["data"]["text/plain"]))


def test_public_cells_say_what_grade_says(klass):
    student, mistake = next(iter(klass.wrong.items()))
    grader = Grader(release_of(klass.lab))
    try:
        results = grader.grade(klass.course / "submitted" / student / klass.lab).results
    finally:
        grader.close()
    said = "".join("".join(o.get("text", "")) for c in klass.notebook(student)["cells"]
                   for o in c.get("outputs", []))
    assert [head(r) for r in results if head(r) not in said] == []
    assert f"hint      {mistake.hint}" in said


def test_the_course_holds_no_solution():
    code = {name: data for name, data in read(COURSE / "grader").items() if name.endswith(".py")}
    for lab in LABS:
        hidden, source = Hidden(read_solution(lab)), COURSE / "source" / lab
        name = f"{lab}.ipynb"
        others = {n: d for n, d in read(source).items() if n != name}
        assert others.items() <= assignment(lab).items()
        assert scan({name: (source / name).read_bytes()}, hidden) == []
        assert scan_solution_lines(code, hidden) == []


# --- odd notebooks --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["old schema", "extra keys", "no metadata", "retyped",
                                  "rewritten", "twice", "noise"])
def test_an_odd_notebook_gets_the_points_of_its_functions(classes, name):
    klass = classes[ODD]
    assert by_cell(klass.scores[f"odd: {name}"]) == release_of(ODD).about["parts"]
    assert klass.rows[f"odd: {name}"]["status"] == "graded"


def test_a_forging_notebook_gets_what_its_functions_deserve(classes):
    assert set(classes[ODD].scores["odd: forged"].values()) <= {
        0.0, release_of(ODD).about["parts"]["questions"]}


def test_a_notebook_that_can_t_be_read_stops_nobody_and_is_not_graded(classes):
    assert classes[ODD].rows["odd: no JSON"]["status"] == "not graded"


# --- the course itself ----------------------------------------------------------------------------


@needs_nbgrader
def test_where_cells_are_not_run_the_points_are_the_same_and_nothing_is_killed(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course)
    config = course / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("RUN_CELLS = True", "RUN_CELLS = False"), encoding="utf-8")
    solution = read_solution(ODD)
    answers = (SOLUTIONS / ODD / "answers.toml").read_text(encoding="utf-8")
    notebook = with_cell(filled_in(solution, solution.sources), KILL)
    hand_in(course / "submitted" / "ann" / ODD, ODD, notebook, answers)
    codes = run_nbgrader(course, ["AutogradeApp", ODD], ["ExportApp"])
    assert codes == {"AutogradeApp": 0, "ExportApp": 0}
    row = Class(ODD, course, {}, codes).rows["ann"]
    assert (row["status"], float(row["score"])) == ("graded", release_of(ODD).about["points"])


@needs_nbgrader
def test_validate_tells_a_stub_from_a_solution_and_exits_0_either_way(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course)
    solution = read_solution(ODD)
    solved = course / "release" / ODD / "solved.ipynb"
    solved.write_text(json.dumps(filled_in(solution, solution.sources)), encoding="utf-8")
    said = {}
    for path in (solved, course / "release" / ODD / f"{ODD}.ipynb"):
        codes = run_nbgrader(course, ["ValidateApp", str(path.relative_to(course))])
        assert codes == {"ValidateApp": 0}  # whoever asks a script has to read what it says
        said[path.stem] = (course / "log.txt").read_text(encoding="utf-8")
    assert "Success! Your notebook passes all the tests." in said["solved"]
    assert "VALIDATION FAILED ON" in said[ODD]


@needs_nbgrader
def test_a_course_of_one_new_lab_and_others_kept_is_the_same_to_the_last_byte(tmp_path):
    with zipfile.ZipFile(DIST / f"{ODD}-gradescope.zip") as archive:
        bundle = {name: archive.read(name) for name in archive.namelist()}
    notebook = (COURSE / "source" / ODD / f"{ODD}.ipynb").read_bytes()
    with nbgrader.Course(tmp_path) as course:
        course.add(ODD, assignment(ODD), notebook, bundle)
        for lab in LABS:
            if lab != ODD:
                course.keep(lab, COURSE)
        course.keep("no such lab", COURSE)
        course.finish()
    assert read(tmp_path) == read(COURSE)


@needs_nbgrader
def test_students_get_the_same_folder_with_and_without_nbgrader():
    for lab in LABS:
        assert read(COURSE / "release" / lab) == assignment(lab)


def generate(course: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "release.nbgrader", str(course)], input="",
                          capture_output=True, text=True, encoding="utf-8", cwd=ROOT, check=False)


@needs_nbgrader
@pytest.mark.parametrize(("find", "instead", "said"), [
    ("### END HIDDEN TESTS", "# the end", "No end hidden tests statement found"),
    ('"schema_version": 3', '"schema_version": 3, "colour": "red"', "failed to validate"),
])
def test_what_nbgrader_refuses_is_told_with_file_and_cell(tmp_path, find, instead, said):
    course = tmp_path / "course"
    shutil.copytree(COURSE, course, ignore=shutil.ignore_patterns("release", "gradebook.db"))
    path = course / "source" / ODD / f"{ODD}.ipynb"
    text = path.read_text(encoding="utf-8")
    at = text.index('"id": "hidden-')
    path.write_text(text[:at] + text[at:].replace(find, instead, 1), encoding="utf-8")
    done = generate(course)
    what, todo = done.stderr.splitlines()[-2:]
    assert done.returncode == 2
    assert re.match(rf"{ODD}\.ipynb: cell (hidden|text|given|stub|check)-[\w-]+: ", what)
    assert said in what and "nothing was written" in todo


def assignment(lab: str) -> dict[str, bytes]:
    """The files of assignments/<lab>, without what running them leaves behind."""
    return {n: d for n, d in read(ROOT / "assignments" / lab).items() if "__pycache__" not in n}


def small(course: nbgrader.Course) -> None:
    about = b'{"students": []}'
    course.add("tiny", {"tiny.ipynb": b"{}\n"}, b"{}\n", {"autograder/frozen/tiny/lab.json": about})


def test_without_nbgrader_everything_but_the_gradebook_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(nbgrader, "find_spec", lambda name: None)
    with nbgrader.Course(tmp_path) as course:
        small(course)
        course.finish()
    assert (tmp_path / "release" / "tiny" / "tiny.ipynb").exists()
    assert (tmp_path / "grader" / "autograder" / "classroom" / "nbgrader_course.py").exists()
    assert not (tmp_path / "gradebook.db").exists()
    assert "nbgrader is not installed" in capsys.readouterr().out


@needs_nbgrader
def test_a_course_that_nbgrader_can_t_generate_stops_the_build(tmp_path):
    with nbgrader.Course(tmp_path) as course:
        small(course)
        with pytest.raises(KitError, match=r"tiny\.ipynb"):
            course.finish()


@needs_nbgrader
def test_a_release_that_differs_from_assignments_stops_the_build(tmp_path):
    with nbgrader.Course(tmp_path) as course:
        course.keep(ODD, COURSE)
        course.released[ODD]["answers.toml"] = b""
        with pytest.raises(KitError, match=f"releases {ODD}/answers.toml otherwise"):
            course.finish()
