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
from itertools import islice
from typing import Any

from autograder.kit.calls import ArgumentsAfter, Call, Name, PeakMemory, Run

DEPTH = 32  # levels of lists and dicts
ITEMS = 100_000  # entries of all lists and dicts together
TEXT = 10_000  # characters of one string
DIGITS = 1_000  # of one integer
BYTES = 64 << 20  # of all arrays together
HEADER = 16 << 20  # bytes of one frame's JSON
REQUESTS = (Run, ArgumentsAfter, PeakMemory)
ATTRIBUTES = 64  # names of one object looked at
DTYPES = {"<f2", "<f4", "<f8", "<f16", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"}


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

    def tree(self, value: Any, depth: int) -> Any:
        if depth > DEPTH:
            raise NotPlain(f"lists nested more than {DEPTH} deep")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        np = sys.modules.get("numpy")  # an array can only be there if numpy is
        if np is not None and isinstance(value, np.ndarray):
            return self.array(np, np.asarray(value))
        if np is not None and isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, (list, tuple)):
            return self.sequence(value, depth)
        if isinstance(value, dict):
            return {"dict": [[self.tree(k, depth + 1), self.tree(v, depth + 1)]
                             for k, v in self.bounded(value.items())]}
        if isinstance(value, Call):
            return {"call": value.name, "args": self.sequence(list(value.args), depth + 1),
                    "kwargs": self.tree(value.kwargs, depth + 1)}
        if isinstance(value, Name):
            return {"name": value.name}
        if isinstance(value, REQUESTS):
            parts = [getattr(value, name) for name in value.__dataclass_fields__]
            return {"request": type(value).__name__, "parts": self.sequence(parts, depth + 1)}
        return self.number_or_record(value, depth)

    def text(self, value: str) -> str:
        if len(value) > TEXT:
            raise NotPlain(f"a text of {len(value)} characters")
        return str.__str__(value).encode("utf-8", "replace").decode("utf-8")

    def bounded(self, entries) -> list:
        kept = list(islice(entries, ITEMS - self.items + 1))
        self.items += len(kept)
        if self.items > ITEMS:
            raise NotPlain(f"lists with more than {ITEMS} entries")
        return kept

    def sequence(self, value: list | tuple, depth: int) -> Any:
        entries = [self.tree(entry, depth + 1) for entry in self.bounded(iter(value))]
        names = getattr(value, "_fields", None)
        if isinstance(value, tuple) and isinstance(names, tuple) and len(names) == len(entries):
            return {"record": [[str(name), e] for name, e in zip(names, entries, strict=True)],
                    "kind": type(value).__name__[:80], "entries": entries}
        return {"tuple": entries} if isinstance(value, tuple) else entries

    def number_or_record(self, value: Any, depth: int) -> Any:
        if hasattr(type(value), "__index__"):
            whole = int(value)
            if abs(whole) >= 10**DIGITS:
                raise NotPlain(f"an integer of more than {DIGITS} digits")
            return whole
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
        return {"record": [[k, v] for k, v in numbers.items()], "kind": type(value).__name__[:80]}

    def array(self, np, value) -> Any:
        if value.dtype.newbyteorder("<").str not in DTYPES:
            raise NotPlain(f"an array of dtype {value.dtype}")
        self.bytes += value.size * value.dtype.itemsize  # what a broadcast view claims counts too
        if self.bytes > BYTES:
            raise NotPlain(f"arrays of {self.bytes} bytes in all")
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        self.buffers.append(np.ascontiguousarray(little).tobytes())
        tree = {"array": len(self.buffers) - 1, "dtype": little.dtype.str,
                "shape": list(value.shape)}
        if not value.flags.writeable:
            tree["readonly"] = True
        if not value.flags.c_contiguous and all(value.strides):
            tree["steps"] = [stride // value.itemsize for stride in value.strides]
        return tree


def _float_tree(value: float) -> Any:
    return value if math.isfinite(value) else {"float": repr(value)}


# --- in the grader -------------------------------------------------------------------------------


def put_together(tree: Any, buffers: list[bytes]) -> Any:
    """The value of a (tree, buffers) from an untrusted side; NotPlain when anything is off."""
    try:
        return _build(tree, buffers, 0)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            StopIteration) as error:
        raise NotPlain(f"an answer that is no plain data ({error})") from None


