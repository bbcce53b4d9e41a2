"""
Regrading a class by real processes: the same results as one by one, whatever is killed meanwhile.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from autograder import classroom
from autograder.classroom import graders, kept, regrade, submissions
from autograder.classroom.grades import safe
from autograder.classroom.kept import Kept
from autograder.classroom.submissions import Handed, Student
from autograder.kit.errors import KitError
from autograder.kit.release import Release, release_of
from autograder.tests.synthetic import Made, files_of, write_class, write_files, write_zip
from release.solution import ROOT, read_solution

pytest.importorskip("yaml", reason="regrading an export needs the extra classroom")

LAB = "megakernel"
HOSTILE = ("exit", "crash", "memory", "quit", "interrupt", "gone", "empty")


def command(export: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "autograder", "regrade", LAB, str(export), "--out", str(out),
            "--workers", "2", *more]


def run(export: Path, out: Path, *more: str) -> subprocess.CompletedProcess:
    return subprocess.run(command(export, out, *more), cwd=ROOT, text=True, timeout=300,
                          capture_output=True)


def start(export: Path, out: Path) -> subprocess.Popen:
    return subprocess.Popen(command(export, out), cwd=ROOT, text=True, start_new_session=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def results(out: Path) -> dict[str, dict]:
    return {p.stem: json.loads(p.read_text(encoding="utf-8"))
            for p in sorted((out / "results").glob("*.json"))}


def without_times(text: str) -> str:
    return re.sub(r'"execution_time": [\d.]+', "", text)


def wait_for_results(out: Path, count: int) -> None:
    until = time.monotonic() + 120
    while len(list((out / "results").glob("*.json"))) < count:
        assert time.monotonic() < until, "no result came"
        time.sleep(0.01)


def descendants(pid: int) -> list[int]:
    """The processes below this one, by what /proc says now."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def all_ended(pids: list[int], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.fixture(scope="module")
def regraded(tmp_path_factory) -> tuple[list[Made], Path, Path, str]:
    """(what the class is made of, export, out, what was printed)."""
    folder = tmp_path_factory.mktemp("class")
    made = write_class(folder / "export", LAB, 24, HOSTILE)
    done = run(folder / "export", folder / "out")
    assert done.returncode == 0, done.stderr
    return made, folder / "export", folder / "out", done.stdout


@pytest.fixture
def few(tmp_path) -> tuple[Path, Path]:
    """(export, out) of four submissions that were not graded yet."""
    write_class(tmp_path / "export", LAB, 4)
    return tmp_path / "export", tmp_path / "out"


# --- the results ----------------------------------------------------------------------------------


def test_a_result_is_byte_for_byte_the_one_of_grade(regraded, tmp_path):
    made, export, out, _ = regraded
    for kind in ("stub", "solved", "exit", "interrupt", made[8].kind):
        one = next(m for m in made if m.kind == kind)
        subprocess.run([sys.executable, "-m", "autograder", "grade", LAB,
                        str(export / f"submission_{one.id}"), "--json", str(tmp_path / "one.json")],
                       cwd=ROOT, check=True, stdout=subprocess.PIPE)
        alone = (tmp_path / "one.json").read_text(encoding="utf-8")
        together = (out / "results" / f"{one.id}.json").read_text(encoding="utf-8")
        assert without_times(together) == without_times(alone)


def test_every_submission_has_the_status_that_it_was_made_for(regraded):
    made, _, out, _ = regraded
    got = {id_: content["extra_data"]["status"] for id_, content in results(out).items()}
    assert got == {one.id: one.status for one in made}


def test_a_known_mistake_is_named_in_the_results(regraded):
    made, _, out, _ = regraded
    got = results(out)
    for one in made:
        names = {t["extra_data"]["mistake"] for t in got[one.id]["tests"]} - {""}
        if one.kind.startswith(("kernels_", "mega_")):
            assert got[one.id]["score"] < 20 and len(names) <= 1
        else:
            assert not names


