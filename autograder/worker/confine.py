"""
Confinement of a worker: everything that the kernel and our rights allow, in the right order.

`prepare` once in the nursery; `enter` in each freshly forked child, before the submission's first
line. What each protection is there for:

    uid       (as root) files and processes of everybody else are somebody else's
    Landlock  reads Python, numpy and nothing else; writes plain files in the scratch folder
    seccomp   no programs, processes or network; nothing that reaches around Landlock
    rlimits   memory, files, threads, processor time

An ordinary user needs Landlock and seccomp: without one of them a submission has all the user's
rights. Root needs seccomp (the network, processes that stay) and relies on closed permissions for
files, so that Landlock is a second wall there; without it the world-writable folders (/tmp,
/var/tmp, /dev/shm) and whatever the world may read stay open to a submission.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys
from typing import NamedTuple

from autograder.worker import landlock, libc, limits, seccomp

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
CAPSET = {"x86_64": 126, "aarch64": 91}


class Available(NamedTuple):
    """What there is to confine a worker with, on this kernel and with our rights."""

    landlock: int  # version; 0: none
    seccomp: bool
    uids: bool  # a worker can be given a user of its own

    def missing(self) -> list[str]:
        """What a hostile submission would need and isn't there; empty: no --trust needed."""
        return [
            *(["seccomp"] if not self.seccomp else []),
            *(["Landlock (Linux 5.13), or root"] if not (self.landlock or self.uids) else []),
        ]


def available() -> Available:
    """Ask the kernel; changes nothing."""
    return Available(landlock.version(), seccomp.offered(), _other_users())


def _other_users() -> bool:
    """Root, and (in a container of an ordinary user's) root over more than itself."""
    if os.geteuid() != 0:
        return False
    try:
        with open("/proc/self/uid_map", encoding="ascii") as ids:
            ranges = [[int(word) for word in line.split()] for line in ids]
        with open("/proc/self/setgroups", encoding="ascii") as word:
            groups = word.read().strip() == "allow"
    except OSError:
        return True  # no /proc, or no such files in it: no user namespaces to be in
    return groups and any(first <= limits.FIRST_UID < first + n for first, _, n in ranges)


# --- what an honest submission reads -------------------------------------------------------------

OTHERS = {"site-packages", "dist-packages"}  # in the standard library's folder, but not of it
FILES = ["/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo",
         "/dev/null", "/dev/zero", "/dev/urandom"]
# Where libraries lie among other things, those that Python's own modules load are picked by name.
LIBRARIES = ("libpython3.", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libutil.",
             "libgcc_s.", "libstdc++.", "libgfortran.", "libquadmath.", "libz.", "libbz2.",
             "liblzma.", "libzstd.", "libffi.", "libcrypto.", "libssl.", "libsqlite3.",
             "libexpat.", "libmpdec.", "libuuid.", "libcrypt.")


def readable_paths(numpy_home: str) -> list[str]:
    """
    What a submission may read: Python's standard library, numpy, the system's libraries.

    Args:
        numpy_home: the folder that numpy is imported from; only numpy in it is readable
    """
    stdlib = os.path.dirname(os.__file__)
    names = _names(stdlib)
    paths = [os.path.join(stdlib, name) for name in names if name not in OTHERS]
    if len(paths) == len(names):
        paths = [stdlib]  # one rule instead of 200, which is where the time goes
    paths += [p for p in sys.path if os.path.basename(p) == "lib-dynload" or p.endswith(".zip")]
    paths += [os.path.join(numpy_home, name) for name in ("numpy", "numpy.libs")]
    paths += [f"/lib/{libc.MACHINE}-linux-gnu", f"/usr/lib/{libc.MACHINE}-linux-gnu"]
    for folder in (os.path.join(sys.base_prefix, "lib"), "/lib64", "/usr/lib64", "/usr/lib"):
        paths += [os.path.join(folder, n) for n in _names(folder) if n.startswith(LIBRARIES)]
    return [path for path in dict.fromkeys(paths + FILES) if os.path.exists(path)]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


# --- the confinement -----------------------------------------------------------------------------


