"""
Regrading on a real Dask cluster: the same results, also when a worker is killed meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra cluster (Python 3.11 and up)")
pytest.importorskip("yaml", reason="regrading an export needs the extra classroom")

from autograder.classroom import cluster
from autograder.classroom.graders import graded
from autograder.classroom.submissions import read_export
from autograder.kit.release import release_of
from autograder.tests.synthetic import write_class
from release.solution import ROOT

LAB = "megakernel"
QUIET = ["--no-dashboard", "--host", "127.0.0.1"]


def dask(*arguments: str, said: Path) -> subprocess.Popen:
    with said.open("w", encoding="utf-8") as file:
        return subprocess.Popen([sys.executable, "-m", *arguments, *QUIET], cwd=ROOT, stdout=file,
                                stderr=file, env={
                                    **os.environ, "OMP_NUM_THREADS": "1",
                                    "DASK_TEMPORARY_DIRECTORY": str(said.parent)})


def wait_for(what, seconds: float = 60):
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


@pytest.fixture
def running(tmp_path):
    """(the scheduler's address, two worker processes)."""
    said = tmp_path / "scheduler.log"
    scheduler = dask("distributed.cli.dask_scheduler", "--port", "0", said=said)
    address = wait_for(lambda: re.search(r"Scheduler at:\s+(tcp://\S+)",
                                         said.read_text(encoding="utf-8")))[1]
    workers = [dask("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny",
                    "--local-directory", str(tmp_path), said=tmp_path / f"worker{i}.log")
               for i in range(2)]
    wait_for(lambda: all("Registered to" in (tmp_path / f"worker{i}.log").read_text(
        encoding="utf-8") for i in range(2)))
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def regrade(export: Path, out: Path, address: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "autograder", "regrade", LAB, str(export),
                             "--out", str(out), "--scheduler", address], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def without_times(text: str) -> str:
    return re.sub(r'"execution_time": [\d.]+', "", text)


def test_a_killed_worker_s_submissions_are_graded_elsewhere_with_the_same_results(
    running, tmp_path
):
    address, workers = running
    write_class(export := tmp_path / "export", LAB, 20, ("exit", "gone", "empty"))
    (export / "submission_0005" / "link").symlink_to("/etc/passwd")
    process = regrade(export, out := tmp_path / "out", address)
    wait_for(lambda: len(list((out / "results").glob("*.json"))) > 3)
    workers[0].kill()
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "    17 graded\n" in printed
    handed = {h.id: h for h in read_export(export)}
    (tmp_path / "nothing").mkdir()
    here = graded(release_of(LAB), [h for h in handed.values() if h.path], 2, False)
    for one, text in here:
        there = (out / "results" / f"{one.id}.json").read_text(encoding="utf-8")
        assert without_times(there) == without_times(text)
    assert json.loads((out / "results" / "0001.json").read_text(encoding="utf-8"))[
        "extra_data"]["status"] == "missing"


def test_a_killed_regrade_goes_on_on_the_cluster(running, tmp_path):
    address, _ = running
    write_class(export := tmp_path / "export", LAB, 12)
    process = regrade(export, out := tmp_path / "out", address)
    wait_for(lambda: len(list((out / "results").glob("*.json"))) > 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = {p: p.stat().st_mtime_ns for p in (out / "results").glob("*.json")}
    process = regrade(export, out, address)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert f"{len(before)} of 12 submissions are graded already" in printed
    assert all(p.stat().st_mtime_ns == was for p, was in before.items())
    assert len(list((out / "results").glob("*.json"))) == 12


def test_a_cluster_with_another_grader_is_refused(running, tmp_path, monkeypatch):
    address, _ = running
    write_class(tmp_path / "export", LAB, 2)
    monkeypatch.setattr(cluster, "grader_hash", lambda release: "of another release")
    with pytest.raises(cluster.KitError, match="a worker has another release or grader"):
        list(cluster.graded(release_of(LAB), read_export(tmp_path / "export"), address, False))


def test_no_cluster_is_a_tool_error(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 1)
    with pytest.raises(cluster.KitError, match="no Dask cluster with a worker answers"):
        list(cluster.graded(release_of(LAB), [], "tcp://127.0.0.1:9", False))


def test_a_submission_crosses_as_it_is(tmp_path):
    folder = tmp_path / "one"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.py").write_bytes(b"\0\xff")
    (folder / "\udcff.py").write_bytes(b"x")
    (folder / "link").symlink_to("/etc")
    (tmp_path / "two.zip").write_bytes(b"PK")
    (there := tmp_path / "there").mkdir()
    unpacked = cluster.unpack(cluster.pack(folder), there)
    assert sorted(str(p.relative_to(there)) for p in there.rglob("*")) == [
        "one", "one/deep", "one/deep/er", "one/deep/er/a.py", "one/link", "one/\udcff.py"]
    assert (unpacked / "deep" / "er" / "a.py").read_bytes() == b"\0\xff"
    assert (unpacked / "link").is_symlink() and not (unpacked / "link").exists()
    assert cluster.unpack(cluster.pack(tmp_path / "two.zip"), there).read_bytes() == b"PK"
