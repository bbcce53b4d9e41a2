"""Submissions that attack by what they are made of: odd zips, links, names, answers."""

from __future__ import annotations

import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

# name -> what makes, of a folder with a right submission and the secret, what is handed in
BUILDERS: dict[str, Callable[[Path, Path], Path]] = {}


def hands_in(function: Callable[[Path, Path], Path]) -> Callable:
    """Enter a builder under its name."""
    BUILDERS[function.__name__] = function
    return function


def zipped(folder: Path, **more: str | bytes) -> Path:
    """A zip of the folder's files and more."""
    path = folder.with_name("submission.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
        for name, data in more.items():
            archive.writestr(name, data)
    return path


@hands_in
def zip_leads_outside(folder: Path, secret: Path) -> Path:
    """Members whose names lead out of the folder, in every spelling."""
    up, name = "../" * 12, str(secret)
    names = (f"..{name}", f"{up}{name}", name, name.replace("/", "\\"), f"a/../../{name}",
             f"C:{name}", "..\\..\\outside\\mine", "../outside/mine", f"{up}tmp/mine")
    return zipped(folder, **dict.fromkeys(names, b"forged"))


@hands_in
def zip_of_links(folder: Path, secret: Path) -> Path:
    """A member that is a symbolic link to the secret, and one through a linked folder."""
    os.remove(folder / "split_kv.py")
    path = zipped(folder)
    with zipfile.ZipFile(path, "a") as archive:
        for name, target in (("split_kv.py", secret), ("up", secret.parent)):
            link = zipfile.ZipInfo(name)
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, str(target))
        archive.writestr("up/secret.txt", "forged")
    return path


@hands_in
def zip_bomb(folder: Path, secret: Path) -> Path:
    """A file of a thousand million zeros, packed small."""
    os.remove(folder / "split_kv.py")
    path = zipped(folder)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive, \
            archive.open("split_kv.py", "w", force_zip64=True) as member:
        for _ in range(200):
            member.write(bytes(5 << 20))
    return path


@hands_in
def zip_of_many(folder: Path, secret: Path) -> Path:
    """Ten thousand members beside the files."""
    return zipped(folder, **{f"data/{n}.py": b"x = 1" for n in range(10_000)})


@hands_in
def zip_that_lies(folder: Path, secret: Path) -> Path:
    """A zip whose table of contents lies about sizes, places and sums."""
    path = zipped(folder)
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\1\2")
    while at >= 0:
        name = bytes(data[at + 46 : at + 46 + struct.unpack_from("<H", data, at + 28)[0]])
        if name == b"split_kv.py":
            struct.pack_into("<III", data, at + 16, 0, 10, 0xFFFFFFF0)
        at = data.find(b"PK\1\2", at + 4)
    path.write_bytes(data)
    return path


@hands_in
def zip_that_is_none(folder: Path, secret: Path) -> Path:
    """Bytes that call themselves a zip."""
    path = folder.with_name("submission.zip")
    path.write_bytes(b"PK\3\4" + bytes(range(256)) * 1000)
    return path


@hands_in
def folder_of_links(folder: Path, secret: Path) -> Path:
    """Links to the secret and to what never ends, folders that lead out and round."""
    os.remove(folder / "split_kv.py")
    os.symlink(secret, folder / "split_kv.py")
    os.symlink("/", folder / "root")
    os.symlink(".", folder / "round")
    os.symlink("/dev/zero", folder / "numpy.py")
    os.mkfifo(folder / "pipe.py")
    return folder


@hands_in
def files_that_shadow(folder: Path, secret: Path) -> Path:
    """Files under the names of what Python, pytest, numpy, the kit and the lab's own would load."""
    loud = "import os\nos.write(1, b'BREACH: loaded ' + __name__.encode())\n"
    names = ("sitecustomize.py", "usercustomize.py", "conftest.py", "numpy.py", "numpy/__init__.py",
             "autograder/__init__.py", "autograder/kit/__init__.py", "autograder/kit/border.py",
             "gradescope_utils/__init__.py", "__main__.py", "__init__.py", "json.py", "socket.py",
             "encodings/__init__.py", "importlib/__init__.py", "site.py", "os.py", "setup.py",
             "test_public.py", "public.py", "_distutils_hack/__init__.py", "tomllib.py")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(loud, encoding="utf-8")
    (folder / "own.pth").write_text("import os; os.write(1, b'BREACH: .pth')\n", encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p conftest\n", encoding="utf-8")
    (folder / "numpy.so").write_bytes(b"\x7fELF")
    return folder


@hands_in
def files_that_replace(folder: Path, secret: Path) -> Path:
    """Given files as files and as packages: the kit's own count, whatever is handed in."""
    text = "import os\nos.write(1, b'BREACH: loaded ' + __name__.encode())\n"
    (folder / "llama_ops.py").write_text(text, encoding="utf-8")
    (folder / "llama_ops").mkdir()
    (folder / "llama_ops" / "__init__.py").write_text(text, encoding="utf-8")
    return folder


@hands_in
def files_with_odd_names(folder: Path, secret: Path) -> Path:
    """Names of control characters, quotes, markup and half characters, as long as they get."""
    for name in ("\x1b[2J\x07.py", "a\nb\r.py", "<script>alert(1)</script>.py", "'; DROP TABLE.py",
                 "=1+1.py", "x" * 250 + ".py", "\N{RIGHT-TO-LEFT OVERRIDE}yp.txt"):
        (folder / name.replace("/", "\N{DIVISION SLASH}")).write_text("x = 1\n", encoding="utf-8")
    with open(os.fsencode(folder) + b"/\xff\xfe.py", "w", encoding="utf-8") as file:
        file.write("x = 1\n")
    return folder


@hands_in
def nothing(folder: Path, secret: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


def answers(name: str, text: str | bytes) -> None:
    """Enter a builder that replaces the written answers."""

    def build(folder: Path, secret: Path) -> Path:
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        (folder / "answers.toml").write_bytes(data)
        return folder

    BUILDERS[name] = build


KEYS = ("q4_splits", "q5_microseconds", "q6_speedup")


def each(value: str) -> str:
    """The value as every answer."""
    return "".join(f"{key} = {value}\n" for key in KEYS)


answers("answers_huge", each("1") + "x = '" + "y" * (1 << 22) + "'\n")
answers("answers_nested", each("[" * 1_200 + "]" * 1_200))
answers("answers_of_tables", each("{" + "a = {" * 200 + "}" * 200 + "}"))
answers("answers_dotted", "a" + ".a" * 4_000 + " = 1\n")
answers("answers_many_tables", "".join(f"[[a{'.b' * (n % 50)}]]\n" for n in range(140)))
answers("answers_no_toml", "q4_splits: 8\n\x00")
answers("answers_no_text", b"\xff\xfe\x00\x80" * 1000)
answers("answers_not_finite", each("nan"))
answers("answers_infinite", each("1e400"))
answers("answers_true", each("true"))
answers("answers_text", each("'8 of them'"))
answers("answers_lists", each("[8, 8.0]"))
answers("answers_dates", each("1979-05-27T07:32:00Z"))
answers("answers_long", "q4_splits = 0x" + "f" * 5_000)
answers("answers_longer", "q4_splits = " + "9" * 5_000)
answers("answers_negative", each("-1e308"))
