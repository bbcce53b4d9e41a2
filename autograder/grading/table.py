"""A graded submission as a table on the terminal."""

from __future__ import annotations

from collections import defaultdict

from autograder.grading.grade import Graded
from autograder.kit import message


def render(graded: Graded, lab: str, verbose: bool = False) -> str:
    """The notes, each check with its message, the parts' points, the total."""
    lines = [message.clean(note) for note in graded.notes]
    parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for result in graded.results:
        check = result.check
        parts[check.part][0] += result.score
        parts[check.part][1] += check.points
        lines.append(message.head(result) + ("  [hidden]" if check.hidden else ""))
        lines += message.body(result, staff=verbose)
    lines.append("")
    lines += [f"{part:24} {got:5g} of {points:g}" for part, (got, points) in parts.items()]
    points = sum(r.check.points for r in graded.results)
    extra = graded.content["extra_data"]
    lines.append(f"{lab:24} {graded.score:5g} of {points:g}   ({extra['status']}, "
                 f"release {extra['version']}, seed {extra['seed']})")
    if verbose:
        lines.append(f"protections: {', '.join(extra['protections']) or 'none needed'}")
        lines += [f"{stream}: {message.clean(extra[stream])}" for stream in ("stdout", "stderr")
                  if extra[stream]]
    return "\n".join(lines)
