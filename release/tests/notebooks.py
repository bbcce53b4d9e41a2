"""Notebooks as students hand them in, made of the one that they got."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from release.notebook import Stub
from release.solution import ROOT, Solution

DIST = ROOT / "release" / "dist"
COURSE = DIST / "nbgrader"
Notebook = dict[str, Any]


def handed_out(lab: str) -> Notebook:
    """The notebook that students of the last build get."""
    path = COURSE / "release" / lab / f"{lab}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def filled_in(solution: Solution, sources: Mapping[str, str]) -> Notebook:
    """The lab's notebook with the functions of these sources in its stub cells."""
    notebook = handed_out(solution.lab)
    for cell in notebook["cells"]:
        kind, _, name = cell["id"].partition("-")
        if kind == "stub":
            file = solution.functions[name]
            text = Stub(sources[file], solution.sources[file]).take(name)
            cell["source"] = text.splitlines(keepends=True)
    return notebook


def with_cell(notebook: Notebook, source: str, at: int = 0) -> Notebook:
    """The notebook with a student's own cell in it."""
    notebook = copy.deepcopy(notebook)
    notebook["cells"].insert(at, {"cell_type": "code", "execution_count": None, "id": "own",
                                  "metadata": {}, "outputs": [], "source": source})
    return notebook


def without_cells(notebook: Notebook, *kinds: str) -> Notebook:
    """The notebook without cells whose id begins with one of these words."""
    kept = [c for c in notebook["cells"] if c["id"].partition("-")[0] not in kinds]
    return {**notebook, "cells": kept}


def hand_in(folder: Path, lab: str, notebook: Notebook | str, answers: str) -> Path:
    """Write a submission; its folder."""
    folder.mkdir(parents=True)
    text = notebook if isinstance(notebook, str) else json.dumps(notebook)
    (folder / f"{lab}.ipynb").write_text(text, encoding="utf-8")
    (folder / "answers.toml").write_text(answers, encoding="utf-8")
    return folder
