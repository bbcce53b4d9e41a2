"""README says what is: its commands run and print what it shows, the files it names are there."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LAB = "flash_attention"

NOT_RUN = {  # command: why it isn't run here
    "make check": "takes minutes, and is a proof of its own",
    "make test": "runs this test",
    "nbgrader autograde flash_attention": "slow; test_nbgrader.py runs it on submissions",
    "nbgrader generate_feedback flash_attention": "slow; test_nbgrader.py runs it on submissions",
    "nbgrader export": "needs the two above; test_nbgrader.py runs it",
}


def blocks(language: str = "") -> list[str]:
    """The content of README's fenced blocks."""
    return [text for kind, text in re.findall(r"^```(\w*)\n(.*?)^```$", README,
                                              re.MULTILINE | re.DOTALL) if kind == language]


def shown() -> dict[str, list[str]]:
    """Command -> the lines of output that README shows."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in "".join(blocks()).splitlines():
        told = re.fullmatch(r"(?:\$ )?((?:make|python3?|nbgrader) .*?)(?: +#.*)?", line)
        if told:
            lines = found.setdefault(told[1], [])
        elif found and not line.startswith("solutions/<lab>"):
            lines.append(line)
    return found


SHOWN = shown()


def masked(line: str) -> str:
    """A line without what differs from build to build and from run to run."""
    for pattern, word in ((r"\b[0-9a-f]{8}\b", "HASH"), (r"\d+ KiB", "SIZE"), (r"seed \d+", "SEED"),
                          (r"[\d.]+ s\b", "SECONDS"), (r"\d+ checks", "COUNT checks"),
                          (r"^(\w+) +\d+ +(\d+) +(\d+) +(\d+) +SIZE", r"\1 COUNT \2 \3 \4 SIZE")):
        line = re.sub(pattern, word, line)
    return " ".join(line.split())


def makefile() -> dict[str, list[str]]:
    """Target -> its recipe."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {target: recipe.strip().replace("\t", "").splitlines() for target, recipe in
            re.findall(r"^([\w./]+):.*\n((?:\t.*\n?)+)", text, re.MULTILINE)}


def run(project: Path, command: str) -> str:
    """The output of a command as README shows it; it must succeed."""
    words = shlex.split(command)
    if words[0] == "make":
        return "".join(run(project, line.replace("$(VENV)", "python"))
                       for line in makefile()[words[1]])
    assert words[0] == "python", command
    done = subprocess.run([sys.executable, *words[1:]], cwd=project, text=True, encoding="utf-8",
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(project)})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project after `make release`, with the export of a class of two."""
    root = tmp_path_factory.mktemp("project")
    skip = shutil.ignore_patterns("dist", "__pycache__", ".*")
    for name in ("solutions", "autograder", "release"):
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    (root / "made").write_text(run(root, "make release"), encoding="utf-8")
    people = {"solutions": "'Ruiz, Ana 🦊'", "assignments": "'=SUM(1)'"}
    text = "---\n"
    for number, (folder, name) in enumerate(people.items(), 1):
        shutil.copytree(root / folder / LAB, root / "export" / f"submission_{number}", ignore=skip)
        text += (f"submission_{number}:\n  :submitters:\n  - :name: {name}\n    :sid: '00{number}'"
                 f"\n    :email: a@b.edu\n  :created_at: 2026-12-01 10:00:00.123456789 Z\n"
                 "  :score: 0.0\n  :status: processed\n")
    (root / "export" / "submission_metadata.yml").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("command", [c for c in SHOWN if c not in NOT_RUN])
def test_a_command_of_the_readme_prints_what_the_readme_shows(project, command):
    if command == "make release":
        printed = (project / "made").read_text(encoding="utf-8")
    else:
        printed = run(project, command)
    lines = iter([masked(line) for line in printed.splitlines()])
    for expected in SHOWN[command]:
        assert masked(expected) in lines, f"{expected}\n--- is not, in this order, in\n{printed}"


def test_every_command_is_run_or_has_a_reason_not_to_be():
    assert NOT_RUN.keys() <= SHOWN.keys(), "README shows these no longer"
    assert all(NOT_RUN.values())
    assert {c.split()[1] for c in SHOWN if c.startswith("make ")} <= makefile().keys()
    assert len(SHOWN) - len(NOT_RUN) >= 5


def test_a_release_leaves_three_zips_to_upload_and_three_to_hand_out(project):
    names = {path.name for path in (project / "release" / "dist").glob("*.zip")}
    labs = ("flash_attention", "flash_decoding", "megakernel")
    assert names == {f"{lab}-{kind}.zip" for lab in labs for kind in ("gradescope", "student")}


def test_regrading_a_class_writes_what_the_readme_says(project):
    command = next(c for c in SHOWN if "regrade" in c)
    run(project, command)
    run(project, command)  # it goes on where it was
    with open(project / "regraded" / "grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = [(row["name"], row["sid"], row["total"]) for row in csv.DictReader(file)]
    assert rows == [("Ruiz, Ana 🦊", "001", "60"), ("'=SUM(1)", "002", "0")]
    for name in ("checks.csv", "report.html", "results/1.json", "results/2.json"):
        assert (project / "regraded" / name).exists()


def test_the_check_of_the_readme_can_be_pasted(project, tmp_path):
    pasted, = blocks("python")
    name = re.search(r"def test_(\w+)", pasted)[1]
    for source, code in (("solutions", 0), ("assignments", 1)):
        folder = tmp_path / source
        shutil.copytree(project / "assignments" / LAB, folder)
        for module in (project / source / LAB).glob("*.py"):
            shutil.copy(module, folder)
        with open(folder / "autograder" / "checks" / LAB / "public.py", "a", encoding="utf-8") as f:
            f.write(f"\n\n{pasted}")
        done = subprocess.run([sys.executable, "-m", "pytest", "-k", name], cwd=folder, text=True,
                              capture_output=True, encoding="utf-8",
                              env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
        assert done.returncode == code, done.stdout + done.stderr
        assert ("1 passed" in done.stdout) == (code == 0)


def test_files_and_folders_that_the_readme_names_are_there(project):
    names = re.findall(r"`((?:solutions|autograder|release|assignments)/[\w<>./-]*)`", README)
    assert len(names) > 15
    for name in dict.fromkeys(names):
        path = name.replace("<lab>", LAB).replace("<term>", "2026-fall").rstrip("/")
        course = "release/dist/nbgrader" if path == f"release/{LAB}" else ""  # its own release/
        assert (project / course / path).exists(), name


def test_options_that_the_readme_names_exist(project):
    texts = "".join(run(project, f"python -m {verb} --help") for verb in (
        "release build", "release.benchmark", "autograder grade", "autograder regrade"))
    for option in set(re.findall(r"`(?:[^`\n]* )?(--[a-z]+)", README)):
        assert option in texts or option == "--help", option
