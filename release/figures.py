"""Draws the handouts' figures: runs a lab's plots.py on its solution, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from autograder.kit.errors import KitError
from release.solution import FIGURES, ROOT

SECONDS = 60
DRAW = """
import sys
from pathlib import Path

import plots
from autograder.kit.drawing import save_all
from autograder.kit.errors import KitError

try:
    notes = save_all(plots.FIGURES, Path(sys.argv[1]))
except KitError as error:
    sys.exit(error.what)
sys.exit("; ".join(notes) or 0)
"""


def draw(sources: Mapping[str, str], lab: str) -> dict[str, bytes]:
    """
    The lab's figures as SVG, by file name ("traffic.svg"); none for a lab without plots.py.

    Args:
        sources: the solution's modules, file -> text, plots.py among them
        lab: the lab's name, for errors
    """
    if FIGURES not in sources:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        modules, drawn = Path(folder, "modules"), Path(folder, "drawn")
        drawn.mkdir()
        modules.mkdir()
        for name, text in sources.items():
            (modules / name).write_text(text, encoding="utf-8")
        # `-c` puts the working folder first on the path: the solution's modules win.
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        run = subprocess.run([sys.executable, "-B", "-c", DRAW, str(drawn)], cwd=modules, env=env,
                             capture_output=True, text=True, encoding="utf-8", timeout=SECONDS)
        if run.returncode:
            last = run.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise KitError(f"solutions/{lab}/{FIGURES}: {last[0]}",
                           f"draw it by hand: cd solutions/{lab} && python {FIGURES}")
        return {path.name: path.read_bytes() for path in sorted(drawn.iterdir())}
