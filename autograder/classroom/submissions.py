"""
Reads what a class handed in: a Gradescope export, or a plain folder of submissions.

An export is a folder with submission_metadata.yml and one folder a submission; in a plain folder
every folder, zip, notebook or module is one student's. Nothing of a submission is opened here.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autograder.kit.errors import KitError

METADATA = ("submission_metadata.yml", "submission_metadata.yaml", "submission_metadata.json")
KINDS = (".zip", ".ipynb", ".py")  # files that are a submission by themselves
LONGEST = 200  # bytes of an id
LITTER = {"__MACOSX", "__pycache__"}
KEPT = ("submitters", "created_at")  # of a submission's metadata; old results are most of the file


@dataclass(frozen=True)
class Student:
    """One of a submission's students, as the export names them."""

    name: str = ""
    sid: str = ""
    email: str = ""


@dataclass(frozen=True)
class Handed:
    """One submission of the class."""

    id: str  # a file name
    path: Path | None  # None: the export lists it, but it is not there
    students: tuple[Student, ...]
    created_at: str = ""


def read_export(export: Path) -> list[Handed]:
    """The submissions in the order of their ids, numbers by their value."""
    folder = _root(export)
    about = _metadata(folder)
    here = {p.name: p for p in folder.iterdir() if _is_submission(p)}
    names = list(here) + [name for name in about if name not in here]
    ids = _ids(names)
    handed = [_handed(ids[name], here.get(name), about.get(name)) for name in names]
    if not handed:
        raise KitError(f"{folder}: there is no submission in it",
                       "name a Gradescope export, or a folder with one entry a student")
    return sorted(handed, key=lambda h: [(not part.isdigit(), int(part) if part.isdigit() else 0,
                                          part) for part in re.split(r"(\d+)", h.id)])


def expect_export(export: Path) -> None:
    """KitError unless it is a folder or a zip."""
    if not (export.is_dir() or zipfile.is_zipfile(export)):
        raise KitError(f"{export}: there is no such folder and no such zip",
                       "name a Gradescope export, or a folder with one entry a student")


def unpacked(export: Path, into: Path) -> Path:
    """The export, or the folder that its zip was unpacked to."""
    if not export.is_file():
        return export
    try:
        with zipfile.ZipFile(export) as archive:
            archive.extractall(into)
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise KitError(f"{export}: {error}", "unzip it, and name the folder") from None
    return into


def _root(export: Path) -> Path:
    """The folder itself, or the one in it that an unzipped export consists of."""
    inner = [p for p in export.iterdir() if _is_submission(p)]
    if len(inner) == 1 and _metadata_file(inner[0]) and not _metadata_file(export):
        return inner[0]
    return export


def _is_submission(path: Path) -> bool:
    if path.name in LITTER or path.name.startswith(".") or path.is_symlink():
        return False
    return path.is_dir() or path.suffix.lower() in KINDS


def _ids(names: list[str]) -> dict[str, str]:
    """Entry name -> its id: short where that is clear, always fit for a file's name."""
    short = {n: re.sub(r"^submission_(?=\w)|\.(zip|ipynb|py)$", "", n) for n in names}
    clear = Counter(id_.casefold() for id_ in short.values())
    return {n: _file_name(id_ if clear[id_.casefold()] == 1 else n) for n, id_ in short.items()}


def _file_name(name: str) -> str:
    odd = re.compile(r"[^\w .@+,=()-]|^\.")
    name = odd.sub(lambda match: quote(match[0], safe="", errors="surrogatepass").replace(
        ".", "%2E"), name)
    if len(name.encode("utf-8")) > LONGEST:
        name = f"{name[: LONGEST // 8]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name


def _handed(id_: str, path: Path | None, about: dict[str, Any] | None) -> Handed:
    if about is None:  # not in the metadata: the folder's name is all that is known
        return Handed(id_, path, (Student(name=id_),))
    students = tuple(Student(*(_text(one, key) for key in ("name", "sid", "email")))
                     for one in about.get("submitters") or () if isinstance(one, dict))
    return Handed(id_, path, students or (Student(),), _text(about, "created_at"))


def _text(about: dict[str, Any], key: str) -> str:
    value = about.get(key)
    return value if isinstance(value, str) else ""


# --- metadata ------------------------------------------------------------------------------------


def _metadata(folder: Path) -> dict[str, dict[str, Any]]:
    """Entry name -> its metadata; {} when there is none."""
    path = _metadata_file(folder)
    if path is None:
        return {}
    try:
        import yaml
    except ModuleNotFoundError:
        raise KitError(f"{path}: PyYAML is needed to read it",
                       "pip install -e '.[classroom]'") from None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # texts only: 0042 stays 0042
    entries: dict[str, dict[str, Any]] = {}
    try:
        try:
            for block in _blocks(path):
                entries |= _entries(yaml.load(block, loader))
        except yaml.YAMLError:  # something refers to what was left out, or it is laid out otherwise
            text = path.read_text(encoding="utf-8-sig", errors="replace")
            entries = _entries(yaml.load(text, loader))
    except (yaml.YAMLError, RecursionError) as error:
        raise KitError(f"{path}: {' '.join(str(error).split())}",
                       "download the export again, or remove the file to go by folders alone"
                       ) from None
    return entries


def _entries(tree: Any) -> dict[str, dict[str, Any]]:
    tree = _without_colons(tree)
    return {name: {key: about.get(key) for key in KEPT} for name, about in tree.items()
            if isinstance(about, dict)} if isinstance(tree, dict) else {}


def _metadata_file(folder: Path) -> Path | None:
    return next((folder / name for name in METADATA if (folder / name).is_file()), None)


def _blocks(path: Path) -> Iterator[str]:
    """
    One submission's lines after the other, without its old results and its history, which
    Gradescope writes as blocks of their own and which are nearly all of the file.
    """
    block, keep = [], True
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for line in lines:
            if re.match(r"\w.*:\s*$", line):
                yield "".join(block)
                block = []
            key = re.match(r"  :(\w+):", line)
            if key or not line.startswith(" "):
                keep = not key or key[1] in KEPT
            if keep:
                block.append(line)
    yield "".join(block)


def _without_colons(tree: Any) -> Any:
    """Ruby's symbols (`:name:`) as plain keys."""
    if isinstance(tree, dict):
        return {str(k).removeprefix(":"): _without_colons(v) for k, v in tree.items()}
    return [_without_colons(v) for v in tree] if isinstance(tree, list) else tree
