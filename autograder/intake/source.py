"""
The text of one source file, and what can be learnt from it without running it.

Student text is hostile until shown otherwise: every function here takes any text, in bounded time
and memory. Most look at the text through `bare`, which removes strings and comments; only `parse`
builds a syntax tree, after it has turned away what is known to crash or exhaust a parser.
"""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

LARGEST = 1 << 20  # bytes of one source file
REMEMBERED = 16  # texts whose imports are: the files that every submission has
LARGEST_PARSED = 128 << 10  # characters that are parsed at once: they take up to 120 MB
SHALLOW = 32 << 10  # characters that can't hold an expression deep enough to crash Python 3.10
DEEPEST = 1_000  # operators, calls and brackets of one expression in a longer text


class Unreadable(Exception):
    """Why a file can't be used: the end of a sentence that begins with the file's name."""


def decode(data: bytes, limit: int = LARGEST) -> tuple[str, str]:
    """
    The text of a file as Python reads it, with line ends as \\n, and how it was encoded.

    Returns:
        (text, encoding): encoding is "" for UTF-8 and for what a coding cookie declares; else it
            names what had to be guessed

    Raises:
        Unreadable: no encoding gives a text
    """
    if len(data) > limit:
        raise Unreadable(f"is larger than {size(limit)}")
    text, encoding = _decode(data)
    if "\0" in text:
        raise Unreadable("holds NUL bytes, which Python source may not")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def size(number: int) -> str:
    """A number of bytes for people: 20 MiB, 1.5 KiB, 12 bytes."""
    for unit, of in ((" MiB", 1 << 20), (" KiB", 1 << 10)):
        if number >= of:
            return f"{number / of:.3g}{unit}"
    return f"{number} bytes"


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8", ""),
    (b"\xff\xfe\0\0", "utf-32", "UTF-32"),
    (b"\0\0\xfe\xff", "utf-32", "UTF-32"),
    (b"\xff\xfe", "utf-16", "UTF-16"),
    (b"\xfe\xff", "utf-16", "UTF-16"),
)
_COOKIE = re.compile(rb"\A(?:[ \t\f]*(?:#[^\n\r]*)?\r?[\n\r])?[ \t\f]*#[^\n\r]*?coding[:=]")
# punycode and idna take quadratic time, others are no encodings of a text file
_COOKIES = re.compile(r"utf|ascii|iso|latin|cp\d|mac|koi8|gb|big5|shift|euc|johab|hz|tis|ptcp|kz")


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding, name in _MARKS:
        if data.startswith(mark):
            return _strictly(data.removeprefix(mark) if not name else data, encoding), name
    if order := _every_other_byte_is_nul(data):
        return _strictly(data, f"utf-16-{order}"), "UTF-16 without a byte order mark"
    if _COOKIE.match(data):
        return _strictly(data, _cookie(data)), ""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    if b"\0" in data:
        raise Unreadable("holds NUL bytes, which Python source may not")
    # Chinese text has two bytes a character, both high; a lone high byte is a Western accent.
    if all(len(run) % 2 == 0 for run in re.findall(rb"[\x80-\xff]+", data)):
        try:
            return data.decode("gb18030"), "GB18030"
        except UnicodeDecodeError:
            pass
    try:
        return data.decode("cp1252"), "Latin-1"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        raise Unreadable(f"is marked as {encoding} but is not") from None


def _every_other_byte_is_nul(data: bytes) -> str:
    """ "le", "be", or "" when the text does not look like UTF-16."""
    head = data[:2048]
    half = len(head) // 2
    first, second = head[0::2].count(0), head[1::2].count(0)
    if len(data) % 2 or not half:
        return ""
    if second > 0.8 * half and first < 0.1 * half:
        return "le"
    return "be" if first > 0.8 * half and second < 0.1 * half else ""


def _cookie(data: bytes) -> str:
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Unreadable(f"has a coding line that Python refuses ({error.msg})") from None
    if not _COOKIES.match(encoding):
        raise Unreadable(f"declares the encoding {encoding}, which is not accepted")
    return encoding


# One string or comment; an unclosed one reaches to where Python would stop looking for its end.
# Each alternative ends in something that always matches, so nothing is ever tried twice.
OPAQUE = (
    r"#[^\n]*"
    r'|"""(?:[^"\\]+|\\.|"(?!""))*(?:"""|\\?\Z)'
    r"|'''(?:[^'\\]+|\\.|'(?!''))*(?:'''|\\?\Z)"
    r'|"(?:[^"\\\n]+|\\.)*(?:"|)'
    r"|'(?:[^'\\\n]+|\\.)*(?:'|)"
)
_OPAQUE = re.compile(OPAQUE, re.DOTALL)


def bare(text: str) -> str:
    """The text without comments, every string empty and on one line, continued lines joined."""
    text = _OPAQUE.sub(lambda found: "" if found[0].startswith("#") else '""', text)
    return text.replace("\\\n", " ")


