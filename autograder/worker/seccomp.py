"""
Seccomp: which system calls a worker may make, as a filter that the kernel runs on each of them.

The attacker in mind runs as the same user as the grader, so that file permissions and the
kernel's own checks say yes to everything. New processes, the network, and whatever reaches another
process, outlives this one, or changes files behind Landlock's back are refused with EPERM, which
Python raises as PermissionError. The filter sees numbers, never what a pointer points to: paths
are Landlock's business.

Source: the kernel's Documentation/userspace-api/seccomp_filter.rst; numbers from its
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

import ctypes
import errno
import struct

from autograder.worker import libc

MACHINES = ("x86_64", "aarch64")  # the order of the numbers below
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Refused whatever the arguments; name, number on x86_64, number on aarch64, - where there is none.
REFUSED = {
    "new processes and programs": """
        fork 57 -  vfork 58 -  execve 59 221  execveat 322 281""",
    "the network; the worker's channel is open already": """
        socket 41 198  socketpair 53 199  connect 42 203  bind 49 200  listen 50 201
        accept 43 202  accept4 288 242  setsockopt 54 208""",
    "other processes: look into, slow down, signal (see also ONLY_ONESELF)": """
        ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271
        process_madvise 440 440  process_mrelease 448 448  kcmp 312 272
        pidfd_open 434 434  pidfd_getfd 438 438  pidfd_send_signal 424 424
        get_robust_list 274 100  move_pages 279 239  migrate_pages 256 238
        tkill 200 130  setpriority 141 140  ioprio_set 251 30  sched_setparam 142 118
        sched_setscheduler 144 119  sched_setattr 314 274  setpgid 109 154  setsid 112 157""",
    "files, where Landlock does not look (truncate: before its version 3)": """
        truncate 76 45  chmod 90 -  fchmod 91 52  fchmodat 268 53
        chown 92 -  lchown 94 -  fchown 93 55  fchownat 260 54
        utime 132 -  utimes 235 -  futimesat 261 -  utimensat 280 88
        setxattr 188 5  lsetxattr 189 6  fsetxattr 190 7
        removexattr 197 14  lremovexattr 198 15  fremovexattr 199 16
        name_to_handle_at 303 264  open_by_handle_at 304 265
        inotify_init 253 -  inotify_init1 294 26  inotify_add_watch 254 27
        fanotify_init 300 262  fanotify_mark 301 263""",
    "anything but plain files in the scratch folder, Landlock or not": """
        mkdir 83 -  mkdirat 258 34  rmdir 84 -  mknod 133 -  mknodat 259 33
        symlink 88 -  symlinkat 266 36  link 86 -  linkat 265 37""",
    "another user, more rights, less confinement": """
        setuid 105 146  setgid 106 144  setreuid 113 145  setregid 114 143
        setresuid 117 147  setresgid 119 149  setfsuid 122 151  setfsgid 123 152
        setgroups 116 159  capset 126 91  personality 135 92  seccomp 317 277
        landlock_create_ruleset 444 444  landlock_add_rule 445 445
        landlock_restrict_self 446 446""",
    "namespaces and mounts": """
        unshare 272 97  setns 308 268  chroot 161 51  pivot_root 155 41
        mount 165 40  umount2 166 39  mount_setattr 442 442  open_tree 428 428
        move_mount 429 429  fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433""",
    "memory and messages outside the limits, or that outlive the process": """
        memfd_create 319 279  memfd_secret 447 447
        shmget 29 194  shmat 30 196  shmctl 31 195  shmdt 67 197
        semget 64 190  semop 65 193  semctl 66 191  semtimedop 220 192
        msgget 68 186  msgsnd 69 189  msgrcv 70 188  msgctl 71 187
        mq_open 240 180  mq_unlink 241 181  mq_timedsend 242 182
        mq_timedreceive 243 183  mq_notify 244 184  mq_getsetattr 245 185
        keyctl 250 219  add_key 248 217  request_key 249 218""",
    "corners of the kernel that no lab needs": """
        bpf 321 280  perf_event_open 298 241  userfaultfd 323 282
        io_uring_setup 425 425  io_uring_enter 426 426  io_uring_register 427 427
        io_setup 206 0  io_submit 209 2  io_cancel 210 3  io_destroy 207 1
        io_getevents 208 4  io_pgetevents 333 292  splice 275 76  tee 276 77
        vmsplice 278 75  modify_ldt 154 -  iopl 172 -  ioperm 173 -""",
    "the machine": """
        reboot 169 142  kexec_load 246 104  kexec_file_load 320 294
        init_module 175 105  finit_module 313 273  delete_module 176 106
        swapon 167 224  swapoff 168 225  acct 163 89  quotactl 179 60  quotactl_fd 443 443
        syslog 103 116  vhangup 153 58  sethostname 170 161  setdomainname 171 162
        settimeofday 164 170  clock_settime 227 112  adjtimex 159 171
        clock_adjtime 305 266  sync 162 81  syncfs 306 267""",
}

# "No such call" instead: these take their arguments by pointer, and the C library then uses clone
# and openat. So does whatever is newer than LAST, the calls of another machine (x32) among it.
UNKNOWN = "clone3 435 435  openat2 437 437"
LAST = 450

# Allowed when the first argument, a process id, is the caller's own (or 0, which means the same).
ONLY_ONESELF = """kill 62 129  tgkill 234 131  rt_sigqueueinfo 129 138
                  rt_tgsigqueueinfo 297 240"""
ONLY_ONESELF_OR_0 = "prlimit64 302 261  sched_setaffinity 203 122"

THREAD, NAMESPACES = 0x10000, 0x7E020000  # clone's flags
ACCESS_MODE, O_TRUNC = 0b11, 0o1000  # open's flags
TRUNCATING = ACCESS_MODE | O_TRUNC

# Allowed when one argument has one of these values: (call, which argument, mask or None, values).
ALLOWED = [
    ("clone 56 220", 0, THREAD | NAMESPACES, [THREAD]),
    # Truncating needs write access, and mode 3 (neither read nor write) does not exist: both get
    # past Landlock before its version 3.
    ("open 2 -", 1, TRUNCATING, [0, 1, 2, 1 | O_TRUNC, 2 | O_TRUNC]),
    ("openat 257 56", 2, TRUNCATING, [0, 1, 2, 1 | O_TRUNC, 2 | O_TRUNC]),
    # Duplicate, flags, locks, a pipe's size; not F_SETOWN and F_SETSIG (the kernel would signal a
    # process for us), F_SETLEASE, F_NOTIFY.
    ("fcntl 72 25", 1, None, [0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032]),
    # Is it a terminal and how wide, how much can be read, blocking, close on exec; not TIOCSTI.
    ("ioctl 16 29", 1, None, [0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451]),
    # Names of threads and of memory, timer slack, huge pages, and questions; not PR_SET_PDEATHSIG.
    ("prctl 157 167", 0, None,
     [3, 15, 16, 21, 23, 27, 29, 30, 39, 41, 42, 0x53564D41]),
]

SENDTO = "sendto 44 206"  # allowed to whom the socket is connected to, not to an address

# One instruction is (code, jump if true, jump if false, constant); jumps count from the next one.
LOAD, AND, IF_EQUAL, IF_ABOVE, RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in what the kernel shows to the filter
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
REFUSE = ERRNO | errno.EPERM
NO_SUCH_CALL = ERRNO | errno.ENOSYS
OWN_PID = -1  # stands for the caller's process id, which is known only in the child
GROUP = 16  # calls


def numbers(names: str, machine: str) -> dict[str, int]:
    """The calls in one of the tables above: name -> number on this machine."""
    words = names.split()
    column = 1 + MACHINES.index(machine)
    return {
        row[0]: int(row[column])
        for row in zip(words[::3], words[1::3], words[2::3], strict=True)
        if row[column] != "-"
    }


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter for this machine; OWN_PID still stands where the caller's id belongs."""
    bodies = sorted(_bodies(machine).items())
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, AUDIT[machine]),
        (RETURN, 0, 0, KILL),  # a 32-bit call, whose numbers mean other things
        (LOAD, 0, 0, NUMBER),
        (IF_ABOVE, 0, 1, LAST),
        (RETURN, 0, 0, NO_SUCH_CALL),
    ]
    for i in range(0, len(bodies), GROUP):  # groups, so that no call is compared with every number
        group = []
        for number, body in bodies[i : i + GROUP]:
            group += [(IF_EQUAL, 0, len(body), number), *body]
        group.append((RETURN, 0, 0, ALLOW))
        lines += [(IF_ABOVE, len(group), 0, bodies[i : i + GROUP][-1][0]), *group]
    return [*lines, (RETURN, 0, 0, ALLOW)]


