"""
What goes into each artefact: the folder that students get, the grader's bundle, zips of both.

Artefacts are dicts of path -> bytes until they are written; zips of equal content have equal
bytes: sorted entries, one date, stored as they are (compressors differ from machine to machine).
"""

from __future__ import annotations

import ast
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from autograder.kit import frozen, run
from autograder.kit.release import Release
from release.blame import text_of
from release.solution import ROOT, SOLUTIONS, Solution
from release.term import Term, blank_answers, fill

AUTOGRADER = ROOT / "autograder"
STUDENT = Path(__file__).parent / "student"
DATE = (1980, 1, 1, 0, 0, 0)
SECRET = ("seed",)  # of lab.json, not for students
Files = dict[str, bytes]


def frozen_files(solution: Solution, values: dict[str, Any], about: dict[str, Any]) -> Files:
    """The folder frozen/<lab> of a grader."""
    files = {f"{name}.json": frozen.dump(value).encode() for name, value in values.items()}
    files |= {f"handed_out/{name}": text.encode() for name, text in solution.stubs.items()}
    return files | lab_file(about)


def lab_file(about: dict[str, Any]) -> Files:
    """lab.json, by its name."""
    return {"lab.json": _json(about)}


def student_files(solution: Solution, term: Term, figures: dict[str, Any], stored: Files) -> Files:
    """The folder assignments/<lab>: what a student gets, the notebook and the pictures aside."""
    lab, folder = solution.lab, SOLUTIONS / solution.lab
    files = {name: text.encode() for name, text in solution.stubs.items()}
    for text in sorted(folder.glob("handout*.md")):
        shown = f"solutions/{lab}/{text.name}"
        files[text.name] = fill(text_of(text), figures, shown).encode()
    answers = fill(text_of(folder / "answers.toml"), figures, f"solutions/{lab}/answers.toml")
    files["answers.toml"] = blank_answers(answers).encode()
    files |= {path.name: path.read_bytes() for path in sorted(STUDENT.glob("*.*"))}
    files |= kit_files(lab)
    about = {k: v for k, v in json.loads(stored["lab.json"]).items() if k not in SECRET}
    kept = {"lab.json": _json(about), "public.json": stored["public.json"]}
    if term.grading["hints"]:
        kept["diagnosis.json"] = stored["diagnosis.json"]
    return files | {f"autograder/frozen/{lab}/{name}": data for name, data in kept.items()}


def kit_files(lab: str) -> Files:
    """The part of autograder/ that a student's checks run on."""
    public = AUTOGRADER / "checks" / lab / "public.py"
    paths = [AUTOGRADER / "__init__.py", *(AUTOGRADER / "kit").glob("*.py"), public,
             public.with_name("__init__.py"), *_shared_checks(public)]
    return _read(paths)


def grader_files(lab: str) -> Files:
    """The part of autograder/ that grades one lab's submissions."""
    hidden = AUTOGRADER / "checks" / lab / "hidden.py"
    paths = [AUTOGRADER / "__main__.py", AUTOGRADER / "command.py", hidden,
             *_shared_checks(hidden), *(path for folder in ("intake", "grading", "worker")
                                        for path in (AUTOGRADER / folder).glob("*.py"))]
    return kit_files(lab) | _read(paths)


def bundle_files(lab: str, stored: Files, release: Release) -> Files:
    """The grader's bundle for Gradescope; no solution and no mistake's code is in it."""
    files = grader_files(lab) | {
        f"autograder/frozen/{lab}/{name}": data for name, data in stored.items()}
    for path in sorted(p for p in (AUTOGRADER / "image").iterdir() if p.is_file()):
        files[path.name] = fill(path.read_text(encoding="utf-8"), {"lab": lab}, path.name).encode()
    files["zero.json"] = _json(zero_result(release))
    return files


def zero_result(release: Release) -> dict[str, Any]:
    """A complete results.json in which nothing has been judged."""
    from autograder.grading.results import as_gradescope

    nothing = run.planned(release.checks, 0, "the grader did not start: tell staff")
    return as_gradescope(nothing, release.about, [], {}, 0.0)


def zipped(files: Files, folder: str = "") -> bytes:
    """A zip of the files, below `folder`; equal files give equal bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}" if folder else name, DATE)
            entry.create_system = 3  # unix: external_attr holds the mode
            entry.external_attr = (0o100755 if data.startswith(b"#!") else 0o100644) << 16
            archive.writestr(entry, data)
    return memory.getvalue()


def write(files: Files, folder: Path) -> None:
    """Write the files below the folder."""
    for name, data in sorted(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if data.startswith(b"#!") else 0o644)


def _shared_checks(module: Path) -> list[Path]:
    """The files of checks/ itself that a module of checks imports."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
             and node.module == "autograder.checks" for alias in node.names]
    checks = AUTOGRADER / "checks"
    return [checks / "__init__.py", *(checks / f"{name}.py" for name in names)]


def _read(paths: list[Path]) -> Files:
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()
