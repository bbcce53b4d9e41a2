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
    _libc.syscall.argtypes = [ctypes.c_long] + 5 * [ctypes.c_void_p]  # a word each, pointer or not


def call(number: int, a=0, b=0, c=0, d=0, e=0) -> int:
    """The system call of this number; an argument is an integer, None, bytes or byref(...)."""
    result = _libc.syscall(number, a, b, c, d, e)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(option: int, value=0, pointer=0) -> int:
    """prctl(2), which wants what it does not use to be 0."""
    return call({"x86_64": 157, "aarch64": 167}[MACHINE], option, value, pointer)