def test_what_came_out_is_printed_by_status(regraded):
    made, _, _, printed = regraded
    crashed = sum(one.status == "crashed" for one in made)
    assert f"{crashed:6} crashed\n" in printed
    assert "     0 grader error\n" in printed


# --- the tables -----------------------------------------------------------------------------------


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_grades_csv_has_a_row_a_student_with_the_parts_that_make_the_total(regraded):
    made, _, out, _ = regraded
    got = results(out)
    table = rows(out / "grades.csv")
    assert [(r["sid"], r["submission"]) for r in table] == [
        (sid, one.id) for one in made for _, sid, _ in one.students]
    for row in table:
        parts = [float(row[part]) for part in release_of(LAB).about["parts"]]
        content = got[row["submission"]]
        assert sum(parts) == float(row["total"]) == content["score"]
        assert row["status"] == content["extra_data"]["status"]
        assert row["seed"] == str(content["extra_data"]["seed"])
        assert row["version"] == release_of(LAB).version


def test_times_are_those_of_handing_in(regraded):
    made, _, out, _ = regraded
    times = {one.id: one.created_at for one in made}
    assert all(r["created_at"] == times[r["submission"]] for r in rows(out / "grades.csv"))


def test_names_come_back_as_they_were_but_for_a_quote_before_formulas(regraded):
    made, _, out, _ = regraded
    names = [name for one in made for name, _, _ in one.students]
    table = rows(out / "grades.csv")
    for name, row in zip(names, table, strict=True):
        assert row["name"].removeprefix("'") == name.replace("\t", " ")
        assert not row["name"].lstrip().startswith(("=", "+", "-", "@"))
    assert {"Müller, Jörg", "O'Neil \"Tip\"", "😀 Smiley", "Null"} <= {r["name"] for r in table}


def test_tables_are_rfc_4180_with_a_mark_that_spreadsheets_need(regraded):
    _, _, out, _ = regraded
    for name in ("grades.csv", "checks.csv"):
        data = (out / name).read_bytes()
        assert data.startswith(b"\xef\xbb\xbf") and data.endswith(b"\r\n")
        assert data.count(b"\n") == data.count(b"\r\n")


def test_checks_csv_has_a_row_for_every_check_of_every_submission(regraded):
    _, _, out, _ = regraded
    expected = [(id_, t["extra_data"]["id"], f"{t['score']:g}", t["extra_data"]["status"],
                 t["extra_data"]["reason"], t["extra_data"]["mistake"])
                for id_, content in results(out).items() for t in content["tests"]]
    got = [(r["submission"], r["check"], r["score"], r["outcome"], r["reason"], r["mistake"])
           for r in rows(out / "checks.csv")]
    assert got == expected


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\t=1", "  =1", "＝1", "\r=1", "\0=1"])
def test_no_text_is_a_formula(text):
    assert safe(text).startswith("'")


# --- going on -------------------------------------------------------------------------------------


def test_a_killed_regrade_leaves_no_process_and_goes_on_where_it_was(regraded, tmp_path):
    made, export, whole, _ = regraded
    process = start(export, out := tmp_path / "out")
    wait_for_results(out, 5)
    below = descendants(process.pid)
    process.kill()
    process.communicate()
    assert below and all_ended(below)
    (out / "results" / ".0001.json.part").write_text("half", encoding="utf-8")
    before = {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in (out / "results").glob("*.json")}
    assert len(before) < len(made)

    done = run(export, out)

    assert f"{len(before)} of {len(made)} submissions are graded already" in done.stdout
    assert all((p.stat().st_ino, p.stat().st_mtime_ns) == was for p, was in before.items())
    assert not list((out / "results").glob(".*")) and not (out / ".scratch").exists()
    for path in (whole / "results").glob("*.json"):
        other = out / "results" / path.name
        assert without_times(other.read_text(encoding="utf-8")) == without_times(
            path.read_text(encoding="utf-8"))
    assert (out / "grades.csv").read_bytes() == (whole / "grades.csv").read_bytes()


