"""
Carries out a request on a submission that is loaded in this process.

Used beside the submission: in the grader's worker, under a student's pytest and in a notebook.
What a call raises is the caller's to catch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.kit.calls import ArgumentsAfter, Call, Name, PeakMemory, Run

LARGE = 64 << 10  # bytes from which a piece of memory that the warm-up call left counts as kept


def evaluate(request: Run | ArgumentsAfter | PeakMemory, look_up: Callable[[str], Any]) -> Any:
    """What the request asks for; `look_up` gives the submission's objects by name."""
    if isinstance(request, Run):
        return [_call(call, look_up) for call in request.calls]
    if isinstance(request, ArgumentsAfter):
        args, kwargs = _arguments(request.call, look_up)
        look_up(request.call.name)(*args, **kwargs)
        return [*args, *kwargs.values()]
    return _peak_memory(request, look_up)


def _call(call: Call, look_up: Callable[[str], Any]) -> Any:
    args, kwargs = _arguments(call, look_up)
    return look_up(call.name)(*args, **kwargs)


def _arguments(call: Call, look_up: Callable[[str], Any]) -> tuple[list, dict]:
    args = [_value(value, look_up) for value in call.args]
    return args, {name: _value(value, look_up) for name, value in call.kwargs.items()}


def _value(value: Any, look_up: Callable[[str], Any]) -> Any:
    if isinstance(value, Call):
        return _call(value, look_up)
    if isinstance(value, Name):
        return look_up(value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(_value(entry, look_up) for entry in value)
    return value


def _peak_memory(request: PeakMemory, look_up: Callable[[str], Any]) -> list:
    """[result, bytes]: the call's peak above its start, and large pieces held when it started."""
    import tracemalloc

    args, kwargs = _arguments(request.call, look_up)
    tracemalloc.start()
    try:
        _call(request.warm_up, look_up)
        function = look_up(request.call.name)
        held = sum(t.size for t in tracemalloc.take_snapshot().traces if t.size >= LARGE)
        tracemalloc.reset_peak()
        start, _ = tracemalloc.get_traced_memory()
        result = function(*args, **kwargs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return [result, held + peak - start]
