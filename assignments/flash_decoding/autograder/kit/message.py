"""A result as text: sentence, what was expected, what came, the inputs, a hint, how to rerun."""

from __future__ import annotations

from autograder.kit.run import FAILED, PASSED, Result

WORDS = {PASSED: "ok", FAILED: "FAIL"}
WIDTH = 9  # of the labels


def head(result: Result) -> str:
    """One line: the outcome, the points and the sentence."""
    word = WORDS.get(result.outcome, "----")
    return f"{word:4} {result.score:g}/{result.check.points:g}  {result.check.sentence}"


def body(result: Result, rerun: bool = False, staff: bool = False) -> list[str]:
    """The lines below the head; a hidden check tells no more than its hint, except to staff."""
    whole = staff or not result.check.hidden
    lines = [line for line in result.lines if whole or line[0] in TELLABLE]
    if result.status == "not implemented":
        lines = [line for line in lines if line[0] == "got"]
    elif rerun and result.outcome == FAILED:
        lines.append(("rerun", f"python -m pytest -k {result.check.id}"))
    shown = []
    for label, text in lines:
        first, *rest = clean(text).split("\n")
        shown.append(f"     {label:{WIDTH}} {first}".rstrip())
        shown += [f"     {'':{WIDTH}} {line}".rstrip() for line in rest]
    return shown


TELLABLE = ("hint", "reason")  # labels whose text the kit alone writes


def clean(text: str, room: int = 4000) -> str:
    """Text that may hold anything, fit to be shown: no control characters, head and tail kept."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if len(text) <= room:
        return text
    left = len(text) - room
    return f"{text[: room // 2]}\n... {left} characters left out ...\n{text[-room // 2 :]}"
