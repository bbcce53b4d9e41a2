"""
Puts new folders in the place of old ones so that an interruption never leaves half of one.

Each old folder is set aside by a rename, the new one renamed into its place. A build that was
killed between the two finds the old folder set aside and puts it back.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def swap_in(pairs: list[tuple[Path, Path]]) -> None:
    """Replace each (new, place): `new` moves to `place`; what stood there goes away at the end."""
    for _, place in pairs:
        recover(place)
    moved: list[tuple[Path, Path]] = []
    try:
        for new, place in pairs:
            place.parent.mkdir(parents=True, exist_ok=True)
            for source, target in ((place, _aside(place)), (new, place)):
                if source.exists():
                    os.rename(source, target)
                    moved.append((source, target))
    except BaseException:  # a folder that can't be written to, Ctrl-C: all old ones come back
        for source, target in reversed(moved):
            os.rename(target, source)
        raise
    for _, place in pairs:
        shutil.rmtree(_aside(place), ignore_errors=True)


def recover(place: Path) -> None:
    """Undo a swap that was killed half way; without one, only tidy up."""
    old = _aside(place)
    if old.exists() and not place.exists():
        os.rename(old, place)
    shutil.rmtree(old, ignore_errors=True)


def _aside(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")
