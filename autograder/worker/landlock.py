"""
Landlock: which files this process may touch, by the kernel's rules for unprivileged sandboxes.

Everything that the kernel's version knows is refused, then some paths are allowed again. What it
does not look at whatever its version (chmod, utime, stat, ...) is `seccomp.py`'s business; stat is
left: names, sizes and times of files can be seen, their contents can't.

Source: the kernel's Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
"""

import os
import struct

from autograder.worker import libc

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
VERSION = 1  # flag: say which version of the interface this kernel has
PATH_BENEATH = 1  # kind of rule: a file, or a folder and everything below it
LOG_OFF = 1  # flag: a submission can't fill the audit log with refusals

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
REMOVE_FILE, MAKE_REG = 1 << 5, 1 << 8
TRUNCATE = 1 << 14

# version: the rights on files that it knows. 1 also has execute, remove folders, and make devices,
# folders, sockets, fifos and symlinks; 2 moving between folders; 5 ioctl on devices.
KNOWN = {1: 1 << 13, 2: 1 << 14, 3: 1 << 15, 4: 1 << 15, 5: 1 << 16}
TCP = 0b11  # from version 4: bind, connect
SCOPES = 0b11  # from version 6: no abstract sockets and no signals to the outside

READ = READ_FILE | READ_DIR
SCRATCH = READ | WRITE_FILE | TRUNCATE | MAKE_REG | REMOVE_FILE  # plain files, nothing else


def version() -> int:
    """The version of Landlock that the kernel offers; 0 when it has none or it is switched off."""
    if not libc.MACHINE:
        return 0
    try:
        return libc.call(CREATE_RULESET, None, 0, VERSION)
    except OSError:
        return 0


def known(version: int) -> int:
    """All rights on files that this version can refuse."""
    return KNOWN[min(version, max(KNOWN))] - 1


def restrict(version: int, rules: dict[str, list[tuple[str, int]]], scratch: int) -> None:
    """
    Refuse this process, for good, everything that the rules do not allow.

    Args:
        version: of the interface, as the kernel said
        rules: folder -> (name in it, rights on that file, or on that folder and all below)
        scratch: descriptor of the folder in which plain files may be written
    """
    handled = known(version)
    attributes = struct.pack("=QQQ", handled, TCP, SCOPES)
    size = 8 if version < 4 else 16 if version < 6 else 24  # what the version knows of these
    ruleset = libc.call(CREATE_RULESET, attributes, size, 0)

    def allow(rights: int, target: int) -> None:
        rule = struct.pack("=Qi", rights & handled, target)
        libc.call(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)

    allow(SCRATCH, scratch)
    for folder, names in rules.items():  # a folder's names through the folder: half the time
        base = _open(folder)
        for name, rights in names if base else ():
            target = _open(name, base)
            if target:
                allow(rights, target)
                os.close(target)
        if base:
            os.close(base)
    libc.call(RESTRICT_SELF, ruleset, LOG_OFF if version >= 7 else 0)
    os.close(ruleset)


def _open(path: str, base: int | None = None) -> int:
    """A descriptor that names the file and can't read it; 0 when it is gone or out of reach."""
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC, dir_fd=base)
    except OSError:
        return 0
