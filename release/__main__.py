"""Make and prove releases: build everything from the solutions, check that it is sound."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

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
    args = vars(_parser().parse_args(argv))
    command = args.pop("command")
    try:
        return command(**args)
    except Exception as error:
        told = blamed(error)
        if told is None:
            raise
        print(told.what, told.todo, sep="\n", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the old release is whole", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m release", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=form)
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)

    def verb(name: str, command) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=command.__doc__, description=command.__doc__,
                               epilog=f"a line to paste:\n  python -m release {name}",
                               formatter_class=form)
        sub.set_defaults(command=command)
        return sub

    make = verb("build", build)
    make.add_argument("labs", metavar="LAB", nargs="*", help="all labs when none is named")
    make.add_argument("--term", metavar="FILE", type=Path, help="the newest term by default")
    make.add_argument("--out", metavar="DIR", type=Path, help="build there instead of in place")
    make.add_argument("--lang", choices=("en", "zh"), default="",
                      help="of the notebooks; the term's language by default")
    verb("check", check)
    return parser


if __name__ == "__main__":
    sys.exit(main())
