"""
The border between a submission and whoever judges it: plain data and nothing else.

A value becomes a tree that JSON can hold and a list of raw array buffers. `take_apart` runs beside
the submission and refuses what is not plain; `put_together` runs in the grader, trusts no size, no
dtype and no depth, and gives ndarray, int, float, str, bool, None, list, dict and Record back.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from functools import cache
from itertools import islice
from typing import Any

from autograder.kit.calls import ArgumentsAfter, Call, Name, PeakMemory, Run

DEPTH = 32  # levels of lists and dicts
ITEMS = 100_000  # entries of all lists and dicts together
TEXT = 10_000  # characters of one string
CHARACTERS = 500_000  # of all strings and integers together
DIGITS = 1_000  # of one integer
BITS = (10**DIGITS).bit_length()
BYTES = 16 << 20  # of all arrays together
HEADER = 8 << 20  # bytes of one frame's JSON
MARKS = 5 * ITEMS  # brackets and commas in it, which is what it costs to read
REQUESTS = (Run, ArgumentsAfter, PeakMemory)
ATTRIBUTES = 64  # names of one object looked at
PLAIN = {int, float, bool, type(None)}  # what JSON has read needs no second look, but texts
DTYPES = {"<f2", "<f4", "<f8", "<f16", "|i1", "<i2", "<i4", "<i8",
          "|u1", "<u2", "<u4", "<u8", "|b1"}


class NotPlain(Exception):
    """A value that can't cross the border; the text says what it is, for the student."""


class Record(tuple):
    """An object that came across: its public numbers; a namedtuple's entries too, in order."""

    def __new__(cls, kind: str, attributes: dict[str, Any], entries: tuple = ()):
        record = super().__new__(cls, entries)
        record.__dict__.update(attributes)
        record._kind = kind
        return record

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if k != "_kind")
        return f"{self._kind}({inner})"


# --- beside the submission -----------------------------------------------------------------------


def take_apart(value: Any) -> tuple[Any, list[bytes]]:
    """(tree, buffers) of a value; NotPlain for what is no plain data or too much of it."""
    taker = _Taker()
    return taker.tree(value, 0), taker.buffers


