"""How the commands end when what they print to is not what they are used to."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import zipfile

import pytest

from autograder.command import TOOL_ERROR, UNREAD, Command
from autograder.grading import simulate
from autograder.tests.synthetic import write_files
from release.solution import ROOT, read_solution

LAB = "megakernel"


def run(*arguments: str, stdout: int, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", *arguments], stdout=stdout, cwd=ROOT, text=True,
                          stderr=subprocess.PIPE, env={**os.environ, **environment}, timeout=120)


@pytest.fixture
def unread():
    """A pipe whose reader has left."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("arguments", [
    ("autograder", "list"), ("autograder", "grade", LAB, f"solutions/{LAB}")], ids=" ".join)
def test_a_command_whose_reader_left_ends_without_a_word(arguments, unread):
    done = run(*arguments, stdout=unread)
    assert (done.returncode, done.stderr) == (UNREAD, "")


@pytest.mark.parametrize("arguments", [("autograder", "grade", "--help"), ("release", "--help")],
                         ids=" ".join)
def test_help_that_nobody_reads_is_no_error(arguments, unread):
    assert run(*arguments, stdout=unread).stderr == ""


def test_a_regrade_whose_reader_left_goes_on_when_it_is_started_again(tmp_path, unread):
    write_files(tmp_path / "class" / "one", read_solution(LAB).sources)
    arguments = ("autograder", "regrade", LAB, str(tmp_path / "class"), "--out",
                 str(tmp_path / "out"))
    done = run(*arguments, stdout=unread)
    assert (done.returncode, done.stderr) == (UNREAD, "")
    again = run(*arguments, stdout=subprocess.PIPE)
    assert again.returncode == 0 and "1 graded" in again.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
@pytest.mark.parametrize("arguments", [
    ("autograder", "list"), ("autograder", "grade", "--help"), ("release", "--help"),
    ("autograder", "regrade", LAB, "class", "--out", "out")], ids=" ".join)
def test_a_full_disk_under_the_output_is_two_lines(arguments, tmp_path):
    write_files(tmp_path / "class" / "one", read_solution(LAB).sources)
    arguments = [str(tmp_path / a) if a in ("class", "out") else a for a in arguments]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == TOOL_ERROR
    assert done.stderr.startswith("a disk is full: ") and done.stderr.count("\n") == 2


def test_a_disk_that_fills_up_while_a_bundle_is_unpacked_is_not_the_bundle_s_fault(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    with pytest.raises(OSError, match="No space left"):
        simulate.simulate(ROOT / "release" / "dist" / f"{LAB}-gradescope.zip", ROOT)


def test_another_broken_pipe_is_a_bug_and_is_shown():
    def bug() -> int:
        raise BrokenPipeError

    command = Command("autograder", "", "autograder list")
    command.verb("list", bug)
    with pytest.raises(BrokenPipeError):
        command.run(["list"], "", lambda error: None)


def test_any_name_of_a_file_can_be_printed():
    said = ("import sys; from autograder.command import Command\n"
            "command = Command('autograder', '', 'autograder list')\n"
            "command.verb('list', lambda: print('caf\\udce9 \\u5218') or 0)\n"
            "sys.exit(command.run(['list'], '', lambda error: None))")
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.stdout, done.stderr) == ("caf\\udce9 \\u5218\n", "")
