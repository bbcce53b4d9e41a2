"""Grading one submission: real graders, real workers, and what is left when somebody ends them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.grading import grade, nursery, worker
from autograder.grading.grade import Grader
from autograder.kit.release import labs, release_of
from autograder.kit.run import FAILED, NOT_JUDGED, PASSED
from autograder.tests.test_results import valid
from autograder.worker import confine, limits

ROOT = Path(__file__).resolve().parents[2]
LABS = labs()
FULL = {"flash_attention": 60, "flash_decoding": 20, "megakernel": 20}

try:
    grade.refuse_unconfined(trust=False)
except grade.KitError as error:
    pytestmark = pytest.mark.skip(reason=error.what)


@pytest.fixture(scope="module")
def graders():
    """lab -> its grader, kept from test to test."""
    started = {}

    def start(lab: str) -> Grader:
        if lab not in started:
            started[lab] = Grader(release_of(lab))
        return started[lab]

    yield start
    for grader in started.values():
        grader.close()


@pytest.fixture
def quick(monkeypatch):
    """Limits under which a hang costs a second."""
    monkeypatch.setattr(limits, "CALL_SECONDS", 1.0)


def submission(folder: Path, lab: str, **changed: str) -> Path:
    """The solution, with other texts for some of its files: flash_forward="...", or text added."""
    path = folder / lab
    shutil.copytree(ROOT / "solutions" / lab, path)
    for name, text in changed.items():
        file = path / f"{name}.py"
        if text.startswith("+"):
            text = file.read_text(encoding="utf-8") + "\n\n" + text[1:]
        file.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("seed", [0, -1])
def test_a_seed_that_no_result_shows_is_refused(graders, tmp_path, seed):
    with pytest.raises(grade.KitError, match=f"--seed {seed}: seeds start at 1"):
        graders("megakernel").grade(submission(tmp_path, "megakernel"), seed)


def points(graded) -> dict[str, float]:
    """The points of each part."""
    parts: dict[str, float] = defaultdict(float)
    for result in graded.results:
        parts[result.check.part] += result.score
    return dict(parts)


def statuses(graded, part: str) -> set[str]:
    """The statuses of the part's checks that did not pass."""
    return {r.status for r in graded.results if r.check.part == part and r.outcome != PASSED}


# --- full marks and none ------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS)
def test_the_solution_gets_full_marks(graders, lab):
    graded = graders(lab).grade(ROOT / "solutions" / lab)
    assert graded.score == FULL[lab] == graded.content["score"]
    valid(graded.content)
    protections = graded.content["extra_data"]["protections"]
    assert "rlimits" in protections and "seccomp" in protections
    assert ("own user" in protections) == confine.available().uids


@pytest.mark.parametrize("lab", LABS)
def test_the_stub_gets_nothing(graders, lab, tmp_path):
    shutil.copytree(graders(lab).release.folder / "handed_out", tmp_path / "stub")
    graded = graders(lab).grade(tmp_path / "stub")
    assert graded.score == 0
    outside = [r for r in graded.results if r.check.part != "questions"]
    assert {(r.outcome, r.status) for r in outside} == {(FAILED, "not implemented")}


@pytest.mark.parametrize("lab", LABS)
def test_an_empty_submission_gets_nothing_and_says_what_was_looked_for(graders, lab, tmp_path):
    graded = graders(lab).grade(tmp_path)
    assert graded.score == 0 and graded.content["extra_data"]["status"] == "missing"
    for file in (*graders(lab).release.about["students"], "answers.toml"):
        assert f"{file} was looked for; found: nothing" in graded.content["output"]


def test_what_is_handed_in_is_run_and_not_the_solution(graders, tmp_path):
    path = submission(tmp_path, "megakernel", timeline="+_honest = timeline\n\n\n"
                      "def timeline(ops, mode, *args, **kwargs):\n"
                      "    result = _honest(ops, mode, *args, **kwargs)\n"
                      "    return result | {'t': 0.0} if mode == 'kernels' else result\n")
    got = points(graders("megakernel").grade(path))
    assert got["timeline_kernels"] < 8 and got["timeline_megakernel"] == 9


