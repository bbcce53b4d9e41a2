"""The build: the same bytes anywhere, and either a whole new release or the whole old one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = "megakernel"  # the fastest to build
PUBLIC = f"autograder/checks/{LAB}/public.py"
MISTAKES = f"autograder/mistakes/{LAB}.toml"
SOURCE = f"solutions/{LAB}/timeline.py"
HANDOUT = f"solutions/{LAB}/handout.md"
TERM = max((ROOT / "release" / "terms").glob("*.toml")).relative_to(ROOT).as_posix()
ANSWERS = f"solutions/{LAB}/answers.toml"

FAILING = '''

@check(points=1, part="timeline_kernels")
def test_nobody_passes_this(lab, frozen):
    """nobody passes this"""
    for _, got in answered(lab, frozen.cases("kernels")):
        expect_number(got["t"], -1.0, "t")
'''
GIVEN_ONLY = '''

@check(points=1, part="timeline_kernels")
def test_given_code_is_there(lab):
    """given code is there"""
    lab.llama_1b_ops(8, 16)
'''


def copy_of_the_project(root: Path) -> Path:
    """What a build needs, with one known mistake a lab: tables of them take most of its time."""
    skip = shutil.ignore_patterns("dist", "__pycache__", "tests", ".*")
    for name in ("solutions", "autograder", "release"):
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    for path in (root / "autograder" / "mistakes").glob("*.toml"):
        tables = path.read_text(encoding="utf-8").split("[[mistake]]")
        path.write_text("[[mistake]]".join(tables[:2]), encoding="utf-8")
    return root


def python(project: Path, *arguments: str, cwd: Path | None = None, **env: str
           ) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], cwd=cwd or project, text=True,
                          capture_output=True, encoding="utf-8", timeout=120,
                          env={**os.environ, "PYTHONPATH": str(project), **env})


def build(project: Path, *arguments: str, **kwargs) -> str:
    """What a build that must succeed prints."""
    done = python(project, "-m", "release", "build", *arguments, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def content(*folders: Path) -> dict[str, str]:
    """The sha256 of every file below the folders."""
    return {f"{folder.name}/{path.relative_to(folder).as_posix()}":
            hashlib.sha256(path.read_bytes()).hexdigest()
            for folder in folders for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts}


def released(project: Path) -> dict[str, str]:
    return content(project / "assignments", project / "release" / "dist")


def left_over(project: Path) -> list[str]:
    """What a build makes on its way and has to take away."""
    return [p.name for p in project.rglob(".*") if re.match(r"\.build-|.*\.old$", p.name)]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project with a release of one lab."""
    root = copy_of_the_project(tmp_path_factory.mktemp("project"))
    build(root, LAB)
    return root


# A build that is to be refused: what else it would make in the meantime takes most of its time.
REFUSING = """
import sys
import release.build, release.nbgrader
from release.__main__ import main

release.nbgrader.find_spec = lambda name: None
release.build.draw = lambda *what: {}
sys.exit(main(sys.argv[1:]))
"""


def change(project: Path, name: str, old: str, new: str) -> str:
    """The file's text after what occurs once is replaced; no old text: after new is appended."""
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert not old or text.count(old) == 1, (name, old)
    text = text.replace(old, new) if old else text + new
    path.write_text(text, encoding="utf-8")
    return text


def test_another_place_time_zone_language_umask_and_hash_seed_give_the_same_bytes(
        project, tmp_path):
    other = copy_of_the_project(tmp_path / "ö, 2" / "project")
    change(other, ANSWERS, "q8_microseconds_saved = ", "q8_microseconds_saved = 1")
    answers = (other / ANSWERS).read_bytes()
    umask = os.umask(0o077)
    try:
        build(other, LAB, "--out", str(tmp_path / "out"), cwd=tmp_path, LC_ALL="C", LANG="C",
              TZ="Asia/Kathmandu", PYTHONHASHSEED="1", SOURCE_DATE_EPOCH="1")
    finally:
        os.umask(umask)
    assert content(tmp_path / "out" / "assignments", tmp_path / "out" / "dist") == released(project)
    # Building elsewhere leaves the project alone, answers of another term among it.
    assert (other / ANSWERS).read_bytes() == answers
    assert not (other / "release" / "dist").exists()


