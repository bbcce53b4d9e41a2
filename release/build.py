"""
Builds a release: from the solutions to everything that is handed out or graded with.

All of it is made and proven in a staging folder; only then does it take the old release's place,
so that an interrupted or refused build leaves that whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.grading.grade import Graded, Grader
from autograder.kit import questions
from autograder.kit.check import Check, checks_of
from autograder.kit.errors import KitError
from autograder.kit.release import Release, module_of
from autograder.kit.run import FAILED, PASSED
from release import notebook, package
from release.blame import shown_path, text_of
from release.figures import draw
from release.freeze import Bench, doubts, freeze
from release.nbgrader import Course
from release.package import Files
from release.solution import ROOT, SOLUTIONS, Solution, labs, read_solution
from release.swap import swap_in
from release.term import Term, fill_answers, read_term


@dataclass(frozen=True)
class Built:
    """One lab's artefacts and what grading said of the solution and of the stub."""

    release: Release
    student: Files
    notebook: bytes  # the course's, with its hidden regions
    bundle: Files
    solved: Graded
    untouched: Graded
    answers: str  # answers.toml with this term's values


def build(only: list[str], term_file: Path | None, out: Path | None, language: str = "") -> int:
    """Build the labs (all of them when none is named); the table at the end says what came out."""
    term = read_term(term_file)
    root = out.resolve() if out else ROOT
    dist = root / "dist" if out else ROOT / "release" / "dist"
    language = language or term.language
    solutions = [read_solution(lab) for lab in only or labs()]
    with (_staging(dist.parent) as staging, Course(staging / "dist" / "nbgrader") as course,
          Bench() as bench, ThreadPoolExecutor(1) as beside):
        pictures = [beside.submit(draw, solution.sources, solution.lab) for solution in solutions]
        built = [_build_lab(solution, drawn, term, language, bench, staging)
                 for solution, drawn in zip(solutions, pictures, strict=True)]
        for one in built:
            lab = one.release.lab
            package.write(one.student, staging / "assignments" / lab)
            for kind, data in (("student", package.zipped(one.student, lab)),
                               ("gradescope", package.zipped(one.bundle))):
                (staging / "dist" / f"{lab}-{kind}.zip").write_bytes(data)
            course.add(lab, one.student, one.notebook, one.bundle)
        pairs = [(staging / "assignments" / b.release.lab, root / "assignments" / b.release.lab)
                 for b in built]
        _keep_others(dist, staging / "dist", [b.release.lab for b in built], course)
        course.finish()
        package.write({"manifest.json": _manifest(staging / "dist")}, staging / "dist")
        swap_in([*pairs, (staging / "dist", dist)])
    if not out:
        _keep_answers(built)
    print(table(built, dist))
    return 0


def _build_lab(solution: Solution, pictures: Future[Files], term: Term, language: str,
               bench: Bench, staging: Path) -> Built:
    lab = solution.lab
    _refuse_doubts(solution, term, bench)
    values = freeze(solution, term, bench)
    about = _about(solution, term)
    stored = package.frozen_files(solution, values, about)
    figures = _figures(solution, term, about, bench)
    draft = package.student_files(solution, term, figures, stored)
    pages = notebook.make(solution, draft, language, _checks(solution, term))
    extra = {f"{lab}.ipynb": pages.student} | {
        f"figures/{name}": data for name, data in pictures.result().items()}
    about["version"] = _hash({**package.grader_files(lab), **stored, **draft, **extra})[:8]
    stored |= package.lab_file(about)
    student = package.student_files(solution, term, figures, stored) | extra
    folder = staging / "dist" / "frozen" / lab
    package.write(stored, folder)
    release = Release(lab, folder)
    answers = {key: value for key, (value, _) in values["hidden"]["answers"].items()}
    solved, untouched, filled = _prove(solution, release, student, answers, staging)
    return Built(release, student, pages.course, package.bundle_files(lab, stored, release),
                 solved, untouched, filled)


def _refuse_doubts(solution: Solution, term: Term, bench: Bench) -> None:
    found = doubts(solution, term, bench)
    if found:
        raise KitError(f"{term.file}: [{solution.lab}]: {'; '.join(found)}",
                       "change the figures of that table; nothing was written")


def _about(solution: Solution, term: Term) -> dict[str, Any]:
    """lab.json without its version."""
    checks = _checks(solution, term)
    parts: dict[str, float] = {}
    for check in checks:
        parts[check.part] = parts.get(check.part, 0) + check.points
    return {
        "lab": solution.lab, "term": term.name, "names": solution.names,
        "students": solution.students, "given": solution.given,
        "functions": solution.functions, "parts": parts,
        "points": sum(parts.values()),
        "public_points": sum(c.points for c in checks if not c.hidden), **term.grading,
    }


def _checks(solution: Solution, term: Term) -> list:
    public, hidden = (module_of(solution.lab, audience) for audience in ("public", "hidden"))
    for module in (public, hidden):
        for function in [f for f in vars(module).values() if hasattr(f, "__weight__")]:
            _refuse_check(function, solution.functions)
    return checks_of(public) + checks_of(hidden, term.grading["hidden_visibility"])


