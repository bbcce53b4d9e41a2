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
    """The system call of this number; an argument is an int of 32 bits, None, bytes or byref()."""
    result = _libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(option: int, value=0, pointer=0) -> int:
    """prctl(2), which wants what it does not use to be 0."""
    return call({"x86_64": 157, "aarch64": 167}[MACHINE], option, value, pointer, 0, 0)