@pytest.mark.parametrize("imports", [
    "from numpy import *\nfrom builtins import *", "from numpy.testing import assert_allclose",
    "from numpy import testing as check", "from numpy.typing import NDArray",
    "np.testing.assert_allclose(1, 1)", "import asyncio, unittest.mock, numpy.testing as check",
    "from numpy.lib.stride_tricks import sliding_window_view",
])
def test_any_part_of_numpy_can_be_imported(graders, tmp_path, imports):
    path = submission(tmp_path, "flash_decoding", split_kv="+" + imports + "\n")
    assert points(graders("flash_decoding").grade(path))["split_kv_decode"] == 10


@pytest.mark.parametrize("text", ["import" + " " * 300_000, "import a " * 40_000,
                                  "import " + "a.b, " * 60_000], ids=["spaces", "words", "commas"])
def test_a_file_s_imports_are_found_in_one_pass(graders, tmp_path, text):
    path = submission(tmp_path, "flash_decoding", split_kv=f"+# {text}\n")
    assert points(graders("flash_decoding").grade(path))["split_kv_decode"] == 10


def test_an_answer_that_cannot_be_read_costs_itself_and_no_other(graders, tmp_path):
    path = submission(tmp_path, "flash_attention")
    answers = (path / "answers.toml").read_text(encoding="utf-8")
    for bad in ("68,157,440", "2**20", '"unfinished', "about 4", "9" * 6000):
        changed = re.sub(r"(?m)^(q1_fa1_elements = ).*$", rf"\g<1>{bad}", answers)
        (path / "answers.toml").write_text(changed, encoding="utf-8")
        graded = graders("flash_attention").grade(path)
        assert points(graded)["questions"] == 4.5
        assert "; each of its lines was read alone" in graded.content["output"]
    quoted = re.sub(r"(?m)^(q\w+ = )(.*)$", r'\g<1>" \g<2> "', answers)
    (path / "answers.toml").write_text(quoted, encoding="utf-8")
    assert points(graders("flash_attention").grade(path))["questions"] == 6
    (path / "answers.toml").write_text("essay: none", encoding="utf-8")
    assert points(graders("flash_attention").grade(path))["questions"] == 0


def test_small_objects_weigh_what_they_weigh_and_not_what_tracing_them_takes(graders, tmp_path):
    path = submission(tmp_path, "flash_attention", flash_forward="+_fwd = flash_fwd\n\n\n"
                      "def flash_fwd(*args, **kwargs):\n"
                      "    small = [float(i) for i in range(20_000)]\n"
                      "    return small and _fwd(*args, **kwargs)\n")
    assert graders("flash_attention").grade(path).score == 60


def test_the_same_work_draws_the_same_inputs_and_gets_the_same_result(graders, tmp_path):
    grader = graders("megakernel")
    first, again = (grader.grade(ROOT / "solutions" / "megakernel") for _ in range(2))
    seed = first.content["extra_data"]["seed"]
    assert first.content | {"execution_time": 0} == again.content | {"execution_time": 0}
    other = grader.grade(submission(tmp_path, "megakernel", timeline="+# another\n"))
    assert other.content["extra_data"]["seed"] != seed
    asked = grader.grade(tmp_path / "megakernel", seed=seed)
    assert {t["extra_data"]["seed"] for t in asked.content["tests"]} == {seed}


def test_a_set_has_the_same_order_in_every_grading(tmp_path):
    path = submission(tmp_path, "megakernel",
                      timeline="+print({'ramp', 'tail', 'loss', 'sync'}, hash('launch'))\n")
    printed = set()
    for _ in range(2):
        with closing(Grader(release_of("megakernel"))) as grader:
            printed.add(grader.grade(path).content["extra_data"]["stdout"])
    assert len(printed) == 1 and "ramp" in printed.pop()


# --- a function that misbehaves costs its own points --------------------------------------------

