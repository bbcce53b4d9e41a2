"""System calls that Python has no function for; a refused one raises OSError as usual."""

import ctypes
import os
import struct
import sys

_MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
# Which of the two tables of system call numbers holds here; None: neither (another system, a 32-bit
# interpreter), and nothing below may be called.
MACHINE = (
    _MACHINES.get(os.uname().machine)
    if sys.platform == "linux" and struct.calcsize("P") == 8
    else None
)
_libc = ctypes.CDLL(None, use_errno=True) if MACHINE else None
if _libc:
    _libc.syscall.restype = ctypes.c_long


def call(number: int, *arguments) -> int:
    """The system call of this number. Integers, ctypes objects passed by reference, or None."""
    result = _libc.syscall(ctypes.c_long(number), *map(_word, arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(option: int, *arguments) -> int:
    """prctl(2), by number: glibc's own function takes a variable number of arguments."""
    return call({"x86_64": 157, "aarch64": 167}[MACHINE], option, *(*arguments, 0, 0, 0, 0)[:4])


def few_arenas() -> None:
    """
    One heap for all threads from here on.

    glibc reserves 64 MiB of address space for each thread's own heap: a handful of threads would
    use up a limit on address space without a byte of data.
    """
    mallopt = getattr(_libc, "mallopt", None)  # musl has neither arenas nor this
    if mallopt:
        mallopt(-8, 1)  # M_ARENA_MAX


def _word(value):
    return ctypes.c_long(value) if isinstance(value, int) else value