def test_ctrl_c_ends_everything_and_says_how_to_go_on(regraded, tmp_path):
    _, export, _, _ = regraded
    process = start(export, out := tmp_path / "out")
    wait_for_results(out, 3)
    below = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"stopped; \d+ of 24 submissions are left: the same command goes on", said)
    assert "Traceback" not in said
    assert all_ended(below)
    assert all(results(out).values())
    assert not (out / "grades.csv").exists()


def test_a_grader_that_is_killed_costs_one_submission_until_the_next_regrade(tmp_path):
    export, out = tmp_path / "export", tmp_path / "out"
    write_class(export, LAB, 6, ("hang",))
    process = start(export, out)
    wait_for_results(out, 2)
    os.kill(grader_of_hanging_call(process.pid), signal.SIGKILL)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "     1 grader error" in printed
    assert "grader error: 0000: the grader process ended with exit code -9" in printed
    assert "     5 graded" in printed

    again = run(export, out)

    assert again.returncode == 0
    assert "5 of 6 submissions are graded already" in again.stdout
    assert results(out)["0000"]["extra_data"]["status"] == "timeout"


def grader_of_hanging_call(regrade: int) -> int:
    """The grader process below which another one uses the processor in earnest."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for grader in descendants(regrade):
            if "spawn_main" in proc(grader, "cmdline") and any(
                used(pid) > 100 for pid in descendants(grader)
            ):
                return grader
        time.sleep(0.05)
    raise AssertionError("no call hangs")


def proc(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended
        return ""


def used(pid: int) -> int:
    """Ticks of the processor."""
    fields = proc(pid, "stat").rpartition(")")[2].split()
    return int(fields[11]) if fields else 0


def test_a_submission_that_has_changed_is_graded_again(few):
    export, out = few
    assert run(export, out).returncode == 0
    write_files(export / "submission_0004", files_of(read_solution(LAB), "solved"))
    (export / "submission_0002" / "timeline.py").write_text("x = 1\n", encoding="utf-8")
    done = run(export, out)
    assert "3 of 5 submissions are graded already" in done.stdout
    assert results(out)["0002"]["score"] < results(out)["0004"]["score"] == 20


def test_results_of_another_release_are_set_aside(few):
    export, out = few
    assert run(export, out).returncode == 0
    before = (out / "results" / "0001.json").read_bytes()
    stamp = json.loads((out / "release.json").read_text(encoding="utf-8"))
    (out / "release.json").write_text(json.dumps(stamp | {"grader": "other"}), encoding="utf-8")
    done = run(export, out)
    assert "the release or its grader has changed" in done.stdout
    assert "graded already" not in done.stdout
    aside = out / f"results-{stamp['version']}-1"
    assert (aside / "0001.json").read_bytes() == before
    assert len(results(out)) == 4


def test_results_of_another_lab_stay_where_they_are(few):
    export, out = few
    assert run(export, out).returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    with pytest.raises(KitError, match="it holds results of megakernel"):
        Kept(out, release_of("flash_decoding"))
    assert before == {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def test_the_grader_s_hash_covers_hidden_checks_and_frozen_values(tmp_path):
    release = release_of(LAB)
    folder = tmp_path / LAB
    folder.mkdir()
    for path in release.folder.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    same = kept.grader_hash(Release(LAB, folder))
    (folder / "hidden.json").write_text("{}", encoding="utf-8")
    assert kept.grader_hash(Release(LAB, folder)) != same


def test_half_a_result_is_none(tmp_path):
    store = kept.Kept(tmp_path, release_of(LAB))
    one = Handed("a", None, ())
    for text in ("", "{", "[]", "{}", '{"extra_data": {"version": "other"}}'):
        store.path(one).write_text(text, encoding="utf-8")
        assert store.read(one) is None and not store.has(one)
    store.close()


def test_two_regrades_do_not_share_a_folder(tmp_path):
    first = kept.Kept(tmp_path, release_of(LAB))
    with pytest.raises(KitError, match="another regrade is at work there"):
        kept.Kept(tmp_path, release_of(LAB))
    first.close()
    kept.Kept(tmp_path, release_of(LAB)).close()


# --- showing progress -----------------------------------------------------------------------------


def test_in_a_pipe_there_is_a_line_every_hundred(capsys):
    assert list(regrade._watched(iter(range(250)), 250)) == list(range(250))
    assert capsys.readouterr().out == "100 of 250 graded\n200 of 250 graded\n"


def test_on_a_terminal_there_is_a_bar(few):
    pytest.importorskip("tqdm", reason="the bar needs the extra classroom")
    export, out = few
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with subprocess.Popen(command(export, out), cwd=ROOT, stdout=subprocess.DEVNULL,
                          stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # the other end was closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert b"4/4" in shown and b"submission/s" in shown


# --- what a class may look like -------------------------------------------------------------------


@pytest.mark.parametrize("metadata", [None, "{}", "", "submission_9: 3\n", "[1]"])
def test_without_metadata_the_folders_are_the_class(tmp_path, metadata):
    write_class(tmp_path, LAB, 3, metadata="")
    if metadata is not None:
        (tmp_path / "submission_metadata.yml").write_text(metadata, encoding="utf-8")
    assert submissions.read_export(tmp_path) == [
        Handed(f"000{i}", tmp_path / f"submission_000{i}", (Student(f"000{i}"),))
        for i in range(3)]


def test_a_plain_folder_of_folders_zips_and_modules_is_a_class(tmp_path):
    files = files_of(read_solution(LAB), "solved")
    export = tmp_path / "handed in"
    write_files(export / "Ann Lee", files)
    write_zip(export / "Bob=1.zip", files)
    (export / "carl.py").write_text(files["timeline.py"], encoding="utf-8")
    for litter in (".DS_Store", "__MACOSX", "notes.txt"):
        (export / litter).touch()
    assert run(export, tmp_path / "out").returncode == 0
    scores = {id_: content["score"] for id_, content in results(tmp_path / "out").items()}
    assert scores == {"Ann Lee": 20, "Bob=1": 20, "carl": 17}


def test_the_zip_of_an_export_is_an_export(tmp_path):
    write_class(tmp_path / "assignment_1_export", LAB, 3)
    subprocess.run([sys.executable, "-m", "zipfile", "-c", "export.zip", "assignment_1_export"],
                   cwd=tmp_path, check=True)
    assert run(tmp_path / "export.zip", tmp_path / "out").returncode == 0
    assert [r["sid"] for r in rows(tmp_path / "out" / "grades.csv")] == ["000000", "000010",
                                                                       "000020"]


def test_ids_that_are_numbers_keep_their_zeros_and_old_results_are_skipped(tmp_path):
    (tmp_path / "submission_metadata.yml").write_text(
        "submission_0007:\n  :submitters:\n  - :sid: 0042\n    :name: 0x10\n"
        "  :created_at: 2026-01-01\n  :results: {{{ not even yaml\n  :score: 1\n"
        "submission_8:\n  :submitters:\n  - :sid: 1_0\n  - :sid: '9'\n"
        "submission_10:\n  :submitters: []\n", encoding="utf-8")
    got = submissions.read_export(tmp_path)
    assert [(h.id, h.path, h.created_at) for h in got] == [
        ("0007", None, "2026-01-01"), ("8", None, ""), ("10", None, "")]
    assert [h.students for h in got] == [
        (Student("0x10", "0042"),), (Student(sid="1_0"), Student(sid="9")), (Student(),)]


@pytest.mark.parametrize("text", [
    "submission_1:\n  :submitters: &1\n  - :sid: '07'\nsubmission_2:\n  :submitters: *1\n",
    "---\nsubmission_1:\n    :submitters:\n    - :sid: 07\n"
    "submission_2:\n    :submitters:\n        - {sid: 07}\n",
    '{"submission_1": {"submitters": [{"sid": "07"}]},\n"submission_2":\n{":submitters": '
    '[{":sid": "07"}]}}',
])
def test_metadata_may_be_laid_out_otherwise(tmp_path, text):
    (tmp_path / "submission_metadata.yml").write_text(text, encoding="utf-8")
    assert submissions.read_export(tmp_path) == [
        Handed(id_, None, (Student(sid="07"),)) for id_ in ("1", "2")]


def test_entries_of_equal_names_and_odd_names_have_different_ids_fit_for_files(tmp_path):
    names = ["a", "a.zip", "A.zip", "b.zip", "..", "../../etc", "x" * 300, "x" * 299 + "y",
             "nl\nnul\0", "\udc80", "é", "é/"]
    ids = submissions._ids(names)
    assert len(set(ids.values())) == len(names)
    for id_ in ids.values():
        assert Path(id_).name == id_ and not id_.startswith(".")
        (tmp_path / f"{id_}.json").touch()


def test_links_in_a_class_are_not_followed(tmp_path):
    write_class(tmp_path / "export", LAB, 2, metadata="")
    (tmp_path / "export" / "submission_9999").symlink_to("/etc")
    assert len(submissions.read_export(tmp_path / "export")) == 2


# --- tool errors ----------------------------------------------------------------------------------


def test_a_tool_error_is_two_lines(tmp_path):
    empty, broken = tmp_path / "empty", tmp_path / "broken"
    empty.mkdir()
    write_class(broken, LAB, 1)
    (broken / "submission_metadata.yml").write_text("a: [", encoding="utf-8")
    (tmp_path / "no.zip").write_text("no zip", encoding="utf-8")
    for export, more, said in [
        (tmp_path / "gone", (), "gone: there is no such folder"),
        (tmp_path / "no.zip", (), "no.zip: there is no such folder and no such zip"),
        (empty, (), "empty: there is no submission in it"),
        (broken, (), "submission_metadata.yml: while parsing"),
    ]:
        done = run(export, tmp_path / "out", *more)
        assert done.returncode == 2
        assert said in done.stderr and done.stderr.count("\n") == 2, done.stderr
        assert (tmp_path / "out").exists() == export.is_dir()


def test_a_folder_that_can_not_be_written_to_is_a_tool_error(few, tmp_path):
    (tmp_path / "file").touch()
    done = run(few[0], tmp_path / "file" / "out")
    assert done.returncode == 2 and "Not a directory" in done.stderr
    assert done.stderr.count("\n") == 2


def test_a_result_that_is_gone_before_the_sums_is_a_tool_error(few, tmp_path):
    release = release_of(LAB)
    store = kept.Kept(tmp_path, release)
    with pytest.raises(KitError, match="it is not of release"):
        regrade._sum_up(release, submissions.read_export(few[0]), store, tmp_path, 1)
    store.close()


def test_without_dask_or_yaml_it_says_what_to_install(few, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "autograder.classroom.cluster", raising=False)
    monkeypatch.delattr(classroom, "cluster", raising=False)
    with pytest.raises(KitError, match="import of distributed halted") as dask:
        regrade.regrade(LAB, few[0], tmp_path / "out", 1, "tcp://127.0.0.1:9", False)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(KitError, match="PyYAML is needed") as yaml:
        submissions.read_export(few[0])
    assert "'.[cluster]'" in dask.value.todo and "'.[classroom]'" in yaml.value.todo


def test_no_workers_grade_nothing(few):
    export, out = few
    with pytest.raises(KitError, match="no process would grade"):
        regrade.regrade(LAB, export, out, 0, None, False)


def test_what_breaks_a_grader_is_a_complete_result_of_nothing(tmp_path):
    steady = graders.Steady(LAB, trust=True)
    try:
        steady.grader.nursery.process.kill()
        steady.grader.grade = None  # whatever breaks
        content = json.loads(steady.text(tmp_path))
        assert content["score"] == 0
        assert content["extra_data"]["status"] == "grader error"
        assert "TypeError" in content["extra_data"]["error"]
        assert len(content["tests"]) == len(release_of(LAB).checks)
        assert json.loads(steady.text(tmp_path))["extra_data"]["status"] == "missing"
    finally:
        steady.close()