FAILS = '@check(points=1, part="timeline_kernels")\ndef test_nobody_passes'
PASSES = '@check(points=1, part="timeline_kernels")\ndef test_given_code'
BEGIN_2 = "    # BEGIN SOLUTION: return the seconds of each part when every op is an instruction"
AGAIN = "mend that, then run the command again; the old release is whole"
REFUSED = {  # what is changed; what the message points at, says, and advises
    "the solution is not full marks": (
        PUBLIC, "", FAILING, FAILS,
        r"the solution fails nobody_passes_this: expected t = -1; got t = .+",
        "mend solution, check or oracle; nothing was written"),
    "the stub passes a check": (
        PUBLIC, "", GIVEN_ONLY, PASSES,
        r"the fresh stub does not fail given_code_is_there with NotImplementedError: it is passed "
        r"\(graded\)", "every check must call something students write; nothing was written"),
    "a check's module can't be imported": (
        PUBLIC, "", "\nimport nowhere\n", "import nowhere",
        "ModuleNotFoundError: No module named 'nowhere'", AGAIN),
    "a check's module is no Python": (
        PUBLIC, "", "\ndef f(:\n", "def f(:", "invalid syntax", AGAIN),
    "a check without points": (
        PUBLIC, "", FAILING.replace("points=1", "points=0"), FAILS.replace("=1", "=0"),
        "test_nobody_passes_this has points=0", "points are a number above 0"),
    "a check without a sentence": (
        PUBLIC, "", FAILING.replace('"""nobody passes this"""', ""), FAILS,
        "test_nobody_passes_this has no docstring",
        "its docstring is the sentence that students read"),
    "a check of a part that there is not": (
        PUBLIC, "", FAILING.replace('part="', 'part="all_'), FAILS.replace('part="', 'part="all_'),
        "test_nobody_passes_this has part='all_timeline_kernels'",
        "a part is questions or begins with one of timeline"),
    "a region that does not end": (
        SOURCE, "    # END SOLUTION\n\n\ndef _megakernel", "\n\ndef _megakernel", BEGIN_2,
        r"BEGIN SOLUTION inside the region of line \d+",
        "a region is '# BEGIN SOLUTION: <goal>' to '# END SOLUTION', to its function's end"),
    "a solution that is no Python": (
        SOURCE, "def timeline(", "def def timeline(", "def def", "invalid syntax",
        "mend it; nothing was written"),
    "a misspelt figure": (
        HANDOUT, "{{ideal_us}}", "{{ideal}}", "{{ideal}}",
        r"\{\{ideal\}\} is no figure of this term", "figures: .*ideal_us.*"),
    "a snippet that the solution lacks": (
        MISTAKES, "snippet = 'parts", "snippet = 'party", 'id = "kernels_first',
        "kernels_first_launch_free: its snippet occurs 0 times in timeline.py",
        "a snippet must occur exactly once"),
    "a mistake with a misspelt key": (
        MISTAKES, "\ninstead = ", "\ninsted = ", None, "kernels_first_launch_free lacks instead",
        "a mistake has id, part, file, snippet, instead, hint"),
    "a term with a misspelt figure": (
        TERM, "\nlaunch_us", "\nlauch_us", None,
        r"\[megakernel\] lacks launch_us; it has: context, rows_per_cta, lauch_us",
        "compare it with an older term's file; nothing was written"),
    "a term that is no TOML": (
        TERM, "launch_us = ", "launch_us = 1,", "launch_us = 1,",
        "Expected newline or end of document after a statement",
        r"a term is a copy of an older one in release/terms/"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_build_says_where_and_what_to_do_and_writes_nothing(project, why):
    name, old, new, at, what, todo = REFUSED[why]
    kept = (project / name).read_bytes()
    before = released(project)
    text = change(project, name, old, new)
    solutions = content(project / "solutions")
    try:
        done = python(project, "-c", REFUSING, "build", LAB)
        assert (released(project), content(project / "solutions")) == (before, solutions)
    finally:
        (project / name).write_bytes(kept)
    assert done.returncode == 2, done.stdout + done.stderr
    line = f":{text[:text.index(at)].count(chr(10)) + 1}" if at else ""
    assert re.fullmatch(f"{name}{line}: {what}\n{todo}\n", done.stderr), done.stderr
    assert done.stdout == "" and left_over(project) == []


@pytest.mark.parametrize("command", [["grade", LAB, f"solutions/{LAB}"],
                                     ["regrade", LAB, "solutions", "--out", "regraded"]])
def test_a_check_s_typing_mistake_is_told_by_commands_that_judge(project, command):
    kept = (project / PUBLIC).read_bytes()
    line = change(project, PUBLIC, "", "\nx = y\n").count("\n")
    try:
        done = python(project, "-m", "autograder", *command)
    finally:
        (project / PUBLIC).write_bytes(kept)
    assert done.returncode == 2
    assert done.stderr == (f"{PUBLIC}:{line}: NameError: name 'y' is not defined\n"
                           "mend that, then run the command again\n")


def test_a_solution_that_the_oracle_contradicts_is_refused(project):
    name = "autograder/checks/oracle.py"
    kept = (project / name).read_bytes()
    change(project, name, "", "\n\n_right = attention\n\n\ndef attention(*args, **kwargs):\n"
           "    right = _right(*args, **kwargs)\n    return right._replace(O=right.O + 1e-6)\n")
    before = released(project)
    try:
        done = python(project, "-c", REFUSING, "build", "flash_decoding")
    finally:
        (project / name).write_bytes(kept)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.match(r"autograder/checks/flash_decoding/public.py:\d+: the solution fails "
                    r"o_is_attention_over_all_keys: expected o", done.stderr)
    assert released(project) == before


def test_a_file_that_is_not_utf8_is_named_with_its_line(project):
    kept = (project / HANDOUT).read_bytes()
    (project / HANDOUT).write_bytes(kept.replace("µ".encode(), "µ".encode("latin-1"), 1))
    try:
        done = python(project, "-c", REFUSING, "build", LAB)
    finally:
        (project / HANDOUT).write_bytes(kept)
    line = kept[:kept.index("µ".encode())].count(b"\n") + 1
    assert done.stderr == f"{HANDOUT}:{line}: byte 0xb5 is not UTF-8\nsave the file as UTF-8\n"
    assert done.returncode == 2


def test_a_folder_that_cannot_be_made_is_a_tool_error(project):
    (project / "taken").write_text("", encoding="utf-8")
    done = python(project, "-m", "release", "build", LAB, "--out", "taken/x")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "taken/x: Not a directory")


def test_a_killed_build_leaves_folders_whole_and_the_next_one_clears_up(project, tmp_path):
    root = tmp_path / "project"
    shutil.copytree(project, root)
    old = released(root)
    change(root, HANDOUT, "# megakernel: ", "# megakernel again: ")
    killed = python(root, "-c", KILLED_AT_RENAME, "2", "build", LAB)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    aside = root / "assignments" / f".{LAB}.old"
    stays = content(aside if aside.exists() else root / "assignments" / LAB)
    was = {k.split("/", 2)[2]: v for k, v in old.items() if k.startswith(f"assignments/{LAB}/")}
    assert {name.split("/", 1)[1]: sha for name, sha in stays.items()} == was
    assert content(root / "release" / "dist").items() <= old.items()
    assert left_over(root)
    build(root, LAB)
    assert left_over(root) == []
    text = (root / "assignments" / LAB / "handout.md").read_text(encoding="utf-8")
    assert text.startswith("# megakernel again: ")


KILLED_AT_RENAME = """
import os, signal, sys
import release.build, release.nbgrader, release.swap
from release.__main__ import main

release.nbgrader.find_spec = lambda name: None
release.build.draw = lambda *what: {}
rename, at = os.rename, int(sys.argv[1])

def killed(*args):
    global at
    at -= 1
    if at == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*args)

release.swap.os.rename = killed
main(sys.argv[2:])
"""

KILLED_SWAP = """
import os, signal, sys
from pathlib import Path
from release.swap import swap_in

rename, at = os.rename, int(sys.argv[1])

def killed(*args):
    global at
    if at == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    at -= 1
    rename(*args)

os.rename = killed
swap_in([(Path("new", name), Path(name)) for name in ("a", "b")])
"""


@pytest.mark.parametrize("renames", range(4))
def test_a_kill_before_any_rename_leaves_each_folder_old_or_new(tmp_path, renames):
    for name, text in (("a", "old"), ("b", "old"), ("new/a", "new"), ("new/b", "new")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text(text, encoding="utf-8")
    done = python(ROOT, "-c", KILLED_SWAP, str(renames), cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    recovered = python(ROOT, "-c", "from pathlib import Path\nfrom release.swap import recover\n"
                       "recover(Path('a')); recover(Path('b'))", cwd=tmp_path)
    assert recovered.returncode == 0, recovered.stderr
    assert [(tmp_path / name / "file").read_text(encoding="utf-8") for name in ("a", "b")] == [
        "new" if renames >= 2 else "old", "old"]
    assert left_over(tmp_path) == []


def test_a_build_of_one_lab_keeps_the_others_in_the_manifest(project):  # the last: it adds a lab
    build(project, "flash_decoding")
    dist = project / "release" / "dist"
    manifest = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["labs"].keys() == {"flash_decoding", LAB}
    about = json.loads((dist / "frozen" / LAB / "lab.json").read_text(encoding="utf-8"))
    assert manifest["labs"][LAB] == {
        key: about[key] for key in ("term", "version", "points", "parts")}
    assert manifest["files"] == {name.removeprefix("dist/"): sha for name, sha in
                                 content(dist).items() if name != "dist/manifest.json"}
