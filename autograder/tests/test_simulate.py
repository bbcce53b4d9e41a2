"""A built bundle grades as Gradescope runs it: in its folder, and in a container-like root."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.grading import simulate
from autograder.kit.release import labs, release_of
from autograder.tests import container, hostile
from autograder.tests.hostile.arena import LOUD, MARK, SECRET, SHARED, hand_in, judged, told
from autograder.tests.test_results import valid

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = {attack.name: attack for attack in hostile.attacks()}


def bundle(lab: str) -> Path:
    """The lab's built bundle."""
    return ROOT / "release" / "dist" / f"{lab}-gradescope.zip"


@pytest.mark.parametrize("lab", labs())
def test_simulate_and_grade_agree_on_the_solution(lab, tmp_path, capfd):
    path, target = ROOT / "solutions" / lab, tmp_path / "results.json"
    assert main(["grade", lab, str(path), "--json", str(target)]) == 0
    graded = json.loads(target.read_text(encoding="utf-8"))
    simulate.lay_out(bundle(lab), path, tmp_path / "autograder")
    assert simulate.run(tmp_path / "autograder") == 0
    simulated = valid(simulate.read_results(tmp_path / "autograder"))
    for content in (graded, simulated):
        content["execution_time"] = 0
    assert simulated == graded
    capfd.readouterr()
    assert main(["simulate", str(bundle(lab)), str(path)]) == 0
    assert f"{graded['score']:g} of {graded['score']:g}   (graded, " in capfd.readouterr().out


def test_a_complete_zero_result_stands_there_before_anything_can_go_wrong(tmp_path):
    root = tmp_path / "autograder"
    simulate.lay_out(bundle("megakernel"), ROOT / "solutions" / "megakernel", root)
    shutil.rmtree(root / "source" / "autograder" / "grading")  # nothing to grade with
    assert simulate.run(root) != 0
    content = valid(simulate.read_results(root))
    checks = release_of("megakernel").checks
    assert [(t["name"], t["max_score"], t["score"]) for t in content["tests"]] == [
        (check.sentence, check.points, 0) for check in checks]
    assert "the grader did not start: tell staff" in content["tests"][0]["output"]


def test_the_bundle_s_files_are_closed_to_others(tmp_path):
    root = tmp_path / "autograder"
    simulate.lay_out(bundle("megakernel"), ROOT / "solutions" / "megakernel", root)
    simulate.run(root)
    for folder in ("source", "submission", "results"):
        for path in [root / folder, *(root / folder).rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path


def test_gradescope_s_own_limit_leaves_an_honest_result(tmp_path):
    source = ROOT / "solutions" / "megakernel" / "timeline.py"
    path = tmp_path / "submission"
    shutil.copytree(source.parent, path)
    (path / "timeline.py").write_text(source.read_text(encoding="utf-8") + "\n\nimport time\n\n"
                                      "time.sleep(1000)\n", encoding="utf-8")
    root = tmp_path / "autograder"
    simulate.lay_out(bundle("megakernel"), path, root)
    with subprocess.Popen([root / "run_autograder"], cwd=root) as grader:
        results = root / "results" / "results.json"
        while not results.exists() or "was not reached" not in results.read_text(encoding="utf-8"):
            time.sleep(0.05)
            assert grader.poll() is None
        grader.send_signal(signal.SIGKILL)
    content = valid(simulate.read_results(root))
    assert content["score"] == 0
    assert len(content["tests"]) == len(release_of("megakernel").checks)


@pytest.mark.parametrize("made", ["nothing", "no zip", "fifo"])
def test_what_can_t_be_simulated_is_a_tool_error(tmp_path, capsys, made):
    submission, zip_ = tmp_path / "submission", bundle("megakernel")
    if made == "fifo":
        submission.mkdir()
        os.mkfifo(submission / "pipe")
    elif made == "no zip":
        zip_ = tmp_path / "x.zip"
        zip_.write_text("no zip", encoding="utf-8")
    assert main(["simulate", str(zip_), str(submission)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


# --- in a root of its own ------------------------------------------------------------------------

needs_a_container = pytest.mark.skipif(not container.possible(), reason="needs root and namespaces")


@needs_a_container
@pytest.mark.parametrize("lab", labs())
def test_the_solution_gets_full_marks_in_the_container(tmp_path, lab):
    content, root = container.run(bundle(lab), ROOT / "solutions" / lab, tmp_path)
    assert valid(content)["score"] == release_of(lab).about["points"]
    assert "own user" in content["extra_data"]["protections"]
    assert container.left(root) == ["0", "0", ""]


CONTAINED = [  # one of a kind, as far as a minute goes
    "exit_0", "crash_segfault", "flood_stdout", "bomb_lists", "bomb_forks", "forge_results",
    "forge_values", "steal_memory", "steal_files", "steal_processes", "steal_kit", "network",
    "signal_others", "regain_rights", "leave_traces", "memory_stopped", "files_that_shadow",
]
OLD_KERNEL = ["exit_0", "forge_results", "steal_kit", "network", "signal_others", "leave_traces"]
WORLD = {
    "secret": "/autograder/source/secret.txt", "outside": "/autograder/submission", "mark": MARK,
    "loud": LOUD, "results": "/autograder/results/results.json", "root": "/autograder/source",
    "grader": 1, "nursery": 2, "victim": 1, "held": 3, "shared": list(SHARED),
    "tcp": ("127.0.0.1", 9), "unix": "/run/docker.sock", "abstract": "\0x", "base": "/autograder",
}


def attacked(folder: Path, name: str, **how) -> tuple[dict, list[str]]:
    """results.json's content after an attack in the container, and what does not hold."""
    attack = ATTACKS[name]
    release = release_of(attack.lab)
    world = WORLD | {"frozen": f"/autograder/source/autograder/frozen/{attack.lab}"}
    path = hand_in(attack, release, folder, world, folder / "secret.txt")
    (folder / "root").mkdir()
    content, root = container.run(bundle(attack.lab), path, folder / "root", SECRET, **how)
    problems = [*judged(attack, release, content), *told(release, content)]
    if container.left(root) != ["0", "0", ""]:
        problems.append(f"left: {container.left(root)}")
    problems += [f"{path} was written" for path in root.rglob(f"*{MARK}*")]
    if {p.name for p in (root / "autograder" / "results").iterdir()} != {"results.json", "stdout"}:
        problems.append("something else lies beside the results")
    return valid(content), problems


@needs_a_container
@pytest.mark.parametrize("name", CONTAINED)
def test_an_attack_is_contained_in_the_container_too(tmp_path, name):
    _, problems = attacked(tmp_path, name)
    assert problems == []


@needs_a_container
@pytest.mark.parametrize("name", OLD_KERNEL)
def test_closed_permissions_do_where_the_kernel_has_no_landlock(tmp_path, name):
    content, problems = attacked(tmp_path, name, landlock=False)
    assert content["extra_data"]["protections"] == ["own user", "rlimits", "seccomp"]
    assert problems == []