HANGS = "+import time\n\n\ndef timeline(*args, **kwargs):\n    time.sleep(1000)\n"
OTHERS = {"merge_states": 10, "flash_fwd_fa1": 14, "flash_fwd_fa2": 14, "questions": 6}
WAYS = {
    "exits": ("+import os\n\n\ndef flash_bwd(*args, **kwargs):\n    os._exit(0)\n", "crashed",
              "the process ended itself with exit code 0, in flash_bwd"),
    "loops": ("+def flash_bwd(*args, **kwargs):\n    while True:\n        pass\n", "timeout",
              "no answer within 1 s, the limit of one call, in flash_bwd"),
    "is no Python": ("+def flash_bwd(:\n", "graded", "SyntaxError"),
    "eats the memory": ("+def flash_bwd(*args, **kwargs):\n    return bytearray(1 << 40)\n",
                        "memory", "(the limit is 512 MiB)"),
    "eats the memory with numpy": ("+def flash_bwd(*args, **kwargs):\n"
                                   "    return np.zeros(1 << 40)\n",
                                   "memory", "(the limit is 512 MiB)"),
    "writes a large file": ("+def flash_bwd(*args, **kwargs):\n"
                            "    open('x', 'wb').write(bytes(1 << 23))\n",
                            "graded", "(the limit is 4 MiB for a file)"),
    "opens many files": ("+def flash_bwd(*args, **kwargs):\n"
                         "    files = [open('/dev/null') for _ in range(100)]\n",
                         "graded", "(the limit is 64 open files)"),
    "starts a program": ("+import os\n\n\ndef flash_bwd(*args, **kwargs):\n"
                         "    os.posix_spawn('/bin/true', ['true'], {})\n",
                         "graded", "a submission gets no processes, no network"),
    "dies of a fault": ("+import ctypes\n\n\ndef flash_bwd(*args, **kwargs):\n"
                        "    ctypes.string_at(0)\n", "crashed", "ended by signal SIGSEGV"),
    "floods": ("+def flash_bwd(*args, **kwargs):\n    while True:\n        print('x' * 10_000)\n",
               "crashed", "more than 8 MiB were printed, the limit of one call"),
    "fills the disk": ("+def flash_bwd(*args, **kwargs):\n    for n in range(10**9):\n"
                       "        open(str(n), 'w').close()\n", "crashed",
                       "more than 100 files or 16 MiB were written, the limit"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_misbehaves_costs_its_own_points(graders, quick, tmp_path, way):
    text, status, said = WAYS[way]
    path = submission(tmp_path, "flash_attention", flash_backward=text)
    graded = graders("flash_attention").grade(path)
    valid(graded.content)
    assert points(graded) == {**OTHERS, "flash_bwd": 0.0}
    assert statuses(graded, "flash_bwd") == {status}
    assert graded.content["extra_data"]["status"] == status
    first = next(t for t in graded.content["tests"] if t["tags"] == ["flash_bwd"])
    assert said in first["output"]


def test_a_function_that_hung_twice_is_not_called_again(graders, quick, tmp_path):
    start = time.monotonic()
    graded = graders("megakernel").grade(submission(tmp_path, "megakernel", timeline=HANGS))
    assert time.monotonic() - start < 2 * limits.CALL_SECONDS + 10
    said = [text for r in graded.results for _, text in r.lines]
    assert sum("no answer within 1 s, the limit of one call" in text for text in said) == 2
    assert any("timeline gave no answer within the time limit 2 times; it is not called again"
               in text for text in said)
    assert points(graded)["questions"] == 3


def test_what_is_not_reached_in_time_is_not_judged_and_says_so(graders, monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "SUBMISSION_SECONDS", 1.0)
    path = submission(tmp_path, "megakernel", timeline="+import time\n\n_honest = timeline\n\n\n"
                      "def timeline(*args, **kwargs):\n    time.sleep(0.3)\n"
                      "    return _honest(*args, **kwargs)\n")
    graded = graders("megakernel").grade(path)
    said = ("reason", "not reached within 1 s, the limit of one submission")
    late = [r for r in graded.results if said in r.lines]
    assert late and {(r.outcome, r.status) for r in late} == {(NOT_JUDGED, "timeout")}


def test_output_is_kept_apart_bounded_and_cleaned(graders, tmp_path):
    path = submission(tmp_path, "megakernel", timeline="+import os\n\n_honest = timeline\n\n\n"
                      "def timeline(*args, **kwargs):\n    print('to stdout', 'x' * 50_000)\n"
                      "    os.write(2, b'to stderr \\xff\\x00\\x1b[2J')\n"
                      "    return _honest(*args, **kwargs)\n")
    graded = graders("megakernel").grade(path)
    extra = graded.content["extra_data"]
    assert graded.score == 20
    assert extra["stdout"].startswith("to stdout xx") and len(extra["stdout"]) < 40_000
    assert "bytes left out" in extra["stdout"] and "to stderr" not in extra["stdout"]
    assert extra["stderr"].startswith("to stderr \N{REPLACEMENT CHARACTER}")
    assert all(c.isprintable() or c == "\n" for c in extra["stdout"] + extra["stderr"])
    assert "to std" not in json.dumps(graded.content["tests"])


def test_every_content_on_the_way_is_valid_and_complete(graders, tmp_path):
    seen = []
    path = submission(tmp_path, "megakernel", timeline="+def timeline(*args):\n    return 1\n")
    graders("megakernel").grade(path, progress=lambda content: seen.append(valid(content)))
    checks = release_of("megakernel").checks
    assert len(seen) == len(checks) + 1
    for content in seen:
        assert [(t["name"], t["max_score"]) for t in content["tests"]] == [
            (c.sentence, c.points) for c in checks]


# --- the grader's own processes come to harm ----------------------------------------------------


def test_a_nursery_that_is_killed_is_replaced_and_costs_nothing(graders, monkeypatch):
    grader = graders("flash_decoding")
    kill = iter([3, 9, 20])
    due, asked = next(kill), 0

    def ask(worker, *args):
        nonlocal due, asked
        asked += 1
        if asked == due:
            due = next(kill, 0)
            grader.nursery.process.kill()
        return original(worker, *args)

    original = worker.Worker.ask
    monkeypatch.setattr(worker.Worker, "ask", ask)
    graded = grader.grade(ROOT / "solutions" / "flash_decoding")
    assert asked > 20 and due == 0
    assert graded.score == 20 and graded.content["extra_data"]["status"] == "graded"


def test_a_nursery_that_is_killed_again_and_again_costs_no_result(monkeypatch):
    grader = Grader(release_of("megakernel"))

    def ask(worker, *args):
        grader.nursery.process.kill()
        grader.nursery.process.wait()
        time.sleep(0.1)  # the worker ends with it
        return original(worker, *args)

    original = worker.Worker.ask
    monkeypatch.setattr(worker.Worker, "ask", ask)
    graded = grader.grade(ROOT / "solutions" / "megakernel")
    called = [r for r in graded.results if r.check.part != "questions"]
    assert {(r.outcome, r.status) for r in called} == {(NOT_JUDGED, "grader error")}
    assert "tell staff, this is not your score" in graded.content["tests"][0]["output"]
    assert points(graded)["questions"] == 3
    grader.close()


def test_a_nursery_that_can_start_no_worker_says_so(monkeypatch):
    grader = Grader(release_of("megakernel"))
    monkeypatch.setattr(nursery.Nursery, "order",
                        lambda *_: {"error": "no more processes", "status": 0})
    graded = grader.grade(ROOT / "solutions" / "megakernel")
    assert statuses(graded, "timeline_kernels") == {"grader error"}
    monkeypatch.undo()
    grader.close()


def test_a_broken_check_is_the_grader_s_fault(graders, monkeypatch):
    grader = graders("megakernel")
    monkeypatch.setattr(grader.release, "frozen_for", lambda check: 1 / 0)
    graded = grader.grade(ROOT / "solutions" / "megakernel")
    broken = [r for r in graded.results if r.status == "grader error"]
    assert broken and all(r.outcome == NOT_JUDGED and r.score == 0 for r in broken)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_grader_that_is_ended_leaves_valid_results_and_no_process(tmp_path, number):
    path = submission(tmp_path, "megakernel", timeline=HANGS)
    target, temporary = tmp_path / "results.json", tmp_path / "tmp"
    temporary.mkdir(mode=0o755)
    command = [sys.executable, "-m", "autograder", "grade", "megakernel", str(path),
               "--json", str(target)]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(temporary)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
                          ) as grader:
        session = until(lambda: child_session(grader.pid))
        until(lambda: len(members(session)) == 2)  # the nursery and a worker that sleeps
        grader.send_signal(number)
        _, err = grader.communicate(timeout=30)
    assert "Traceback" not in err
    until(lambda: not members(session))
    content = valid(json.loads(target.read_text(encoding="utf-8")))
    assert len(content["tests"]) == len(release_of("megakernel").checks)
    assert content["score"] == 0 and content["extra_data"]["status"] == "grader error"
    until(lambda: not list(temporary.iterdir()))
    if number != signal.SIGKILL:
        assert grader.returncode == 130 and err.strip().endswith("stopped")


def until(condition, seconds=20):
    """What the condition gives, once it is something."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return value


def child_session(pid: int) -> int:
    """The session that a child of the process leads; 0 while there is none."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return next((int(child) for child in children if os.getsid(int(child)) == int(child)), 0)


def members(session: int) -> list[int]:
    """The processes of the session that have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(pid))
    return found


# --- where nothing can be confined --------------------------------------------------------------


def test_without_confinement_the_command_says_so_and_asks_for_trust(monkeypatch, capsys):
    monkeypatch.setattr(confine, "available", lambda: confine.Available(0, False, False))
    code = main(["grade", "megakernel", str(ROOT / "solutions" / "megakernel")])
    err = capsys.readouterr().err.strip().split("\n")
    assert code == 2 and err == [
        "submissions can't be confined here: no seccomp and no Landlock (Linux 5.13), or root",
        "grade elsewhere, or add --trust to run them with all your rights"]


def test_closed_permissions_must_stand_in_for_landlock(monkeypatch, tmp_path):
    monkeypatch.setattr(confine, "available", lambda: confine.Available(0, True, True))
    monkeypatch.setattr(grade, "PACKAGE", Path("/usr/share"))  # open to everybody
    with pytest.raises(grade.KitError, match="/usr/share: a submission could read it"):
        grade.refuse_unconfined(trust=False)
    grade.refuse_unconfined(trust=True)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(grade, "PACKAGE", tmp_path)
    grade.refuse_unconfined(trust=False)


def test_with_trust_it_grades_and_says_what_is_on(monkeypatch, capsys):
    monkeypatch.setattr(confine, "available", lambda: confine.Available(0, False, False))
    path = str(ROOT / "solutions" / "megakernel")
    assert main(["grade", "megakernel", path, "--trust", "-v"]) == 0
    out = capsys.readouterr().out
    assert "20 of 20" in out and "protections: rlimits" in out


# --- the command --------------------------------------------------------------------------------


def test_the_command_prints_a_table_and_writes_the_file(tmp_path, capsys):
    target = tmp_path / "results.json"
    path = submission(tmp_path, "megakernel")
    assert main(["grade", "megakernel", str(path), "--json", str(target), "-v"]) == 0
    out = capsys.readouterr().out
    content = valid(json.loads(target.read_text(encoding="utf-8")))
    assert f"(graded, release {content['extra_data']['version']}, seed " in out
    assert "protections: " in out and "seccomp" in out
    assert "timeline_kernels             8 of 8" in out


@pytest.mark.parametrize(("arguments", "said"), [
    (["grade", "flash", "."], "flash: no such lab"),
    (["grade", "megakernel", "/nowhere/at/all"], "/nowhere/at/all: "),
    (["grade", "megakernel", "solutions/megakernel", "--json", "/nowhere/x.json"], "/nowhere/x.j"),
    (["grade", "megakernel", "solutions/megakernel", "--json", "/"], "/: "),
    (["simulate", "/nowhere.zip", "."], "/nowhere.zip: "),
])
def test_a_tool_error_is_two_lines_and_exit_2(arguments, said, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 2 and err.startswith(said)


@pytest.mark.parametrize("verb", ["", "grade", "regrade", "simulate", "list"])
def test_every_help_ends_in_lines_to_paste(verb, capsys):
    with pytest.raises(SystemExit):
        main([*verb.split(), "--help"])
    assert "python -m autograder" in capsys.readouterr().out.strip().split("\n")[-1]


def test_the_list_has_every_check(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for lab in LABS:
        release = release_of(lab)
        assert f"{lab}: {len(release.checks)} checks, {FULL[lab]} points" in out
        assert all(check.sentence in out for check in release.checks)
