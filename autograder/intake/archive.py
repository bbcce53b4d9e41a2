"""
What lies in a folder, a zip or a single file: names, sizes, and bytes when asked for.

Nothing is unpacked to disk, nothing outside the submission is ever opened, and every read has a
limit. What is not taken is named with its reason; what every computer leaves lying about is not.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from autograder.intake.source import Unreadable, size

TOTAL = 20 << 20  # bytes read from one submission
MOST_FILES = 2_000  # that are looked at; the ones nearest to the top
MOST_SEEN = 20_000  # entries of a folder that are counted at all
DEEPEST = 8  # parts of a path
LARGEST_CONTENTS = 4 << 20  # bytes of a zip's table of contents

_LITTER = {"__macosx", "__pycache__", "node_modules", "site-packages", "venv"}
_MAGIC = (
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ\0", "an xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (0, b"%PDF", "a PDF document"),
    (257, b"ustar", "a tar archive"),
)
_ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst")
_CODE = re.compile(r"\.(py|ipynb)(\.txt|\.json)?$", re.IGNORECASE)


class Box:
    """Files by path, with / between its parts; `files` has their sizes. Close it after use."""

    def __init__(self, file: BinaryIO | None = None):
        self._file = file
        self.files: dict[str, int] = {}
        self.refused: dict[str, str] = {}  # path -> why it was left out
        self.notes: list[str] = []
        self._left = TOTAL
        self._outer: Box | None = None
        self._beside: set[str] = set()  # files of the outer box

    def read(self, path: str, limit: int) -> bytes:
        """The bytes of one file; Unreadable when they are more than `limit` or can't be had."""
        if self._outer and path in self._beside:
            return self._outer.read(path, limit)
        if self.files[path] > limit:
            raise Unreadable(f"is larger than {size(limit)}")
        if self._left <= 0:
            raise Unreadable(f"was not read: the submission is larger than {size(TOTAL)}")
        try:
            data = self._bytes(path, limit + 1)
        except OSError as error:
            raise Unreadable(f"can't be opened ({error.strerror or error})") from None
        self._left -= len(data)
        if len(data) > limit:
            raise Unreadable(f"is larger than {size(limit)}")
        return data

    def close(self):
        if self._file:
            self._file.close()
        if self._outer:
            self._outer.close()

    def put_into(self, outer: Box, archive: str):
        """Take along what lies in the outer box beside this one, which is an archive in it."""
        self._outer = outer
        self._beside = outer.files.keys() - self.files.keys() - {archive}
        self.files |= {path: outer.files[path] for path in outer.files if path in self._beside}

    def _bytes(self, path: str, limit: int) -> bytes:
        raise NotImplementedError

    def _keep_nearest(self):
        """Leave out what lies in virtual environments, and what is too much."""
        environments = {p[: -len("pyvenv.cfg")] for p in self.files if p.endswith("/pyvenv.cfg")}
        if environments:
            inside = tuple(environments)
            self.files = {p: n for p, n in self.files.items() if not p.startswith(inside)}
        if len(self.files) > MOST_FILES:
            nearest = sorted(self.files, key=lambda path: (path.count("/"), path))[:MOST_FILES]
            self.files = {path: self.files[path] for path in nearest}
            self._too_many()

    def _too_many(self):
        self.notes.append(
            f"the submission holds more than {MOST_FILES:,} files; only {MOST_FILES:,} were "
            "looked at, those nearest to the top"
        )


class Folder(Box):
    """The files of a folder. Links are not followed; devices and pipes are not opened."""

    def __init__(self, root: Path):
        super().__init__()
        self._root = root
        self._walk()
        self._keep_nearest()

    def _walk(self):
        seen, folders = 0, [""]
        while folders:
            folder = folders.pop(0)
            try:
                with os.scandir(self._root / folder) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > MOST_SEEN:
                            self._too_many()
                            return
                        self._take(entry, folder + entry.name, folders)
            except OSError as error:
                name = folder.rstrip("/") or "the folder"
                self.refused[name] = f"can't be opened ({error.strerror or error})"

    def _take(self, entry: os.DirEntry, path: str, folders: list[str]):
        if _is_litter([entry.name]):
            return
        if entry.is_symlink():
            self.refused[path] = "is a symbolic link, and links are not followed"
        elif entry.is_dir(follow_symlinks=False):
            if path.count("/") + 1 < DEEPEST:
                folders.append(path + "/")
            else:
                self.refused[path] = f"lies more than {DEEPEST - 1} folders deep"
        elif entry.is_file(follow_symlinks=False):
            self.files[path] = entry.stat(follow_symlinks=False).st_size
        else:
            self.refused[path] = "is not an ordinary file"

    def _bytes(self, path: str, limit: int) -> bytes:
        with open_plainly(self._root / path) as file:
            return file.read(limit)


class Single(Box):
    """One file handed in by itself."""

    def __init__(self, name: str, file: BinaryIO):
        super().__init__(file)
        self.files[name] = file.seek(0, os.SEEK_END)

    def _bytes(self, path: str, limit: int) -> bytes:
        self._file.seek(0)
        return self._file.read(limit)


