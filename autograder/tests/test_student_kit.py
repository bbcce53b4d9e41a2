"""The student's side: unzip, run pytest, read what it says; with real zips and processes."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.kit.release import release_of

ROOT = Path(__file__).resolve().parents[2]
LABS = ("flash_attention", "flash_decoding", "megakernel")


@pytest.fixture
def unzipped(tmp_path):
    """A function that unzips a lab's student zip and gives its folder."""
    def unzip(lab: str) -> Path:
        data = (ROOT / "release" / "dist" / f"{lab}-student.zip").read_bytes()
        zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path)
        return tmp_path / lab

    return unzip


def run_pytest(folder: Path, *more: str) -> str:
    command = [sys.executable, "-m", "pytest", *more]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=120)
    return done.stdout + done.stderr


@pytest.mark.parametrize("lab", LABS)
def test_at_first_every_check_fails_with_notimplementederror(unzipped, lab):
    shown = run_pytest(unzipped(lab))
    release = release_of(lab)
    assert f"{len(release.public)} failed" in shown and "passed" not in shown
    assert shown.count("FAIL 0/") == shown.count("NotImplementedError: TODO: ") == len(
        release.public)
    assert f"{lab}, release {release.version}: 0 of {release.about['public_points']:g}" in shown
    assert "next: open " in shown and "python -m pytest -k " in shown


@pytest.mark.parametrize("lab", LABS)
def test_the_solution_gets_all_public_points(unzipped, lab):
    folder = unzipped(lab)
    for file in (ROOT / "solutions" / lab).glob("*.py"):
        (folder / file.name).write_bytes(file.read_bytes())
    shown = run_pytest(folder)
    points = release_of(lab).about["public_points"]
    assert f"{points:g} of {points:g} public points" in shown
    assert "next: write answers.toml" in shown and "failed" not in shown


def test_one_check_can_be_run_by_the_name_that_its_message_shows(unzipped):
    folder = unzipped("megakernel")
    name = release_of("megakernel").public[0].id
    assert "1 failed" in run_pytest(folder, "-k", name)


def test_a_syntax_error_costs_its_own_file_and_is_shown_with_its_line(unzipped):
    folder = unzipped("flash_attention")
    (folder / "flash_backward.py").write_text("x = (\n", encoding="utf-8")
    shown = run_pytest(folder, "-k", "flash_bwd or merge_states")
    assert "SyntaxError" in shown and "flash_backward.py" in shown
    assert "NotImplementedError" in shown  # merge_states is still asked