class _Taker:
    def __init__(self):
        self.buffers: list[bytes] = []
        self.items = 0
        self.bytes = 0
        self.characters = 0

    def tree(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is float:  # most values are of these types, so first
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is bool or value is None:
            return value
        if depth > DEPTH:
            raise NotPlain(f"lists nested more than {DEPTH} deep")
        if kind is int:
            return self.whole(value)
        if kind is list:
            return self.entries(value, depth)
        if kind is Call:
            return {"call": value.name, "args": self.entries(value.args, depth + 1),
                    "kwargs": self.named(self.bounded(value.kwargs.items()), depth + 1)}
        if isinstance(value, str):
            return self.text(value)
        np = sys.modules.get("numpy")  # an array can only be there if numpy is
        if np is not None and isinstance(value, np.ndarray):
            return self.array(np.asarray(value))
        if np is not None and isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, Record):
            numbers = [(k, v) for k, v in vars(value).items() if k != "_kind"]
            return {"record": self.named(self.bounded(numbers), depth), "kind": value._kind,
                    "entries": self.entries(value, depth)}
        if isinstance(value, (list, tuple)):
            return self.sequence(value, depth)
        if isinstance(value, dict):
            return self.mapping(value, depth)
        if isinstance(value, Name):
            return {"name": value.name}
        if isinstance(value, REQUESTS):
            parts = [getattr(value, name) for name in value.__dataclass_fields__]
            return {"request": type(value).__name__, "parts": self.sequence(parts, depth + 1)}
        return self.number_or_record(value, depth)

    def text(self, value: str) -> str:
        value = str.__str__(value)
        if len(value) > TEXT:
            raise NotPlain(f"a text of {len(value)} characters")
        self.spend(len(value))
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")

    def spend(self, characters: int) -> None:
        self.characters += characters
        if self.characters > CHARACTERS:
            raise NotPlain(f"more than {CHARACTERS} characters of texts and integers")

    def bounded(self, entries) -> list:
        kept = list(islice(entries, ITEMS - self.items + 1))
        self.items += len(kept)
        if self.items > ITEMS:
            raise NotPlain(f"lists with more than {ITEMS} entries")
        return kept

    def entries(self, value: list | tuple, depth: int) -> list:
        tree, below = self.tree, depth + 1
        return [tree(entry, below) for entry in self.bounded(value)]

    def mapping(self, value: dict, depth: int) -> dict:
        pairs = self.bounded(value.items())
        if all(type(key) is str for key, _ in pairs):
            return {"dict": self.named(pairs, depth)}
        tree, below = self.tree, depth + 1
        return {"pairs": [[tree(k, below), tree(v, below)] for k, v in pairs]}

    def named(self, pairs: list[tuple[str, Any]], depth: int) -> dict:
        tree, text, below = self.tree, self.text, depth + 1
        return {text(name): tree(part, below) for name, part in pairs}

    def sequence(self, value: list | tuple, depth: int) -> Any:
        entries = self.entries(value, depth)
        names = getattr(value, "_fields", None)
        if isinstance(value, tuple) and isinstance(names, tuple) and len(names) == len(entries):
            return {"record": {str(name): e for name, e in zip(names, entries, strict=True)
                               if not str(name).startswith("_")},
                    "kind": type(value).__name__[:80], "entries": entries}
        return {"tuple": entries} if isinstance(value, tuple) else entries

    def whole(self, value: int) -> int:
        if value.bit_length() > BITS:
            raise NotPlain(f"an integer of more than {DIGITS} digits")
        self.spend(value.bit_length() // 3)
        return value

    def number_or_record(self, value: Any, depth: int) -> Any:
        if hasattr(type(value), "__index__"):
            return self.whole(int(value))
        if hasattr(type(value), "__float__"):
            return _float_tree(float(value))
        numbers = {}
        for name in islice(dir(value), 1024):
            if not isinstance(name, str) or name.startswith("_") or len(numbers) == ATTRIBUTES:
                continue
            part = getattr(value, name, None)
            kind = type(part)
            if isinstance(part, bool) or not (
                hasattr(kind, "__index__") or hasattr(kind, "__float__")
            ):
                continue
            numbers[name] = self.tree(part, depth + 1)
        if not numbers or callable(value):
            raise NotPlain(f"a {type(value).__name__}, which is no plain value")
        return {"record": numbers, "kind": type(value).__name__[:80]}

    def array(self, value) -> Any:
        dtype = _little(value.dtype)
        if dtype not in DTYPES:
            raise NotPlain(f"an array of dtype {value.dtype}")
        self.bytes += value.nbytes  # what a broadcast view claims counts too
        if self.bytes > BYTES:
            raise NotPlain(f"arrays of {self.bytes} bytes in all")
        self.buffers.append(value.astype(dtype, copy=False).tobytes())
        tree = {"array": len(self.buffers) - 1, "dtype": dtype, "shape": list(value.shape)}
        flags = value.flags
        if not flags.writeable:
            tree["readonly"] = True
        if not flags.c_contiguous and all(value.strides):
            tree["steps"] = [stride // value.itemsize for stride in value.strides]
        return tree


def _float_tree(value: float) -> Any:
    return value if math.isfinite(value) else {"float": repr(value)}


@cache
def _little(dtype) -> str:
    return dtype.newbyteorder("<").str


# --- in the grader -------------------------------------------------------------------------------


def put_together(tree: Any, buffers: list[bytes]) -> Any:
    """The value of a (tree, buffers) from an untrusted side; NotPlain when anything is off."""
    try:
        return _Builder(buffers).build(tree, 0)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            StopIteration):
        raise NotPlain("an answer that is no plain data") from None


class _Builder:
    def __init__(self, buffers: list[bytes]):
        self.buffers = buffers
        self.bytes = 0  # of all arrays; several may stand on one buffer

    def build(self, tree: Any, depth: int) -> Any:
        kind = type(tree)
        if kind in PLAIN:
            return tree
        if kind is str:
            return _text(tree)
        if depth > 3 * DEPTH:
            raise NotPlain(f"lists nested more than {DEPTH} deep")
        if kind is list:
            return self.entries(tree, depth + 1)
        return MAKERS[next(iter(tree))](self, tree, depth + 1)

    def entries(self, trees: list, depth: int) -> list:
        build = self.build
        return [tree if type(tree) in PLAIN else build(tree, depth) for tree in trees]

    def named(self, trees: dict, depth: int) -> dict[str, Any]:
        build = self.build
        return {_text(name): tree if type(tree) in PLAIN else build(tree, depth)
                for name, tree in trees.items()}

    def float(self, tree: dict, depth: int) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree["float"]]

    def dict(self, tree: dict, depth: int) -> dict:
        return self.named(tree["dict"], depth)

    def pairs(self, tree: dict, depth: int) -> dict:
        build = self.build
        return {_hashable(build(k, depth)): build(v, depth) for k, v in tree["pairs"]}

    def record(self, tree: dict, depth: int) -> Record:
        attributes = {_public(k): v for k, v in self.named(tree["record"], depth).items()}
        return Record(_short(tree["kind"]), attributes,
                      tuple(self.entries(tree.get("entries", []), depth)))

    def tuple(self, tree: dict, depth: int) -> tuple:
        return tuple(self.entries(tree["tuple"], depth))

    def call(self, tree: dict, depth: int) -> Call:
        return Call(_short(tree["call"]), tuple(self.entries(tree["args"], depth)),
                    self.named(tree["kwargs"], depth))

    def request(self, tree: dict, depth: int) -> Any:
        request = next(r for r in REQUESTS if r.__name__ == tree["request"])
        return request(*self.build(tree["parts"], depth))

    def name(self, tree: dict, depth: int) -> Name:
        return Name(_short(tree["name"]))

    def array(self, tree: dict, depth: int) -> Any:
        import numpy as np

        shape, data = tree["shape"], self.buffers[tree["array"]]
        if tree["dtype"] not in DTYPES or len(shape) > 8 or not all(
            type(n) is int and n >= 0 for n in shape
        ):
            raise NotPlain("an array of an odd dtype or shape")
        dtype = np.dtype(tree["dtype"])
        if math.prod(shape) * dtype.itemsize != len(data):
            raise NotPlain("an array whose size is not that of its shape")
        self.bytes += len(data)
        if self.bytes > BYTES:
            raise NotPlain(f"arrays of more than {BYTES} bytes in all")
        values = np.ndarray(shape, dtype, data)
        array = self.laid_out(np, values, tree["steps"]) if "steps" in tree else values.copy()
        if tree.get("readonly"):
            array.flags.writeable = False
        return array

    def laid_out(self, np, values, steps: list[int]) -> Any:
        """A copy of `values` whose neighbours along each axis lie `steps` entries apart."""
        reach = [(n - 1) * step for n, step in zip(values.shape, steps, strict=True)]
        start = -sum(r for r in reach if r < 0)
        extent = start + sum(r for r in reach if r > 0) + 1
        self.bytes += extent * values.itemsize
        if values.size == 0 or self.bytes > BYTES:
            return values.copy()
        memory = np.zeros(extent, values.dtype)
        strides = [step * values.itemsize for step in steps]
        view = np.lib.stride_tricks.as_strided(memory[start:], values.shape, strides)
        view[...] = values
        return view


