"""What the commands of autograder and release share: verbs with lines to paste, one way to end."""

from __future__ import annotations

import argparse
import io
import os
import select
import sys
from collections.abc import Callable, Sequence

from autograder.kit.errors import KitError, is_full

TOOL_ERROR, STOPPED, UNREAD = 2, 130, 141  # the last two as a shell reports SIGINT and SIGPIPE


class Command:
    """A command line of verbs; each ends its help in the lines of `examples` that name it."""

    def __init__(self, program: str, description: str, examples: str):
        self._program, self._examples = program, examples
        self._form = argparse.RawDescriptionHelpFormatter
        self._parser = argparse.ArgumentParser(f"python -m {program}", description=description,
                                               epilog=examples, formatter_class=self._form)
        self._verbs = self._parser.add_subparsers(metavar="COMMAND", required=True)

    def verb(self, name: str, does: Callable[..., int]) -> argparse.ArgumentParser:
        """The parser of a verb; its arguments are those that `does` takes by name."""
        lines = [e for e in self._examples.splitlines() if f"{self._program} {name}" in e]
        parser = self._verbs.add_parser(name, help=does.__doc__, description=does.__doc__,
                                        epilog="\n".join(["lines to paste:", *lines]),
                                        formatter_class=self._form)
        parser.set_defaults(does=does)
        return parser

    def run(self, argv: Sequence[str] | None, stopped: str,
            blamed: Callable[[Exception], KitError | None]) -> int:
        """
        What the verb returns; 2 with two lines on a tool error, a full disk too; 141 when nobody
        reads on.
        """
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be any bytes
        try:
            try:
                return self._run(argv, stopped, blamed)
            finally:
                print(end="", flush=True)
        except BrokenPipeError:
            if not _reader_left():
                raise
            _print_no_more()
            return UNREAD
        except OSError as error:  # of a file, a temporary one, or what this prints to
            if not is_full(error):
                raise
            _print_no_more()
            print(f"a disk is full: {error.filename or error.strerror}",
                  "make room, or set TMPDIR to a folder that has some; then run the command again",
                  sep="\n", file=sys.stderr)
            return TOOL_ERROR

    def _run(self, argv, stopped, blamed) -> int:
        arguments = vars(self._parser.parse_args(argv))
        does = arguments.pop("does")
        try:
            return does(**arguments)
        except Exception as error:
            if isinstance(error, BrokenPipeError) or is_full(error):  # `run` sees to these
                raise
            told = blamed(error)
            if told is None:
                raise
            print(told.what, told.todo, sep="\n", file=sys.stderr)
            return TOOL_ERROR
        except KeyboardInterrupt:
            print(stopped, file=sys.stderr)
            return STOPPED


def _print_no_more() -> None:
    """What Python still has to write when it ends goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _reader_left() -> bool:
    poll = select.poll()
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