class Zip(Box):
    """The files of a zip, read from it one by one."""

    def __init__(self, file: BinaryIO):
        import zipfile

        super().__init__(file)
        try:
            self._zip = zipfile.ZipFile(_Sparing(file))
        except Unreadable:
            raise
        except Exception as error:  # zipfile raises whatever a made-up table of contents leads to
            raise Unreadable(
                f"is no zip that can be opened ({_reason(error)}); was the upload cut short?"
            ) from None
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._list()
        self._keep_nearest()

    def _list(self):
        outside: list[str] = []
        times: Counter[str] = Counter()
        for member in self._zip.infolist():
            name = _name(member)
            parts = [part for part in name.split("/") if part not in ("", ".")]
            if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in parts:
                outside.append(name)
            elif not parts or name.endswith("/") or _is_litter(parts):
                continue
            elif reason := _reason_to_refuse(member, parts):
                self.refused["/".join(parts)] = reason
            else:
                path = "/".join(parts)
                times[path] += 1
                self._members[path] = member
                self.files[path] = member.file_size
        if outside:
            self.notes.append(
                f"left out, as it would lie outside of the submission: {listed(outside, 3)}"
            )
        self.notes.extend(
            f"{shown(path)} is in the zip {n} times; the last one was taken"
            for path, n in times.most_common(5)
            if n > 1
        )

    def _bytes(self, path: str, limit: int) -> bytes:
        try:
            data = bytearray()
            with self._zip.open(self._members[path]) as file:
                while len(data) < limit and (part := file.read(min(limit - len(data), 1 << 16))):
                    data += part
            return bytes(data)
        except Exception as error:  # a damaged member: bad CRC, bad stream, bad header, cut off
            raise Unreadable(f"is damaged in the zip ({_reason(error)})") from None


class _Sparing(io.BufferedIOBase):
    """A zip file of which no single read may be large, since zipfile believes what a zip says."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def seekable(self) -> bool:
        return True

    def read(self, count: int | None = -1) -> bytes:
        if count is not None and count > LARGEST_CONTENTS:
            raise Unreadable(f"has a table of contents of more than {size(LARGEST_CONTENTS)}")
        return self._file.read(LARGEST_CONTENTS if count is None or count < 0 else count)


def open_box(path: Path) -> Box:
    """
    The submission at this path, whatever it is.

    Raises:
        Unreadable: it can't be looked into: "hw.rar is a RAR archive, ..."
        OSError, ValueError: nothing can be there
    """
    mode = path.stat().st_mode
    name = shown(path.name)
    if stat.S_ISDIR(mode):
        box: Box = Folder(path)
        if not box.files and "the folder" in box.refused:
            raise Unreadable(f"{name} {box.refused['the folder']}")
    elif stat.S_ISREG(mode):
        try:
            box = _open_file(path.name, open_plainly(path.resolve()))
        except OSError as error:
            raise Unreadable(f"{name} can't be opened ({error.strerror or error})") from None
    else:
        raise Unreadable(f"{name} is neither a file nor a folder")
    inner = _only_archive(box)
    if inner and isinstance(box, Folder):
        box = _unwrap(box, inner)
        inner = _only_archive(box)
    if inner and isinstance(box, Zip):
        box = _unwrap(box, inner)
    return box


def _open_file(name: str, file: BinaryIO) -> Box:
    try:
        head = file.read(512)
        for at, magic, kind in _MAGIC:
            if head.startswith(magic, at):
                raise Unreadable(f"is {kind}, which is not opened here")
        is_zip = head.startswith(b"PK") or name.lower().endswith(".zip")
        return Zip(file) if is_zip else Single(name, file)
    except Unreadable as error:
        file.close()
        raise Unreadable(f"{shown(name)} {error}") from None


def _only_archive(box: Box) -> str | None:
    """The archive in a box that holds one and no code."""
    if isinstance(box, Single) or any(_CODE.search(path) for path in box.files):
        return None
    archives = [path for path in box.files if path.lower().endswith(_ARCHIVES)]
    if not archives and len(box.files) == 1:
        archives = list(box.files)
    return archives[0] if len(archives) == 1 else None


def _unwrap(box: Box, path: str) -> Box:
    try:
        try:
            data = box.read(path, TOTAL)
        except Unreadable as error:
            raise Unreadable(f"{shown(path)} {error}") from None
        inner = _open_file(path, io.BytesIO(data))
    except Unreadable:
        box.close()
        raise
    if isinstance(inner, Single):
        return box
    inner.put_into(box, path)
    inner.notes[:0] = [*box.notes, f"the files were taken from {shown(path)}"]
    return inner


def open_plainly(path: Path) -> BinaryIO:
    """An ordinary file, opened; never a link, and never a pipe that would be waited for."""
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not an ordinary file")
    return os.fdopen(descriptor, "rb")


def _is_litter(parts: list[str]) -> bool:
    """What systems and tools leave lying about: __MACOSX, ._x, .DS_Store, .git, __pycache__."""
    return any(part.startswith(".") or part.lower() in _LITTER for part in parts)


def _name(member) -> str:
    """The member's name with / between its parts; UTF-8 that a zip calls cp437 is seen through."""
    name = member.filename
    if not member.flag_bits & 0x800:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return name.replace("\\", "/")


def _reason_to_refuse(member, parts: list[str]) -> str:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link, and links are not followed"
    if kind not in (0, stat.S_IFREG):
        return "is not an ordinary file"
    if member.flag_bits & 0x2041:
        return "is encrypted; make the zip without a password"
    if member.compress_type not in (0, 8):
        return f"is compressed by method {member.compress_type}; make an ordinary zip"
    if len(parts) > DEEPEST:
        return f"lies more than {DEEPEST - 1} folders deep"
    return ""


def _reason(error: Exception) -> str:
    return shown(str(error) or type(error).__name__, 120)


def shown(name: str, longest: int = 80) -> str:
    """A student's file name as it may stand in a message."""
    name = "".join(c if c.isprintable() else "?" for c in name)
    return name if len(name) <= longest else f"{name[: longest // 2]}...{name[-longest // 3 :]}"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in one line: a.py, b.py and 3 more."""
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + rest