MAKERS = {name: getattr(_Builder, name) for name in (  # of a tree by its first key
    "array", "float", "dict", "pairs", "record", "tuple", "call", "request", "name")}


def _text(value: str) -> str:
    if len(value) > TEXT:
        raise NotPlain(f"a text of {len(value)} characters")
    return value


def _short(name: Any) -> str:
    if not isinstance(name, str):
        raise NotPlain("a name that is no text")
    return name[:80]


def _public(name: Any) -> str:
    """An attribute that a record may have; numpy and Python ask objects for others, and obey."""
    if not isinstance(name, str) or name.startswith("_"):
        raise NotPlain("an object whose attributes have odd names")
    return name[:80]


def _hashable(key: Any) -> Any:
    if not isinstance(key, (str, int, float, bool, type(None))):
        raise NotPlain("a dict whose keys are no plain texts or numbers")
    return key


# --- frames ---------------------------------------------------------------------------------------


def frame(header: dict, buffers: list[bytes]) -> bytes:
    """A message for the socket: lengths, a JSON header, the raw buffers."""
    text = _write({**header, "sizes": [len(b) for b in buffers]}).encode()
    return b"".join([struct.pack("<II", len(text), sum(map(len, buffers))), text, *buffers])


LENGTHS = struct.calcsize("<II")


def frame_lengths(start: bytes, trusted: bool = False) -> tuple[int, int]:
    """(bytes of the header, bytes of the buffers) that a frame announces; NotPlain if too many."""
    header, payload = struct.unpack("<II", start)
    if not trusted and (header > HEADER or payload > BYTES):
        raise NotPlain(f"an answer of {header + payload} bytes")
    return header, payload


def open_frame(header: bytes, payload: bytes) -> tuple[dict, list[bytes]]:
    """(header, buffers) of a received frame; NotPlain when it is malformed."""
    if header.count(b",") + header.count(b"[") + header.count(b"{") > MARKS:
        raise NotPlain(f"an answer of more than {ITEMS} entries")
    try:
        tree = _read(header.decode())
        sizes = tree.pop("sizes")
        if any(type(n) is not int or n < 0 for n in sizes) or sum(sizes) != len(payload):
            raise NotPlain("an answer whose sizes do not fit")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        raise NotPlain("an answer that is no plain data") from None
    buffers, start = [], 0
    for size in sizes:
        buffers.append(payload[start : start + size])
        start += size
    return tree, buffers


def _whole(digits: str) -> int:
    if len(digits) > DIGITS + 1:
        raise ValueError("too many digits")
    return int(digits)


LIMITED = hasattr(sys, "set_int_max_str_digits")  # Python itself refuses too many digits
_read = json.JSONDecoder(parse_int=None if LIMITED else _whole).decode  # made once, for many frames
_write = json.JSONEncoder(allow_nan=False).encode