def _bodies(machine: str) -> dict[int, list[tuple]]:
    """A call's number -> what decides about it; every other call is allowed."""
    rules = [
        *((names, [(RETURN, 0, 0, REFUSE)]) for names in REFUSED.values()),
        (UNKNOWN, [(RETURN, 0, 0, NO_SUCH_CALL)]),
        (ONLY_ONESELF, _allow_only(0, None, [OWN_PID])),
        (ONLY_ONESELF_OR_0, _allow_only(0, None, [0, OWN_PID])),
        *((name, _allow_only(argument, mask, values)) for name, argument, mask, values in ALLOWED),
        (SENDTO, [(LOAD, 0, 0, _low(4)), (IF_EQUAL, 0, 2, 0), (LOAD, 0, 0, _low(4) + 4),
                  (IF_EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]),
    ]
    return {
        number: body for names, body in rules for number in numbers(names, machine).values()
    }


def _allow_only(argument: int, mask: int | None, values: list[int]) -> list[tuple]:
    """Allow when the low half of an argument, which is all that the call reads, is one of these."""
    masked = [] if mask is None else [(AND, 0, 0, mask)]
    tests = [(IF_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [(LOAD, 0, 0, _low(argument)), *masked, *tests,
            (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]


def _low(argument: int) -> int:
    return ARGUMENTS + 8 * argument  # both machines are little-endian


# --- the kernel's end ----------------------------------------------------------------------------

PR_SET_SECCOMP, FILTER = 22, 2
SET_FILTER, SPEC_ALLOW = 1, 4
SECCOMP = {"x86_64": 317, "aarch64": 277}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def offered() -> bool:
    """Whether the kernel takes filters: it then reads ours, from an address where nothing is."""
    if not libc.MACHINE:
        return False
    try:
        libc.prctl(PR_SET_SECCOMP, FILTER, None)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


class Filter:
    """The filter as the kernel reads it, but for the process id."""

    def __init__(self, machine: str):
        lines = program(machine)
        self.code = bytearray().join(
            struct.pack("=HBBI", *jumps, 0 if value == OWN_PID else value)
            for *jumps, value in lines
        )
        self.own_pid = [8 * i + 4 for i, line in enumerate(lines) if line[3] == OWN_PID]

    def install(self, pid: int) -> None:
        """Put the filter on the process of this id, the caller; there is no way to take it off."""
        for offset in self.own_pid:
            struct.pack_into("=I", self.code, offset, pid)
        filter_ = ctypes.byref(_Program(len(self.code) // 8, bytes(self.code)))
        try:
            # Without the flag, kernels before 5.16 slow the whole process down, in case it shares
            # its memory with a rival; a worker shares nothing.
            libc.call(SECCOMP[libc.MACHINE], SET_FILTER, SPEC_ALLOW, filter_)
        except OSError:
            libc.prctl(PR_SET_SECCOMP, FILTER, filter_)
