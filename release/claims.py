"""
What must hold of a lab's checks, each claim with the trials that show it.

Every known mistake and every automatic edit loses points, every honest solution and every seed
gets full marks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from release.edits import edits
from release.freeze import MISTAKES, Mistake, mistaken, read_mistakes
from release.solution import ROOT, Solution
from release.term import tomllib
from release.trial import Trial, Verdict

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


@dataclass(frozen=True)
class Claim:
    """Trials, and what their verdicts mean for the report."""

    trials: list[Trial]
    conclude: Callable[[list[Verdict], Report], None]


def mistakes_are_caught_and_named(solution: Solution) -> Claim:
    """Each known mistake loses points in its own part and nowhere else, and most are named."""
    mistakes = read_mistakes(solution)
    trials = [Trial(m.id, solution.lab, mistaken(solution, m), m.part) for m in mistakes]

    def conclude(verdicts: list[Verdict], report: Report) -> None:
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
        unnamed = ", ".join(v.trial.id for v in verdicts if not v.names())
        if unnamed:
            print(f"{'':18} not named: {unnamed}")
        if named < NAMED_AT_LEAST * len(mistakes):
            report.fail(f"{solution.lab}: fewer than {NAMED_AT_LEAST:.0%} are named, not {unnamed}")

    return Claim(trials, conclude)


def _ids_with_hint(mistakes: list[Mistake], hint: str) -> set[str]:
    return {m.id for m in mistakes if m.hint == hint}


def honest_solutions_get_full_marks(solution: Solution) -> Claim:
    """Correct but unusual solutions get full marks and no hint."""
    trials = honest_trials(solution)

    def conclude(verdicts: list[Verdict], report: Report) -> None:
        for verdict in verdicts:
            for id_, _, name, outcome in verdict.wrong:
                report.fail(f"honest/{solution.lab}/{verdict.trial.id}: {outcome} {id_} {name}")
        report.count("honest solutions with full marks", sum(not v.wrong for v in verdicts),
                     len(verdicts), solution.lab)

    return Claim(trials, conclude)


def honest_trials(solution: Solution) -> list[Trial]:
    """A trial for each folder of autograder/tests/honest/<lab>: the files that differ."""
    trials = []
    for folder in sorted((HONEST / solution.lab).glob("*/")):
        own = {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))}
        trials.append(Trial(folder.name, solution.lab, solution.sources | own, every=True))
    return trials


def edits_are_caught(solution: Solution) -> Claim:
    """Every automatic edit is caught, or listed as one that changes nothing in the contract."""
    trials = [Trial(edit.id, solution.lab, solution.sources | {edit.file: edit.source}, stop=True)
              for file in solution.students for edit in edits(solution.sources[file], file)]

    def conclude(verdicts: list[Verdict], report: Report) -> None:
        survivors = {v.trial.id for v in verdicts if not v.wrong}
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

    return Claim(trials, conclude)


def equivalent_edits(lab: str) -> dict[str, str]:
    """Edit id -> why it changes nothing within the contract."""
    path = MISTAKES / f"{lab}.equivalent.toml"
    if not path.exists():
        return {}
    return {e["id"]: e["why"] for e in tomllib.loads(path.read_text(encoding="utf-8"))["edit"]}


def every_seed_gives_full_marks(solution: Solution) -> Claim:
    """The solution gets full marks whatever the seed."""
    trials = [Trial(f"seed {s}", solution.lab, solution.sources, every=True, seed=s)
              for s in range(2, 22)]

    def conclude(verdicts: list[Verdict], report: Report) -> None:
        for verdict in verdicts:
            for id_, *_ in verdict.wrong:
                report.fail(f"{solution.lab}: the solution fails {id_} with {verdict.trial.id}")
        report.count("seeds with full marks", sum(not v.wrong for v in verdicts), len(verdicts),
                     solution.lab)

    return Claim(trials, conclude)