_DEF = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*[(\[]", re.MULTILINE)


def functions_defined(text: str) -> set[str]:
    """Names of the functions that the text defines at top level, even where it does not parse."""
    return set(_DEF.findall(bare(text)))


_IMPORT = re.compile(r"(?:^|[;:])[ \t]*import[ \t]+([^\n;]+)", re.MULTILINE)
_FROM = re.compile(r"(?:^|[;:])[ \t]*from[ \t]+([\w.]+)[ \t]+import\b", re.MULTILINE)
_BY_NAME = re.compile(r"(?:__import__|import_module)\(\s*[\"']([A-Za-z_]\w*)")


def imported_modules(sources: Mapping[str, str] | Iterable[str]) -> set[str]:
    """
    Top-level names of the modules that the sources import anywhere, by a name that stands there.

    The names are the student's: whoever imports them must first see that they are harmless.
    """
    texts = sources.values() if isinstance(sources, Mapping) else sources
    return set().union(*map(_imported, texts))


@lru_cache(REMEMBERED)
def _imported(text: str) -> frozenset[str]:
    code = bare(text)
    names = {name.partition(".")[0] for name in _FROM.findall(code)} | set(_BY_NAME.findall(text))
    for clause in _IMPORT.findall(code):
        parts = (part.strip() for part in clause.split(","))
        names.update(re.split(r"[.\s]", part, maxsplit=1)[0] for part in parts)
    return frozenset(name for name in names if name.isidentifier())


def parse(text: str) -> ast.Module:
    """
    The syntax tree of a text.

    Raises:
        Unreadable: it is no Python, or too long or too deeply nested to be parsed safely
    """
    if len(text) > LARGEST_PARSED:
        raise Unreadable(f"is longer than the {size(LARGEST_PARSED)} that are parsed at once")
    if _too_deep(text):
        raise Unreadable("holds a bracket that is never closed, or is nested too deeply")
    with parsing():
        return ast.parse(text)


@contextlib.contextmanager
def parsing():
    """A block that parses student text: errors become Unreadable, remarks are not printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except SyntaxError as error:
            where = f"line {error.lineno}: " if error.lineno else ""
            raise Unreadable(f"is not Python ({where}{error.msg})") from None
        except (RecursionError, MemoryError):
            raise Unreadable("is nested too deeply to be parsed") from None
        except ValueError:  # half a surrogate pair, a NUL character
            raise Unreadable("holds characters that can't stand in Python source") from None


_STEP = re.compile(r"[(\[{]|[)\]}]|[,;\n]|[^\w\s]|\b(?:not|and|or|if|else|lambda|await|in|is)\b")


def _too_deep(text: str) -> bool:
    """
    Does an expression take more than DEEPEST steps, counted from above?

    A chain such as x.a.a.a or 1 + 1 + 1 makes a tree as deep as it is long. Each bracket has its
    own count, which a comma ends; a line end outside all brackets ends everything.
    """
    if len(text) < SHALLOW:
        return False
    for found in _OPAQUE.finditer(text):
        before = text[max(0, found.start() - 2) : found.start()].lower()
        if len(found[0]) > SHALLOW and "f" in before:
            return True  # an f-string's expressions are not counted below
    counts, total = [0], 0
    for step in _STEP.findall(bare(text)):
        if step in "([{":
            counts[-1] += 1
            counts.append(0)
            total += 1
        elif step in ")]}":
            if len(counts) > 1:
                total -= counts.pop()
        elif step in ",;" or (step == "\n" and len(counts) == 1):
            total -= counts[-1]
            counts[-1] = 0
        elif step != "\n":
            counts[-1] += 1
            total += 1
        if total > DEEPEST:
            return True
    return False


@dataclass(frozen=True)
class Outline:
    """What tells a stub from a function that somebody wrote."""

    raises: bool  # raise NotImplementedError stands in it
    returns: bool  # it gives back a value, or yields one
    names: frozenset[str]  # all names that it uses

    @property
    def unfinished(self) -> bool:
        """Is it a stub by itself? A stub raises NotImplementedError and returns nothing."""
        return self.raises and not self.returns


def outline(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Outline:
    """The function's outline, without those of functions defined inside it."""
    raises = returns = False
    names: set[str] = set()
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Return) and node.value is not None:
            returns = True
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            returns = True
        elif isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            raises |= isinstance(error, ast.Name) and error.id == "NotImplementedError"
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
    return Outline(raises, returns, frozenset(names))


def stubs(found: Mapping[str, Outline]) -> set[str]:
    """
    Which of these functions are as they were handed out, or rest on one that is?

    In doubt a function is a stub: that only decides between a student's two versions of it.
    """
    users: dict[str, list[str]] = {}
    for name, function in found.items():
        for used in function.names & found.keys():
            users.setdefault(used, []).append(name)
    known = {name for name, function in found.items() if function.unfinished}
    todo = list(known)
    while todo:
        new = [name for name in users.get(todo.pop(), ()) if name not in known]
        known.update(new)
        todo.extend(new)
    return known


@lru_cache(maxsize=16)  # the same files are looked at from several sides
def outlines(text: str) -> dict[str, Outline]:
    """The outlines of the functions that the text defines; none when it does not parse."""
    try:
        body = parse(text).body
    except Unreadable:
        return {}
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: outline(node) for node in body if isinstance(node, functions)}


def unfinished(text: str) -> set[str]:
    """Names of the functions that the text defines as stubs of their own."""
    if "NotImplementedError" not in text:
        return set()
    return {name for name, found in outlines(text).items() if found.unfinished}


def is_stub_file(text: str, functions: Iterable[str] = ()) -> bool:
    """Are all of these functions (else all functions) that the text defines still stubs?"""
    if not text.strip():
        return True
    if "NotImplementedError" not in text:
        return False
    found = outlines(text)
    asked = [name for name in functions if name in found] or found
    return bool(found) and stubs(found).issuperset(asked)
