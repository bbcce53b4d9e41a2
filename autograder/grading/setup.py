"""What a worker needs to hold a submission; which modules it loads before it is confined."""

from __future__ import annotations

import re
import sys

from autograder.intake.source import imported_modules
from autograder.worker.serve import NUMPY_PARTS, NUMPY_TOOLS

MOST_PRELOADED = 200  # standard modules


def setup_for(sources: dict[str, str], given: dict[str, str], names: dict[str, str], scratch: str,
              uid: int | None, trust: bool) -> dict:
    """
    What a worker needs to hold a submission.

    Args:
        sources: the submission's files; `given` ones take the place of theirs
        names: public name of the lab -> the module that defines it
        scratch: the folder it may write to, which belongs to user `uid`
        trust: leave it unconfined
    """
    sources = sources | given
    imported = imported_modules(sources)
    own = {name.split("/")[0].removesuffix(".py") for name in sources}
    text = "\n".join(sources.values())
    preload = sorted((imported - own) & sys.stdlib_module_names)
    preload += sorted(name for name in _submodules(text) if name.split(".")[0] in preload)
    preload += ["unicodedata"] if r"\N{" in text else []
    if "numpy" in imported:
        preload += _parts_of_numpy(text)
    return {"sources": sources, "names": names, "preload": preload[:MOST_PRELOADED],
            "numpy": "numpy" in imported, "scratch": scratch, "uid": uid, "trust": trust}


IMPORT = re.compile(r"\b(?:from|import)[ \t]+([a-z_][\w.]*)(?:[ \t]+import[ \t]+\(?([\w, \t]+))?")

SEVERAL = re.compile(r"\bimport[ \t]([^\n]*)")  # a.b, c.d as e; a line is read but once
STAR = re.compile(r"\bfrom[ \t]+numpy[ \t]+import[ \t]*\*")  # takes all parts and tools along


def _parts_of_numpy(text: str) -> list[str]:
    """The parts whose word stands anywhere in the text, the tools that it takes or names."""
    if STAR.search(text):
        return [*NUMPY_PARTS, *NUMPY_TOOLS]
    words = {part: part.removeprefix("numpy.") for part in NUMPY_PARTS}
    taken = _submodules(text)
    return [part for part, word in words.items()
            if word in text and re.search(rf"\b{word}\b", text)] + [
        tool for tool in NUMPY_TOOLS if tool in taken or f"np.{tool[6:]}" in text]


def _submodules(text: str) -> set[str]:
    """a.b of `import a.b` and `from a import b`, whatever b is; run nothing by its name."""
    names = set()
    for found in IMPORT.finditer(text):
        module, parts = found[1], (found[2] or "").split(",")
        names |= {module, *(f"{module}.{part.split()[0]}" for part in parts if part.strip())}
        if len(names) > MOST_PRELOADED:
            break
    for found in SEVERAL.finditer(text):
        names |= {part.split()[0] for part in found[1].split(",") if part.strip()}
    return {name for name in names if "." in name and "__" not in name}
