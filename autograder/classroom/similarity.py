"""
Pairs of submissions that are more alike than the task explains; no proof of anything.

copydetect takes fingerprints of each work's tokens (names, layout and comments play no part). What
was handed out is left out of them, and so is what many wrote: that is the task's own shape. All of
it happens in a process of its own, where a hash is the same every time and no text can do harm.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from autograder.classroom.submissions import Handed
from autograder.intake.submission import read_submission
from autograder.intake.wanted import Wanted, wanted_by
from autograder.kit.release import PACKAGE, Release
from autograder.worker import confine

K, WINDOW = 25, 6  # characters of filtered code in a fingerprint; of 6 in a row one is kept
LARGEST = 200_000  # characters of a work that is compared
COMMON, FEW = 0.1, 10  # what more than a tenth of the works, and more than ten, have is common
LEAST = 40  # fingerprints that two works share
ALIKE = 0.6  # share of the smaller work's fingerprints that the other has too
MOST = 50  # pairs that are listed
AT_ONCE = 4  # works that a process takes
SECONDS = 600


@dataclass(frozen=True)
class Pair:
    """Two works, and the share of each that is in the other too."""

    one: str
    other: str
    of_one: float
    of_other: float


@dataclass(frozen=True)
class Alike:
    """What was found among so many different works; or why nothing was compared."""

    works: int = 0
    same: list[list[str]] = field(default_factory=list)  # ids of equal works
    pairs: list[Pair] = field(default_factory=list)
    unlisted: int = 0  # pairs beyond these
    missing: str = ""


def compare(release: Release, handed: Iterable[Handed], workers: int = 1) -> Alike:
    """Compare what students wrote with each other, with so many processes."""
    if find_spec("copydetect") is None:
        return Alike(missing="copydetect is not installed: pip install "
                             "-e '.[classroom]'")
    job = {"lab": release.lab, "folder": str(release.folder.resolve()), "workers": workers,
           "works": [[one.id, str(one.path.resolve())] for one in handed]}
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(PACKAGE.parent),
                   "MPLBACKEND": "agg"}
    try:
        done = subprocess.run([sys.executable, "-m", __name__], input=json.dumps(job), text=True,
                              encoding="utf-8", errors="surrogateescape", env=environment,
                              stdout=subprocess.PIPE, check=True, timeout=SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return Alike(missing=f"the comparison broke off: {error}")
    found = json.loads(done.stdout)
    return Alike(**found | {"pairs": [Pair(**pair) for pair in found["pairs"]]})


# --- in the process of its own --------------------------------------------------------------------


def find(release: Release, works: list[tuple[str, Path]], workers: int = 1) -> Alike:
    """What `compare` gives."""
    import numpy as np

    wanted = wanted_by(release.about)
    stub = _joined(release.handed_out(list(wanted.students)))
    known = np.array(sorted(_fingerprint(stub, 1).hashes))
    by_text: dict[str, list[str]] = {}
    paths: dict[str, Path] = {}
    for id_, path in works:
        text = _written(path, wanted)
        if text == stub or not 0 < len(text) <= LARGEST:
            continue
        same = by_text.setdefault(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), [])
        same.append(id_)
        if len(same) == 1:
            paths[id_] = path
    ids = list(paths)
    with ProcessPoolExecutor(min(workers, os.cpu_count() or 1),
                             initializer=confine.die_with_parent) as pool:
        hashes = partial(_hashes, wanted=wanted, known=known)
        prints = list(pool.map(hashes, paths.values(), chunksize=AT_ONCE))
    close = _close(prints)
    pairs = [_pair(ids[i], ids[j], [_fingerprint(_written(paths[ids[k]], wanted), WINDOW, known)
                                    for k in (i, j)])
             for _, i, j in close[:MOST]]
    pairs.sort(key=lambda pair: -max(pair.of_one, pair.of_other))
    return Alike(len(ids), [ids for ids in by_text.values() if len(ids) > 1], pairs,
                 max(0, len(close) - MOST))


def _hashes(path: Path, wanted: Wanted, known):
    """The work's fingerprints, in ascending order."""
    import numpy as np

    found = _fingerprint(_written(path, wanted), WINDOW, known).hashes
    return np.unique(np.fromiter(found, int))


def _written(path: Path, wanted: Wanted) -> str:
    sources = read_submission(path, wanted).sources
    return _joined({name: sources[name] for name in wanted.students if name in sources})


def _joined(sources: dict[str, str]) -> str:
    return "\n".join(text for _, text in sorted(sources.items()))


def _fingerprint(text: str, window: int, known=()):
    from copydetect import CodeFingerprint

    return CodeFingerprint("work", K, window, known, language="python", fp=io.StringIO(text))


def _pair(one: str, other: str, prints: list) -> Pair:
    from copydetect import compare_files

    _, (of_one, of_other), _ = compare_files(*prints)
    return Pair(one, other, min(1.0, float(of_one)), min(1.0, float(of_other)))


def _close(prints: list) -> list[tuple[float, int, int]]:
    """(share, i, j) of the works that have much in common that is not common; most first."""
    import numpy as np

    if len(prints) < 2:
        return []
    _, which, spread = np.unique(np.concatenate(prints), return_inverse=True, return_counts=True)
    owner = np.repeat(np.arange(len(prints)), [len(p) for p in prints])
    rare = spread[which] <= max(FEW, COMMON * len(prints))
    which, owner = which[rare], owner[rare]
    order = np.argsort(which, kind="stable")
    holders = owner[order]  # of each fingerprint in turn
    start = np.searchsorted(which[order], np.arange(len(spread)))
    size = np.bincount(owner, minlength=len(prints))
    close = []
    for i in range(len(prints)):
        mine = which[owner == i]
        slots = np.concatenate([np.arange(start[w], start[w] + spread[w]) for w in mine]
                               or [np.array([], int)])
        shared = np.bincount(holders[slots], minlength=len(prints))
        share = shared / np.maximum(1, np.minimum(size, size[i]))
        for j in np.flatnonzero((share >= ALIKE) & (shared >= LEAST)):
            if j > i:
                close.append((float(share[j]), i, int(j)))
    return sorted(close, key=lambda found: (-found[0], *found[1:]))


if __name__ == "__main__":
    confine.die_with_parent()
    job = json.load(sys.stdin)
    print(json.dumps(asdict(find(Release(job["lab"], Path(job["folder"])),
                                 [(id_, Path(path)) for id_, path in job["works"]],
                                 job["workers"]))))
