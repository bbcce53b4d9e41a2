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
from dataclasses import dataclass, field
from filecmp import dircmp
from pathlib import Path

from autograder.tests import hostile
from release import leaks
from release.build import build
from release.edits import edits
from release.freeze import MISTAKES, Mistake, mistaken, read_mistakes
from release.solution import ROOT, Solution, labs, read_solution
from release.term import read_term, tomllib
from release.trial import Trial, Tries, Verdict

HONEST = ROOT / "autograder" / "tests" / "honest"
NAMED_AT_LEAST = 0.95  # share of the known mistakes that hints must name rightly


@dataclass
class Report:
    """Counts to print and failures to list."""

    failures: list[str] = field(default_factory=list)

    def count(self, what: str, good: int, all_of_them: int, lab: str = "") -> None:
        print(f"{lab:18} {what:34} {good}/{all_of_them}", flush=True)

    def fail(self, what: str) -> None:
        self.failures.append(what)


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
            for solution in solutions:
                _mistakes(solution, tries, report)
                _honest(solution, tries, report)
                _edits(solution, tries, report)
                _seeds(solution, tries, report)
            _hostile(attacked.result(), report)
    for failure in report.failures:
        print(f"FAIL {failure}")
    print("the release is sound" if not report.failures else
          f"{len(report.failures)} findings; the release is not sound")
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
    found = leaks.scan(leaks.read(built / "assignments" / lab), hidden, secrets)
    found += leaks.scan(_file(dist / f"{lab}-student.zip"), hidden, secrets)
    found += leaks.scan(leaks.read(dist / "nbgrader" / "release" / lab), hidden, secrets)
    found += leaks.scan_solution_lines(_file(dist / f"{lab}-gradescope.zip"), hidden)
    for finding in found:
        report.fail(f"leak: {lab}: {finding}")
    report.count("leaks", len(found), 0, lab)


def _file(path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes()}


def _hostile(outcomes: dict[str, list[str]], report: Report) -> None:
    """Every submission that attacks the grader is contained."""
    for name, problems in outcomes.items():
        for problem in problems:
            report.fail(f"hostile/{name}: {problem}")
    report.count("hostile submissions contained", sum(not p for p in outcomes.values()),
                 len(outcomes))


def _mistakes(solution: Solution, tries: Tries, report: Report) -> None:
    """Each known mistake loses points in its own part and nowhere else, and most are named."""
    mistakes = read_mistakes(solution)
    trials = [Trial(m.id, solution.lab, mistaken(solution, m), m.part) for m in mistakes]
    verdicts = _run(tries, trials)
    caught = named = 0
    for mistake, verdict in zip(mistakes, verdicts, strict=True):
        where = f"{MISTAKES.name}/{solution.lab}.toml: {mistake.id}"
        elsewhere = verdict.parts() - {mistake.part}
        if mistake.part not in verdict.parts():
            report.fail(f"{where} loses no points")
        elif elsewhere:
            report.fail(f"{where} also loses points in {', '.join(sorted(elsewhere))}")
        else:
            caught += 1
        if verdict.names() - _ids_with_hint(mistakes, mistake.hint):
            report.fail(f"{where} is taken for {', '.join(verdict.names())}")
        named += bool(verdict.names() & _ids_with_hint(mistakes, mistake.hint))
    report.count("mistakes caught", caught, len(mistakes), solution.lab)
    report.count("mistakes named", named, len(mistakes), solution.lab)
    if named < NAMED_AT_LEAST * len(mistakes):
        report.fail(f"{solution.lab}: fewer than {NAMED_AT_LEAST:.0%} of the mistakes are named: "
                    f"{', '.join(v.trial.id for v in verdicts if not v.names())}")


def _ids_with_hint(mistakes: list[Mistake], hint: str) -> set[str]:
    return {m.id for m in mistakes if m.hint == hint}


def _honest(solution: Solution, tries: Tries, report: Report) -> None:
    """Correct but unusual solutions get full marks and no hint."""
    trials = honest_trials(solution)
    verdicts = _run(tries, trials)
    for verdict in verdicts:
        for id_, _, name, outcome in verdict.wrong:
            report.fail(f"honest/{solution.lab}/{verdict.trial.id}: {outcome} {id_} {name}")
    report.count("honest solutions with full marks", sum(not v.wrong for v in verdicts),
                 len(verdicts), solution.lab)


def honest_trials(solution: Solution) -> list[Trial]:
    """A trial for each folder of autograder/tests/honest/<lab>: the files that differ."""
    trials = []
    for folder in sorted((HONEST / solution.lab).glob("*/")):
        own = {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))}
        trials.append(Trial(folder.name, solution.lab, solution.sources | own))
    return trials


def _edits(solution: Solution, tries: Tries, report: Report) -> None:
    """Every automatic edit is caught, or listed as one that changes nothing in the contract."""
    trials = [Trial(edit.id, solution.lab, solution.sources | {edit.file: edit.source}, stop=True)
              for file in solution.students for edit in edits(solution.sources[file], file)]
    survivors = {v.trial.id for v in _run(tries, trials) if not v.wrong}
    equivalent = equivalent_edits(solution.lab)
    for id_ in sorted(survivors - equivalent.keys()):
        report.fail(f"edit survives every check: {id_}")
    for id_ in sorted(equivalent.keys() - survivors):
        report.fail(f"{MISTAKES.name}/{solution.lab}.equivalent.toml: caught or gone: {id_}")
    caught = len(trials) - len(survivors)
    report.count("edits caught", caught, len(trials) - len(survivors & equivalent.keys()),
                 solution.lab)
    for id_ in sorted(survivors & equivalent.keys()):
        print(f"{'':18} equivalent: {id_}: {equivalent[id_]}")


def equivalent_edits(lab: str) -> dict[str, str]:
    """Edit id -> why it changes nothing within the contract."""
    path = MISTAKES / f"{lab}.equivalent.toml"
    if not path.exists():
        return {}
    return {e["id"]: e["why"] for e in tomllib.loads(path.read_text(encoding="utf-8"))["edit"]}


def _seeds(solution: Solution, tries: Tries, report: Report) -> None:
    """The solution gets full marks whatever the seed."""
    trials = [Trial(f"seed {s}", solution.lab, solution.sources, NO_PART, seed=s)
              for s in range(2, 22)]
    verdicts = _run(tries, trials)
    for verdict in verdicts:
        for id_, *_ in verdict.wrong:
            report.fail(f"{solution.lab}: the solution fails {id_} with {verdict.trial.id}")
    report.count("seeds with full marks", sum(not v.wrong for v in verdicts), len(verdicts),
                 solution.lab)


NO_PART = "-"  # leaves the slow checks out


def _run(tries: Tries, trials: list[Trial]) -> list[Verdict]:
    verdicts: list[Verdict] = []

    def note(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if sys.stderr.isatty():
            print(f"\r{len(verdicts)}/{len(trials)} ", end="\r", file=sys.stderr)

    tries(trials, note)
    return verdicts
