"""
Proves a release: everything that must hold of it, counted; what fails is listed.

The build proves the solution and the stub before it writes; here the checks themselves are put on
trial, with every known mistake, automatic edits and honest solutions, and the artefacts are
scanned for leaks.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from filecmp import dircmp
from pathlib import Path

from autograder.tests import hostile
from release import claims, leaks
from release.build import build
from release.claims import Report
from release.solution import ROOT, Solution, labs, read_solution
from release.term import read_term
from release.trial import Trial, Tries, Verdict

CLAIMS = (claims.honest_solutions_get_full_marks, claims.mistakes_are_caught_and_named,
          claims.edits_are_caught, claims.every_seed_gives_full_marks)  # the longest trials first


def check() -> int:
    """Prove everything; 0 when it holds, else 1 with a list of what fails."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="release-check-") as folder:
        build([], None, Path(folder))
        frozen = Path(folder) / "dist" / "frozen"
        _up_to_date(Path(folder) / "assignments", report)
        solutions = [read_solution(lab) for lab in labs()]
        tries = Tries(frozen, {s.lab: s.sources for s in solutions})
        for solution in solutions:
            _leaks(solution, Path(folder), report)
        with ThreadPoolExecutor(1) as beside:  # attacks wait for limits: there is room for trials
            attacked = beside.submit(lambda: dict(hostile.run(frozen)))
            _claims(solutions, tries, report)
            _hostile(attacked.result(), report)
    for failure in report.failures:
        print(f"FAIL {failure}")
    print("the release is sound" if not report.failures else
          f"the release is not sound: {len(report.failures)} to mend")
    return 1 if report.failures else 0


def _up_to_date(fresh: Path, report: Report) -> None:
    """What is committed below assignments/ is what the solutions make."""
    different = _differences(dircmp(fresh, ROOT / "assignments", ignore=["__pycache__"]))
    report.count("assignments/ up to date", len(labs()) - bool(different), len(labs()))
    if different:
        report.fail(f"assignments/ differs from a fresh build: {', '.join(different[:5])}; "
                    "run python -m release build and commit")


def _differences(pair: dircmp) -> list[str]:
    inner = [d for sub in pair.subdirs.values() for d in _differences(sub)]
    return pair.left_only + pair.right_only + pair.diff_files + inner


def _leaks(solution: Solution, built: Path, report: Report) -> None:
    """Nothing that students get holds a solution line, a hidden check or a secret."""
    lab, dist, hidden = solution.lab, built / "dist", leaks.Hidden(solution)
    secrets = (read_term().grading["seed"],)
    scans = [leaks.scan(leaks.read(built / "assignments" / lab), hidden, secrets),
             leaks.scan(_file(dist / f"{lab}-student.zip"), hidden, secrets),
             leaks.scan(leaks.read(dist / "nbgrader" / "release" / lab), hidden, secrets),
             leaks.scan_solution_lines(_file(dist / f"{lab}-gradescope.zip"), hidden)]
    for found in scans:
        for finding in found:
            report.fail(f"leak: {lab}: {finding}")
    report.count("artefacts without a leak", sum(not found for found in scans), len(scans), lab)


def _file(path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes()}


def _hostile(outcomes: dict[str, list[str]], report: Report) -> None:
    """Every submission that attacks the grader is contained."""
    for name, problems in outcomes.items():
        for problem in problems:
            report.fail(f"hostile/{name}: {problem}")
    report.count("hostile submissions contained", sum(not p for p in outcomes.values()),
                 len(outcomes))


def _claims(solutions: list[Solution], tries: Tries, report: Report) -> None:
    """All trials of all claims in one go, so that no core waits for a claim to end."""
    made = [claim(solution) for claim in CLAIMS for solution in solutions]
    verdicts = iter(_run(tries, [trial for claim in made for trial in claim.trials]))
    for claim in made:
        claim.conclude([next(verdicts) for _ in claim.trials], report)


def _run(tries: Tries, trials: list[Trial]) -> list[Verdict]:
    verdicts: list[Verdict] = []

    def note(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if sys.stderr.isatty():
            print(f"\r{len(verdicts)}/{len(trials)} ", end="\r", file=sys.stderr)

    tries(trials, note)
    return verdicts
