"""Make and prove releases: build everything from the solutions, check that it is sound."""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.command import Command
from release.blame import blamed

EXAMPLES = """lines to paste:
  python -m release build
  python -m release build flash_attention --term release/terms/2026-fall.toml --out /tmp/trial
  python -m release check
"""


def build(labs: list[str], term: Path | None = None, out: Path | None = None,
          lang: str = "") -> int:
    """Build everything from the solutions; ends with a table of what came out."""
    from release.build import build as build_labs

    return build_labs(labs, term, out, lang)


def check() -> int:
    """Prove the release: what must hold of it, with counts; exit 1 with a list of what fails."""
    from release.prove import check as prove

    return prove()


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when it did what it says, 2 with two lines on a tool error."""
    return _command().run(argv, "stopped; the old release is whole", blamed)


def _command() -> Command:
    command = Command("release", __doc__, EXAMPLES)
    make = command.verb("build", build)
    make.add_argument("labs", metavar="LAB", nargs="*", help="all labs when none is named")
    make.add_argument("--term", metavar="FILE", type=Path, help="the newest term by default")
    make.add_argument("--out", metavar="DIR", type=Path, help="build there instead of in place")
    make.add_argument("--lang", choices=("en", "zh"), default="",
                      help="of the notebooks; the term's language by default")
    command.verb("check", check)
    return command


if __name__ == "__main__":
    sys.exit(main())
