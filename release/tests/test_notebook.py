"""Each lab's notebook: what it holds, that its bytes are settled, and what its check cells say."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from autograder.kit.errors import KitError
from autograder.kit.release import labs, release_of
from release import notebook
from release.leaks import Hidden, scan
from release.notebook import BEGIN, END, LANGUAGES
from release.solution import ROOT, Solution, read_solution
from release.tests.notebooks import COURSE, filled_in, handed_out, with_cell

LABS = labs()


def texts(lab: str) -> dict[str, bytes]:
    """The handouts as students get them."""
    folder = COURSE / "release" / lab
    return {name: (folder / name).read_bytes() for name in LANGUAGES.values()}


def made(lab: str, language: str = "en") -> notebook.Notebook:
    return notebook.make(read_solution(lab), texts(lab), language, release_of(lab).checks)


def cells_of(data: bytes) -> list[dict]:
    return json.loads(data)["cells"]


@pytest.mark.parametrize("lab", LABS)
def test_a_notebook_s_bytes_depend_on_nothing_but_the_lab(lab):
    first, second = made(lab), made(lab)
    assert first == second
    assert first.course == (COURSE / "source" / lab / f"{lab}.ipynb").read_bytes()
    assert first.student == (ROOT / "assignments" / lab / f"{lab}.ipynb").read_bytes()


@pytest.mark.parametrize("lab", LABS)
def test_a_notebook_leaks_nothing(lab):
    assert scan({"student.ipynb": made(lab).student}, Hidden(read_solution(lab))) == []
    course = "\n".join("".join(cell["source"]) for cell in cells_of(made(lab).course))
    for region in re.findall(f"{BEGIN}(.*?){END}", course, re.DOTALL):
        assert re.fullmatch(r"\nfrom autograder.kit.cell import check_cell\n\n"
                            r'check_cell\("\w+", globals\(\), hidden=True\)\n', region)
    student = made(lab).student.decode()
    assert BEGIN not in student and "hidden=True" not in student


@pytest.mark.parametrize("lab", LABS)
def test_cells_have_their_own_names_and_no_outputs(lab):
    cells = cells_of(made(lab).student)
    names = [cell["id"] for cell in cells]
    assert max(Counter(names).values()) == 1
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    for cell in cells:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
        about = cell["metadata"].get("nbgrader")
        assert about is None or about["grade_id"] == cell["id"]


@pytest.mark.parametrize("lab", LABS)
def test_text_given_code_and_check_cells_are_locked_and_stubs_are_not(lab):
    locked = {"text", "given", "check", "hidden"}
    for cell in cells_of(made(lab).student):
        kind = cell["id"].partition("-")[0]
        about = cell["metadata"].get("nbgrader", {"locked": False, "solution": False})
        assert (about["locked"], about["solution"]) == (kind in locked, kind == "stub")
        assert cell["metadata"].get("editable", True) == (kind not in locked)
        assert set(about) <= {"cell_type", "checksum", "grade", "grade_id", "locked", "points",
                              "schema_version", "solution", "task"}


@pytest.mark.parametrize("lab", LABS)
def test_each_part_s_cells_are_worth_what_its_checks_are(lab):
    worth = Counter()
    for cell in cells_of(made(lab).course):
        kind, _, part = cell["id"].partition("-")
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            worth[kind, part] += cell["metadata"]["nbgrader"]["points"]
    expected = Counter()
    for check in release_of(lab).checks:
        expected["hidden" if check.hidden else "check", check.part] += check.points
    assert worth == expected


@pytest.mark.parametrize("lab", LABS)
def test_every_function_has_a_stub_and_its_check_cells_come_after_it(lab):
    solution = read_solution(lab)
    names = [cell["id"] for cell in cells_of(made(lab).student)]
    for function in solution.functions:
        at = names.index(f"stub-{function}")
        assert names[at + 1].startswith(f"check-{function}")
    for part in release_of(lab).about["parts"]:
        assert f"check-{part}" in names or f"hidden-{part}" in names


@pytest.mark.parametrize("lab", LABS)
def test_the_chinese_notebook_has_other_text_and_the_same_code(lab):
    english, chinese = (cells_of(made(lab, language).student) for language in ("en", "zh"))
    assert [c for c in english if c["cell_type"] == "code"] == [
        c for c in chinese if c["cell_type"] == "code"]
    assert [c["id"] for c in english] == [c["id"] for c in chinese]
    text = "".join("".join(c["source"]) for c in chinese if c["cell_type"] == "markdown")
    assert re.search("[\u4e00-\u9fff]", text)


TINY = Solution("tiny", {"doubling.py": '''"""Doubling."""

from math import inf

TWO = 2


def double(x):
    """Twice x."""
    return _double(x)


def _double(x):
    # BEGIN SOLUTION: return twice x
    return TWO * x
    # END SOLUTION


# A helper.
def _half(x):
    return x / TWO
'''})


def tiny(handout: str, language: str = "en") -> list[dict]:
    pages = notebook.make(TINY, {"handout.md": handout.encode()}, language, [])
    return cells_of(pages.student)


def test_a_stub_cell_holds_the_function_and_the_helper_that_students_write():
    cells = {c["id"]: "".join(c["source"]) for c in tiny("# t\n\n<!-- code: double -->\n")}
    assert cells["given-doubling"] == (
        "# Given, as in doubling.py: nothing to complete here.\n\nfrom math import inf\n\nTWO = 2\n"
        "\n\n# A helper.\ndef _half(x):\n    return x / TWO")
    assert cells["stub-double"] == (
        'def double(x):\n    """Twice x."""\n    return _double(x)\n\n\ndef _double(x):\n'
        '    # TODO: return twice x\n    raise NotImplementedError("TODO: return twice x")')


def test_text_is_cut_at_headings_and_marks_and_not_within_code():
    cells = tiny("# t\nabc\n\n## One\n```\n## no heading\n<!-- code: double -->\n```\n"
                 "<!-- code: double -->\n## Two\n")
    assert [c["id"] for c in cells] == ["text-01", "text-how", "text-02", "given-doubling",
                                        "stub-double", "text-03"]
    assert "## no heading" in "".join(cells[2]["source"])


@pytest.mark.parametrize(("handout", "message"), [
    ("# t\n", "solutions/tiny/handout.md: no place for the stub of double"),
    ("# t\n\n<!-- code: treble -->\n", "solutions/tiny/handout.md:3: code: treble is no mark"),
    ("<!-- code: double -->\n" * 2, "solutions/tiny/handout.md:2: code: double is no mark, or the"),
    ("<!-- figure: nil -->\n", "solutions/tiny/handout.md:1: figure: nil is no mark"),
    ("<!-- cod: double -->\n", "solutions/tiny/handout.md:1: cod: double is no mark"),
])
def test_a_mark_that_fits_nothing_stops_the_build(handout, message):
    with pytest.raises(KitError, match=re.escape(message)):
        tiny(handout)


def test_a_missing_handout_stops_the_build():
    with pytest.raises(KitError, match=r"solutions/tiny/handout\.zh\.md: there is no such file"):
        tiny("# t\n", "zh")


def test_an_import_from_another_file_that_students_fill_in_is_the_notebook_s_own():
    sources = {"doubling.py": TINY.sources["doubling.py"].replace(
        "from math import inf", "from first import one"), "first.py": '''def one():
    # BEGIN SOLUTION: return 1
    return 1
    # END SOLUTION
'''}
    solution = dataclasses.replace(TINY, sources=sources)
    handout = b"<!-- code: one -->\n<!-- code: double -->\n"
    cells = cells_of(notebook.make(solution, {"handout.md": handout}, "en", []).student)
    assert "import" not in "".join("".join(c["source"]) for c in cells if c["id"] != "text-how")


# --- what check cells say, on a student's machine -------------------------------------------------

RUN = """
import ast, json, sys
namespace = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] != "code" or cell["id"].startswith("figure"):
        continue
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell["id"], "exec"), namespace)
    if last:
        value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), namespace)
        print("Out", cell["id"], type(value).__name__, repr(value))
