"""
Descriptions of calls: plain data that says which function of a lab to call with what.

A check builds them (`lab.call.timeline(ops, "kernels")`), the build freezes them beside their
values, and whoever holds the submission carries them out. Nothing here runs anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call of the lab's function `name`; arguments may hold Calls and Names themselves."""

    name: str
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Name:
    """Something of the lab by its name; calling it describes a call of it."""

    name: str

    def __call__(self, *args, **kwargs) -> Call:
        return Call(self.name, args, kwargs)


class Names:
    """`call.anything` is Name("anything")."""

    def __getattr__(self, name: str) -> Name:
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(name)


call = Names()


@dataclass(frozen=True)
class Run:
    """Run the calls in order; the results are taken after the last one has run."""

    calls: tuple[Call, ...]


@dataclass(frozen=True)
class ArgumentsAfter:
    """Run the call; the result is the list of its arguments as the call left them."""

    call: Call


@dataclass(frozen=True)
class PeakMemory:
    """
    Run `warm_up`, then `call`; the result is [what it returned, its peak extra bytes].

    All that somebody wants to know of the bytes is whether they are more than `limit`.
    """

    call: Call
    warm_up: Call
    limit: float = 0


Request = Run | ArgumentsAfter | PeakMemory


def describe(call: Call) -> str:
    """One line for people: the call with sizes in place of large arrays."""
    shown = [_shown(value) for value in call.args]
    shown += [f"{name}={_shown(value)}" for name, value in call.kwargs.items()]
    return f"{call.name}({', '.join(shown)})"


def is_array(value: Any) -> bool:
    """Whether it is numpy's; without importing numpy, and whatever attributes it has."""
    return type(value).__module__ == "numpy"


def _shown(value: Any, room: int = 60) -> str:
    if is_array(value) and value.shape != ():
        kind = "" if str(value.dtype) == "float64" else f" {value.dtype}"
        nan = " with NaN" if value.dtype.kind == "f" and (value != value).any() else ""
        return f"{list(value.shape)}{kind}{nan}"
    if isinstance(value, Call):
        return describe(value)
    if isinstance(value, Name):
        return value.name
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_shown(part, room // 2) for part in value[:4])
        more = f", ... {len(value)} in all" if len(value) > 4 else ""
        return f"({inner}{more})" if isinstance(value, tuple) else f"[{inner}{more}]"
    text = f"{value:.10g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= room else text[: room - 3] + "..."
