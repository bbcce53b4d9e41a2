"""Judge submissions: grade one, regrade a class, simulate Gradescope, list the checks."""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from pathlib import Path

from autograder.command import Command
from autograder.kit.errors import KitError

EXAMPLES = """lines to paste:
  python -m autograder list
  python -m autograder grade flash_attention solutions/flash_attention
  python -m autograder grade flash_attention submission.zip --json results.json --seed 7
  python -m autograder regrade flash_attention export/ --out regraded/
  python -m autograder simulate release/dist/flash_attention-gradescope.zip submission.zip
"""


def grade(lab: str, path: Path, json: Path | None = None, seed: int | None = None,
          trust: bool = False, verbose: bool = False) -> int:
    """Grade one submission as Gradescope would: a table here, results.json in FILE."""
    from autograder.grading.nursery import Nursery

    with closing(Nursery()) as nursery:  # it starts while this process loads the rest
        from autograder.grading import results, table
        from autograder.grading.grade import Grader
        from autograder.kit.release import release_of

        save = (lambda content: results.write(json, content)) if json else (lambda content: None)
        graded = Grader(release_of(lab), trust, nursery).grade(path, seed, save)
        save(graded.content)
    print(table.render(graded, lab, verbose))
    return 0


def regrade(lab: str, export: Path, out: Path, workers: int | None = None,
            scheduler: str | None = None, trust: bool = False) -> int:
    """Grade a class; started again, it goes on where it was. Exit 1 on grader errors."""
    from autograder.classroom import regrade as classroom

    return classroom.regrade(lab, export, out, workers, scheduler, trust)


def simulate(zip: Path, submission: Path) -> int:
    """Run a built gradescope.zip on a submission the way Gradescope runs it."""
    from autograder.grading import simulate as simulation

    return simulation.simulate(zip, submission)


def list_checks() -> int:
    """Every check with its sentence, points and visibility."""
    from autograder.kit.release import labs, release_of

    for lab in labs():
        checks = release_of(lab).checks
        print(f"{lab}: {len(checks)} checks, {sum(c.points for c in checks):g} points")
        for check in checks:
            seen = "hidden" if check.hidden else "public"
            print(f"  {check.number:>3} {seen} {check.points:4g}  {check.part:22} {check.sentence}")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it did what it says, 2 with two lines on a tool error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to leave no process and no file
    return _command().run(argv, "stopped", lambda e: e if isinstance(e, KitError) else None)


def _command() -> Command:
    command = Command("autograder", __doc__, EXAMPLES)
    one = command.verb("grade", grade)
    one.add_argument("lab", metavar="LAB")
    one.add_argument("path", metavar="PATH", type=Path, help="a folder, a zip or a notebook")
    one.add_argument("--json", metavar="FILE", type=Path, help="where to write results.json")
    one.add_argument("--seed", type=int, help="repeat a result: the seed that it shows")
    one.add_argument("--trust", action="store_true", help="run the submission unconfined")
    one.add_argument("-v", "--verbose", action="store_true",
                     help="for staff: what hidden checks saw, output, protections")
    many = command.verb("regrade", regrade)
    many.add_argument("lab", metavar="LAB")
    many.add_argument("export", metavar="EXPORT", type=Path,
                      help="a Gradescope export or its zip, or a folder with one entry a student")
    many.add_argument("--out", metavar="DIR", type=Path, required=True,
                      help="for results/<id>.json, grades.csv, checks.csv and report.html")
    many.add_argument("--workers", metavar="N", type=int,
                      help="grader processes; by default one a processor")
    many.add_argument("--scheduler", metavar="ADDRESS", help="of a running Dask cluster")
    many.add_argument("--trust", action="store_true", help="run the submissions unconfined")
    bundle = command.verb("simulate", simulate)
    bundle.add_argument("zip", metavar="ZIP", type=Path)
    bundle.add_argument("submission", metavar="SUBMISSION", type=Path)
    command.verb("list", list_checks)
    return command


if __name__ == "__main__":
    sys.exit(main())
