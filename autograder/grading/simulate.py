"""
Runs a built gradescope.zip the way Gradescope does, in a folder laid out as its container.

    autograder/source/        the unzipped bundle
    autograder/submission/    what the student handed in
    autograder/results/       where results.json is expected
    autograder/venv/          Python
    autograder/run_autograder

The bundle's setup.sh, which installs packages, is not run: this Python and its packages stand in
for the image's.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from autograder.kit.errors import KitError, is_full

SECONDS = 600  # Gradescope's own default
PYTHON = """#!/bin/sh
PYTHONPATH={packages} exec {python} -S "$@"
"""  # without site, which may lead to a kit that is installed here, and the bundle must do alone


def simulate(bundle: Path, submission: Path) -> int:
    """Run the bundle on the submission; prints results.json's content as a table."""
    with tempfile.TemporaryDirectory(prefix="gradescope-") as folder:
        root = Path(folder) / "autograder"
        lay_out(bundle, submission, root)
        code = run(root)
        content = read_results(root)
    for test in content["tests"]:
        word = {"passed": "ok  ", "failed": "FAIL"}[test["status"]]
        print(f"{word} {test['score']:g}/{test['max_score']:g}  {test['name']}")
    points = sum(test["max_score"] for test in content["tests"])
    print(f"{content['score']:g} of {points:g}   ({content['extra_data']['status']}, release "
          f"{content['extra_data']['version']}, {content['execution_time']:g} s)")
    return code


def lay_out(bundle: Path, submission: Path, root: Path) -> None:
    """Make the container's folder; a zip is handed over as it is, a folder by its content."""
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    os.chmod(root.parent, 0o711)
    try:
        with zipfile.ZipFile(bundle) as archive:
            if "run_autograder" not in archive.namelist():
                raise KitError(f"{bundle}: no grader's bundle, for it holds no run_autograder",
                               "name a release/dist/<lab>-gradescope.zip")
            archive.extractall(root / "source")
    except (OSError, zipfile.BadZipFile) as error:
        if is_full(error):  # which is not the bundle's fault
            raise
        raise KitError(f"{bundle}: {getattr(error, 'strerror', None) or error}",
                       "build it with: python -m release build") from None
    if not submission.exists():
        raise KitError(f"{submission}: there is no such file or folder",
                       "name a submission: a folder, a zip or a notebook")
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    os.chmod(root / "run_autograder", 0o755)
    python = root / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    packages = [p for p in sys.path if p.endswith("-packages")]
    python.write_text(PYTHON.format(packages=shlex.quote(os.pathsep.join(packages)),
                                    python=shlex.quote(sys.executable)), encoding="utf-8")
    python.chmod(0o755)
    (root / "submission_metadata.json").write_text("{}\n", encoding="utf-8")
    try:
        if submission.is_dir():
            shutil.copytree(submission, root / "submission", symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(submission, root / "submission")
    except OSError as error:  # a pipe or a device among the files, for one
        if is_full(error):
            raise
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise KitError(f"{submission}: {reason}", "a submission is ordinary files") from None


def run(root: Path) -> int:
    """Start run_autograder in the laid out folder; its exit code."""
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    command = [str(root / "run_autograder")]
    with subprocess.Popen(command, cwd=root, env=environment, start_new_session=True) as process:
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def read_results(root: Path) -> dict:
    """The content of the results.json that stands there; KitError when there is none."""
    path = root / "results" / "results.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KitError(f"results.json: {error}",
                       "the bundle's run_autograder did not run") from None
