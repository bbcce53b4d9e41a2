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
    aside = [_aside(place) for _, place in pairs]
    for (new, place), old in zip(pairs, aside, strict=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            os.rename(place, old)
        os.rename(new, place)
    for old in aside:
        shutil.rmtree(old, ignore_errors=True)


def recover(place: Path) -> None:
    """Undo a swap that was killed half way; without one, only tidy up."""
    old = _aside(place)
    if old.exists() and not place.exists():
        os.rename(old, place)
    shutil.rmtree(old, ignore_errors=True)


def _aside(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")
