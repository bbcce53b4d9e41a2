"""How the commands end when what they print to is not what they are used to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from autograder.command import UNREAD, Command
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