"""


def run(tmp_path: Path, lab: str, content: dict) -> tuple[dict[str, str], str, str]:
    """Run a notebook as Jupyter would: cell id -> its value; what it printed; its stderr."""
    folder = tmp_path / lab
    if not folder.exists():
        shutil.copytree(ROOT / "assignments" / lab, folder)
    (folder / "mine.ipynb").write_text(json.dumps(content), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", RUN, "mine.ipynb"], cwd=folder, text=True,
                          capture_output=True, encoding="utf-8", check=False)
    values = {line.split()[1]: line.split(maxsplit=2)[2] for line in done.stdout.splitlines()
              if line.startswith("Out ")}
    assert done.returncode == 0, done.stderr
    return values, done.stdout, done.stderr


def public_points(lab: str) -> dict[str, float]:
    worth: dict[str, float] = {}
    for check in release_of(lab).public:
        worth[check.part] = worth.get(check.part, 0.0) + check.points
    return worth


@pytest.mark.parametrize("lab", LABS)
def test_check_cells_give_the_solution_all_public_points_and_the_stub_none(lab, tmp_path):
    solution = read_solution(lab)
    solved, _, errors = run(tmp_path, lab, filled_in(solution, solution.sources))
    assert solved == {f"check-{part}": f"float {points!r}"
                      for part, points in public_points(lab).items()}
    stubs, said, more = run(tmp_path, lab, handed_out(lab))
    assert stubs == {name: "float 0.0" for name in solved}
    assert errors == more == ""
    assert said.count("NotImplementedError: TODO") == len(solved)  # once a cell
    assert f"release {release_of(lab).version}" in said


NOISE = '''
import logging, os, sys, warnings
import {file} as theirs
def {name}(*args, **kwargs):
    print("here I am")
    sys.stderr.write("to stderr\\n")
    os.write(2, b"straight to descriptor 2\\n")
    warnings.warn("a warning")
    logging.getLogger("student").warning("a log line")
    raise KeyError("no")
'''


def test_what_a_student_s_code_prints_is_shown_and_never_on_stderr(tmp_path):
    content = handed_out("megakernel")
    at = [c["id"] for c in content["cells"]].index("stub-timeline") + 1
    noisy = with_cell(content, NOISE.format(file="timeline", name="timeline"), at)
    values, said, errors = run(tmp_path, "megakernel", noisy)
    assert set(values.values()) == {"float 0.0"} and errors == ""
    assert "your code printed:\nhere I am\n" in said and "descriptor 2" not in said
    assert "got       KeyError: 'no'" in said


def test_a_cell_sees_the_function_as_it_is_now_and_what_other_cells_found(tmp_path):
    solution = read_solution("megakernel")
    content = filled_in(solution, solution.sources)
    check = next(c for c in content["cells"] if c["id"].startswith("check-timeline"))
    wrong = {**check, "id": "own-wrong", "source": "timeline_was = timeline\n"
             "def timeline(*args): return None"}
    right = {**check, "id": "own-right", "source": "timeline = timeline_was"}
    before = [c for c in content["cells"] if c["id"].startswith(("given", "stub"))]
    content["cells"] = [*before, wrong, {**check, "id": "own-first"}, right, check]
    values, said, _ = run(tmp_path, "megakernel", content)
    assert values["own-first"] == "float 0.0" and values[check["id"]] != "float 0.0"
    assert "reason    first mend: " in said


def test_a_notebook_s_hidden_cell_says_when_it_is_judged(tmp_path):
    content = handed_out("megakernel")
    call = "from autograder.kit.cell import check_cell\ncheck_cell('questions', globals(), True)"
    values, said, _ = run(tmp_path, "megakernel", with_cell(content, call))
    assert values["own"] == "float 0.0"
    assert "hidden checks: judged when the notebook is graded" in said


def test_the_notebook_s_code_is_the_modules_code():
    for lab in LABS:
        solution = read_solution(lab)
        content = filled_in(solution, solution.sources)
        code = "\n".join("".join(c["source"]) for c in content["cells"]
                         if c["id"].startswith(("given", "stub")))
        ours = {ast.dump(node) for node in ast.parse(code).body}
        theirs = {ast.dump(node) for file in solution.students
                  for node in ast.parse(solution.sources[file]).body[1:]}
        assert ours == theirs