def _refuse_check(function: Callable, functions: Iterable[str]) -> None:
    """KitError for a check that no grader could show or count; `functions` are students'."""
    place = f"{shown_path(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"
    points, sentence = function.__weight__, (function.__doc__ or "").strip()
    if type(points) not in (int, float) or not 0 < points < float("inf"):
        raise KitError(f"{place}: {function.__name__} has points={points!r}",
                       "points are a number above 0")
    if not sentence:
        raise KitError(f"{place}: {function.__name__} has no docstring",
                       "its docstring is the sentence that students read")
    part = function.__tags__[0]
    if part != questions.PART and not any(f"{part}_".startswith(f"{name}_") for name in functions):
        raise KitError(f"{place}: {function.__name__} has part={part!r}",
                       f"a part is {questions.PART} or begins with one of {', '.join(functions)}")


def _figures(solution: Solution, term: Term, about: dict[str, Any], bench: Bench
             ) -> dict[str, Any]:
    """What the placeholders of the lab's texts stand for."""
    figures = {**term.figures(solution.lab), **term.tables["term"], "lab": solution.lab,
               "points": about["points"], "public_points": about["public_points"],
               **{f"points_{part}": points for part, points in about["parts"].items()}}
    if (ROOT / "autograder" / "checks" / solution.lab / "figures.py").exists():
        module = module_of(solution.lab, "figures")
        with bench.lab(solution.sources, solution.names) as lab:
            figures |= module.figures(lab, term.figures(solution.lab))
    return figures


def _prove(solution: Solution, release: Release, student: Files, answers: dict[str, Any],
           staging: Path) -> tuple[Graded, Graded, str]:
    """Refuse a release whose solution is not full marks, or whose stub passes anything."""
    work = staging / "work" / solution.lab
    path = SOLUTIONS / solution.lab / "answers.toml"
    filled = fill_answers(text_of(path), answers, shown_path(path))
    solved = {name: text.encode() for name, text in solution.sources.items()}
    package.write(solved | {"answers.toml": filled.encode()}, work / "solution")
    package.write(student, work / "stub")
    grader = Grader(release, trust=True)
    try:
        right, stub = (grader.grade(work / name) for name in ("solution", "stub"))
    finally:
        grader.close()
    wrong = [r for r in right.results if r.outcome != PASSED]
    if wrong:
        raise KitError(f"{_place(wrong[0].check)}: the solution fails {wrong[0].check.id}: "
                       f"{'; '.join(f'{a} {b}' for a, b in wrong[0].lines)}",
                       "mend solution, check or oracle; nothing was written")
    started = [r for r in stub.results if (r.outcome, r.status) != (FAILED, "not implemented")]
    if started:
        raise KitError(f"{_place(started[0].check)}: the fresh stub does not fail "
                       f"{started[0].check.id} with NotImplementedError: it is "
                       f"{started[0].outcome} ({started[0].status})",
                       "every check must call something students write; nothing was written")
    return right, stub, filled


def _place(check: Check) -> str:
    code = check.function.__code__
    return f"{shown_path(code.co_filename)}:{code.co_firstlineno}"


def _keep_answers(built: list[Built]) -> None:
    """Write this term's answers into the solutions, once the release that asks for them stands."""
    for one in built:
        path = SOLUTIONS / one.release.lab / "answers.toml"
        if one.answers != text_of(path):
            path.write_text(one.answers, encoding="utf-8", newline="\n")
            print(f"{shown_path(path)}: answers of term {one.release.about['term']} written")


def _hash(files: Files) -> str:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


@contextmanager
def _staging(beside: Path):
    """A folder on the release's own disk, gone afterwards."""
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(".build-*"):  # by builds that were killed
        if not _is_running(left.name.split("-")[1]):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".build-{os.getpid()}-", dir=beside))
    try:
        (folder / "dist").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: str) -> bool:
    if os.name != "posix":  # where signal 0 is no question
        return True
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def _keep_others(old: Path, new: Path, built: list[str], course: Course) -> None:
    """Bring along what the last build made of labs that this one leaves alone."""
    for lab in set(labs()) - set(built):
        for name in (f"{lab}-student.zip", f"{lab}-gradescope.zip"):
            if (old / name).exists():
                shutil.copy2(old / name, new / name)
        if (old / "frozen" / lab).exists():
            shutil.copytree(old / "frozen" / lab, new / "frozen" / lab)
        course.keep(lab, old / "nbgrader")


def _manifest(dist: Path) -> bytes:
    """What lies in dist: of every lab there, whichever build made it, and of every file."""
    files = {p.relative_to(dist).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
             for p in sorted(dist.rglob("*")) if p.is_file()}
    about = {path.parent.name: json.loads(path.read_text(encoding="utf-8"))
             for path in dist.glob("frozen/*/lab.json")}
    return package._json({"files": files, "labs": {
        lab: {key: value[key] for key in ("term", "version", "points", "parts")}
        for lab, value in about.items()}})


def table(built: list[Built], dist: Path) -> str:
    """What came out, a row a lab."""
    rows = [f"{'lab':18} checks points solution stub  student.zip gradescope.zip version"]
    for one in built:
        about, lab = one.release.about, one.release.lab
        sizes = [(dist / f"{lab}-{kind}.zip").stat().st_size / 1024
                 for kind in ("student", "gradescope")]
        rows.append(f"{lab:18} {len(one.release.checks):6} {about['points']:6g} "
                    f"{one.solved.score:8g} {one.untouched.score:4g} {sizes[0]:8.0f} KiB "
                    f"{sizes[1]:10.0f} KiB {one.release.version}")
    return "\n".join(rows)