class Confinement:
    """All that can be worked out before a worker is forked; `enter` does the rest in it."""

    def __init__(self, readable: list[str], offered: Available):
        self.offered = offered
        self.rules = _rules(readable)
        self.filter = seccomp.Filter(libc.MACHINE) if offered.seccomp else None
        self.neighbours = _tasks_of(os.getuid())

    def enter(self, scratch: str, uid: int | None) -> list[str]:
        """
        Confine this process for good; OSError when something that was offered fails.

        Args:
            scratch: the folder in which it may write and in which it now stands; uid owns it
            uid: the user (and group) that it becomes, as root; None: it stays who it is

        Returns:
            The protections that are on, to be shown.
        """
        os.umask(0o077)
        folder = os.open(scratch, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fchdir(folder)
        _die_first_of_hunger()
        if os.getsid(0) not in (os.getpid(), os.getppid()):
            os.setsid()  # no terminal to write to
        on = []
        if uid is not None:
            _become(uid)
            on.append("own user")
        if libc.MACHINE:
            _give_up_rights()
        if self.offered.landlock:
            landlock.restrict(self.offered.landlock, self.rules, folder)
            on.append(f"landlock {self.offered.landlock}")
        os.close(folder)
        on += self.limit(uid)
        if self.filter:
            self.filter.install(os.getpid())
            on.append("seccomp")
        return on

    def limit(self, uid: int | None = None) -> list[str]:
        """The resource limits alone, and an end when the parent ends: all that trust leaves on."""
        die_with_parent()
        # The kernel counts all tasks of a user together: only a worker's own user has none yet.
        tasks = self.neighbours + limits.NEIGHBOURS if uid is None else limits.PROCESSES
        for name, value in _rlimits(tasks):
            kind = getattr(resource, name, None)  # MSGQUEUE and some more are Linux's own
            if kind is not None:
                _, hard = resource.getrlimit(kind)
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))
        return ["rlimits"]


def prepare(readable: list[str], offered: Available | None = None) -> Confinement:
    """
    A confinement for workers that this process will fork.

    Args:
        readable: files and folders, as `readable_paths` lists them
        offered: what to switch on; by default everything that there is
    """
    return Confinement(readable, offered or available())


def confine(scratch: str, readable: list[str], uid: int | None) -> list[str]:
    """`prepare` and `enter` at once, in the process to be confined."""
    return prepare(readable).enter(scratch, uid)


def _rules(readable: list[str]) -> dict[str, list[tuple[str, int]]]:
    """
    Landlock's rules: folder -> (name in it, rights). Importing lists the folders of sys.path, so
    those that hold something readable may be listed, which does not open the files in them.
    """
    rules: dict[str, list[tuple[str, int]]] = {}
    for path in readable:
        rights = landlock.READ if os.path.isdir(path) else landlock.READ_FILE
        rules.setdefault(os.path.dirname(path), []).append((os.path.basename(path), rights))
    holders = {os.path.realpath(folder) for folder in rules}
    for folder in sys.path:
        if os.path.isdir(folder) and os.path.realpath(folder) in holders:
            rules.setdefault(folder, []).append((".", landlock.READ_DIR))
    write = landlock.WRITE_FILE | landlock.TRUNCATE
    rules.setdefault("/dev", []).append(("null", write))
    return rules


def _rlimits(tasks: int) -> list[tuple[str, int]]:
    """(name of the limit, its value)."""
    return [
        ("RLIMIT_AS", limits.MEMORY_BYTES),
        ("RLIMIT_STACK", limits.STACK_BYTES),
        ("RLIMIT_FSIZE", limits.FILE_BYTES),
        ("RLIMIT_NOFILE", limits.OPEN_FILES),
        ("RLIMIT_NPROC", tasks),
        ("RLIMIT_CPU", limits.CPU_SECONDS),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_NICE", 0),
        ("RLIMIT_RTPRIO", 0),
    ]


def _tasks_of(uid: int) -> int:
    """The user's threads, of all programs together."""
    count = 0
    for pid in filter(str.isdigit, _names("/proc")):
        try:
            if os.stat(f"/proc/{pid}").st_uid == uid:
                count += os.stat(f"/proc/{pid}/task").st_nlink - 2
        except OSError:
            pass  # it ended
    return count


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (uid, uid, uid) or os.getgroups():
        raise PermissionError(f"could not become user {uid}")


def _give_up_rights() -> None:
    """
    No capabilities (the ambient ones go with the others), and no program that adds any. The files
    of /proc that set or reset what is known about this process become root's; no core is dumped.
    """
    header = struct.pack("=II", 0x20080522, 0)  # capset's version 3, this thread
    libc.call(CAPSET[libc.MACHINE], header, bytes(24))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1)
    libc.prctl(PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Where the kernel can see to that; not before a change of user, which resets it."""
    if not libc.MACHINE:
        return
    parent = os.getppid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it had ended already


def _die_first_of_hunger() -> None:
    """When the machine runs out of memory, the kernel ends the worker and not the grader."""
    try:
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return  # no /proc, or a container that keeps it shut
    os.write(score, b"1000")
    os.close(score)