def _build(tree: Any, buffers: list[bytes], depth: int) -> Any:
    if depth > 3 * DEPTH:
        raise NotPlain(f"lists nested more than {DEPTH} deep")
    if isinstance(tree, list):
        return [_build(entry, buffers, depth + 1) for entry in tree]
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return _array(tree, buffers)
    if "float" in tree:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree["float"]]
    if "dict" in tree:
        return {_hashable(_build(k, buffers, depth + 1)): _build(v, buffers, depth + 1)
                for k, v in tree["dict"]}
    if "record" in tree:
        attributes = {str(k): _build(v, buffers, depth + 1) for k, v in tree["record"]}
        entries = tuple(_build(e, buffers, depth + 1) for e in tree.get("entries", []))
        return Record(str(tree["kind"])[:80], attributes, entries)
    if "tuple" in tree:
        return tuple(_build(entry, buffers, depth + 1) for entry in tree["tuple"])
    if "call" in tree:
        return Call(str(tree["call"]), tuple(_build(tree["args"], buffers, depth + 1)),
                    _build(tree["kwargs"], buffers, depth + 1))
    if "request" in tree:
        kind = next(r for r in REQUESTS if r.__name__ == tree["request"])
        return kind(*_build(tree["parts"], buffers, depth + 1))
    return Name(str(tree["name"]))


def _hashable(key: Any) -> Any:
    if not isinstance(key, (str, int, float, bool, type(None))):
        raise NotPlain("a dict whose keys are no plain texts or numbers")
    return key


def _array(tree: dict, buffers: list[bytes]) -> Any:
    import numpy as np

    shape, data = tree["shape"], buffers[tree["array"]]
    if tree["dtype"] not in DTYPES or len(shape) > 8 or any(
        type(n) is not int or n < 0 for n in shape
    ):
        raise NotPlain("an array of an odd dtype or shape")
    dtype = np.dtype(tree["dtype"])
    if math.prod(shape) * dtype.itemsize != len(data):
        raise NotPlain("an array whose size is not that of its shape")
    values = np.frombuffer(data, dtype).reshape(shape)
    array = _laid_out(np, values, tree["steps"]) if "steps" in tree else values.copy()
    if tree.get("readonly"):
        array.flags.writeable = False
    return array


def _laid_out(np, values, steps: list[int]) -> Any:
    """A copy of `values` whose neighbours along each axis lie `steps` entries apart in memory."""
    reach = [(n - 1) * step for n, step in zip(values.shape, steps, strict=True)]
    start = -sum(r for r in reach if r < 0)
    extent = start + sum(r for r in reach if r > 0) + 1
    if values.size == 0 or extent * values.itemsize > BYTES:
        return values.copy()
    memory = np.zeros(extent, values.dtype)
    strides = [step * values.itemsize for step in steps]
    view = np.lib.stride_tricks.as_strided(memory[start:], values.shape, strides)
    view[...] = values
    return view


# --- frames ----------------------------------------------------------------------------------------


def frame(header: dict, buffers: list[bytes]) -> bytes:
    """A message for the socket: lengths, a JSON header, the raw buffers."""
    text = json.dumps({**header, "sizes": [len(b) for b in buffers]}, allow_nan=False).encode()
    return b"".join([struct.pack("<II", len(text), sum(map(len, buffers))), text, *buffers])


LENGTHS = struct.calcsize("<II")


def frame_lengths(start: bytes) -> tuple[int, int]:
    """(bytes of the header, bytes of the buffers) that a frame announces; NotPlain if too many."""
    header, payload = struct.unpack("<II", start)
    if header > HEADER or payload > BYTES:
        raise NotPlain(f"an answer of {header + payload} bytes")
    return header, payload


def open_frame(header: bytes, payload: bytes) -> tuple[dict, list[bytes]]:
    """(header, buffers) of a received frame; NotPlain when it is malformed."""
    try:
        tree = json.loads(header)
        sizes = tree.pop("sizes")
        if sum(sizes) != len(payload) or any(type(n) is not int or n < 0 for n in sizes):
            raise NotPlain("an answer whose sizes do not fit")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        raise NotPlain("an answer that is no plain data") from None
    buffers, start = [], 0
    for size in sizes:
        buffers.append(payload[start : start + size])
        start += size
    return tree, buffers
