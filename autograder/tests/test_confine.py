"""
The confinement of a worker: real processes, real attempts, as root and as an ordinary user.

Each attack is also tried without confinement and must succeed there: one that fails by itself
proves nothing.
"""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from autograder.worker import confine, landlock, libc, limits, seccomp

HERE = Path(__file__).resolve()
PROJECT = HERE.parents[2]
NUMPY_HOME = str(Path(np.__file__).parents[1])
UID = limits.FIRST_UID + limits.USERS  # a user that no grader claims
OFFERED = confine.available()

pytestmark = pytest.mark.skipif(not OFFERED.seccomp, reason="this kernel offers no seccomp")


class Nursery:
    """attempts.py in a process of its own."""

    def __init__(self, prefix: list[str], base: str, uid: int | None, offered: list | None):
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-I", "-S", "-B", str(HERE.with_name("attempts.py")),
             str(PROJECT), NUMPY_HOME, base, str(uid or ""), json.dumps(offered)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
            env={"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "PATH": os.defpath},
        )

    def run(self, code: str, confined: bool = True) -> dict:
        self.process.stdin.write(json.dumps({"code": code, "confined": confined}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(60) == 0


USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
MODES = {  # command in front, the worker's user, what is switched on (None: all)
    "root": ([], UID, None),
    "root without Landlock": ([], UID, [0, True, True]),
    "user": (USER, None, None),
}
HERE_MODES = [mode for mode in MODES if mode == "user" or OFFERED.uids]


@pytest.fixture(scope="module")
def nurseries():
    started = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.chmod(folder, 0o755)

        def start(mode: str) -> Nursery:
            if mode not in started:
                prefix, uid, offered = MODES[mode]
                if uid and not OFFERED.uids:
                    pytest.skip("needs root")
                if offered is None and not OFFERED.landlock:
                    pytest.skip("this kernel offers no Landlock")
                if prefix and subprocess.run([*prefix, "true"], capture_output=True).returncode:
                    pytest.skip("root can't play an ordinary user: no user namespaces")
                base = os.path.join(folder, str(len(started)))
                os.mkdir(base, 0o755)
                started[mode] = stack.enter_context(Nursery(prefix, base, uid, offered))
            return started[mode]

        yield start


@pytest.fixture(params=HERE_MODES)
def nursery(request, nurseries):
    return nurseries(request.param)


@pytest.fixture(params=[mode for mode in HERE_MODES if MODES[mode][2] is None])
def landlocked(request, nurseries):
    return nurseries(request.param)


# --- attacks -------------------------------------------------------------------------------------

LIBC = """
import ctypes
def syscall(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if libc.syscall(ctypes.c_long(number), *words) < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""
TABLES = [*seccomp.REFUSED.values(), seccomp.UNKNOWN, seccomp.ONLY_ONESELF,
          seccomp.ONLY_ONESELF_OR_0, seccomp.SENDTO, *(row[0] for row in seccomp.ALLOWED)]
NUMBER = {
    name: number
    for names in [*seccomp.REFUSED.values(), seccomp.ONLY_ONESELF, seccomp.ONLY_ONESELF_OR_0]
    for name, number in seccomp.numbers(names, libc.MACHINE or "x86_64").items()
}

ATTACKS = {
    # files
    "read a file of the user's": "open(secret).read()",
    "read it through a descriptor that only names it":
        "fd = os.open(secret, os.O_PATH); open(f'/proc/self/fd/{fd}').read()",
    "list a folder of the user's": "os.listdir(outside)",
    "create a file elsewhere": "open(outside + '/mine', 'w')",
    "overwrite a file": "open(secret, 'r+').write('forged')",
    "truncate a file": "os.truncate(secret, 0)",
    "truncate a file by opening it to read": "os.open(secret, os.O_RDONLY | os.O_TRUNC)",
    "open a file to neither read nor write, and truncate it": "os.open(secret, 3 | os.O_TRUNC)",
    "remove a file": "os.remove(secret)",
    "move a file into reach": "os.rename(secret, 'mine')",
    "move a file out": "open('mine', 'w').close(); os.rename('mine', outside + '/mine')",
    "open a file's permissions": "os.chmod(secret, 0o666)",
    "open a folder's permissions": "os.chmod(outside, 0o777)",
    "change a file's time": "os.utime(secret)",
    "change a file's owner": "os.chown(secret, os.getuid(), os.getgid())",
    "link a file into reach": "os.link(secret, 'mine')",
    "leave a symlink for the grader to follow": "os.symlink('/etc/passwd', 'mine')",
    "leave a folder": "os.mkdir('mine')",
    "leave a pipe for the grader to hang on": "os.mkfifo('mine')",
    # other processes
    "read another process's environment": "open(f'/proc/{victim}/environ', 'rb').read()",
    "read another process's memory": "open(f'/proc/{victim}/mem', 'rb')",
    "read another process's memory map": "open(f'/proc/{victim}/maps').read()",
    "list another process's descriptors": "os.listdir(f'/proc/{victim}/fd')",
    "follow another process's folder": "os.readlink(f'/proc/{victim}/cwd')",
    "write to another process's memory": "open(f'/proc/{victim}/mem', 'r+b')",
    "make another process the first to die": "open(f'/proc/{parent}/oom_score_adj', 'r+')",
    "trace another process":
        LIBC + f"syscall({NUMBER['ptrace']}, 0x4206, victim, 0, 0)",
    "read another process's memory in one call":
        LIBC + f"syscall({NUMBER['process_vm_readv']}, victim, None, 0, None, 0, 0)",
    "kill another process": "os.kill(victim, 9)",
    "stop another process": "os.kill(victim, 19)",
    "signal every process": "os.kill(-1, 0)",
    "signal its group": "os.killpg(os.getpgid(victim), 0)",
    "signal a thread of another process":
        LIBC + f"syscall({NUMBER['tgkill']}, victim, victim, 0)",
    "signal a thread, whosever": LIBC + f"syscall({NUMBER['tkill']}, victim, 0)",
    "have the kernel signal another process":
        "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, victim)",
    "hold another process by a descriptor": "os.pidfd_open(victim)",
    "change another process's limits":
        "import resource; resource.prlimit(victim, resource.RLIMIT_CORE, (0, 0))",
    "slow another process down": "os.setpriority(os.PRIO_PROCESS, victim, 19)",
    "bind another process to a core": "os.sched_setaffinity(victim, {0})",
    "outlive its parent": LIBC + "syscall({'x86_64': 157}.get(os.uname().machine, 167), 1, 0)",
    # processes of its own
    "fork": "os.fork() or os._exit(0)",
    "start a program": "import subprocess; subprocess.run(['true'], check=True)",
    "start a program with spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "start a shell": "import errno\nif os.system('true'): raise PermissionError",
    "become a program": """
try:
    os.execv('/nowhere', ['nowhere'])
except FileNotFoundError:
    pass""",
    # the network, and what else leaves the process
    "open a TCP socket": "import socket; socket.socket()",
    "open a UDP socket": "import socket; socket.socket(type=socket.SOCK_DGRAM)",
    "open a unix socket": "import socket; socket.socket(socket.AF_UNIX)",
    "make a pair of sockets": "import socket; socket.socketpair()",
    "make a file in memory": "os.memfd_create('mine')",
    "make shared memory that stays":
        LIBC + f"syscall({NUMBER['shmget']}, 0, 4096, 0o1600)",  # private, and nobody keeps it
    "watch a file": LIBC + f"syscall({NUMBER['inotify_init1']}, 0)",
    # its own confinement, and what is known about it
    "reset its memory's peak": "open('/proc/self/clear_refs', 'w').write('5')",
    "set its user": "os.setuid(os.getuid())",
    "leave its session": "os.setsid()",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_that_works_outside_fails_inside(nursery, name):
    outside = nursery.run(ATTACKS[name], confined=False)
    assert outside["error"] is None, outside
    inside = nursery.run(ATTACKS[name])
    assert inside["error"] == "PermissionError", inside
    assert inside["victim"] and inside["outside"]
    assert set(inside["scratch"]) <= {"mine"}


def test_every_refused_call_is_refused_by_this_kernel(nursery):
    calls = [number for name, number in NUMBER.items() if name not in ("fork", "vfork")]
    code = LIBC + f"""
result = []
for number in {calls}:
    try:
        syscall(number, -1, -1, -1, -1, -1)
        result.append((number, 0))
    except OSError as error:
        if error.errno != {errno.EPERM}:
            result.append((number, error.errno))"""
    own = {NUMBER[name] for name in ("prlimit64", "sched_setaffinity")}
    assert [r for r in nursery.run(code)["result"] if r[0] not in own] == []


@pytest.mark.skipif(libc.MACHINE != "x86_64", reason="x86's old door")
def test_a_call_by_another_machine_s_numbers_ends_the_process(nursery):
    code = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # mov eax, 20; int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()"""
    answer = nursery.run(code)
    assert answer["result"] is None and answer["signal"] in (signal.SIGSYS, signal.SIGSEGV)


def test_a_worker_has_no_terminal(nursery):
    assert nursery.run("open('/dev/tty')")["error"]


def test_landlock_hides_what_everybody_may_read(landlocked):
    for path in (str(HERE), "/etc/passwd", "/proc/self/status", "/proc/1/cmdline", sys.executable):
        assert landlocked.run(f"open({path!r}, 'rb')")["error"] == "PermissionError"
    for path in (str(PROJECT), "/", "/tmp", "/proc"):
        assert landlocked.run(f"os.listdir({path!r})")["error"] == "PermissionError"


def test_landlock_closes_the_folders_that_everybody_may_write(landlocked):
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        if os.path.isdir(folder):
            answer = landlocked.run(f"open('{folder}/confine-test', 'w')")
            assert answer["error"] == "PermissionError"


def test_other_packages_can_be_listed_at_most(landlocked):
    package = str(Path(pytest.__file__).resolve())
    assert landlocked.run(f"open({package!r})")["error"] == "PermissionError"


def test_root_is_gone_for_good(nurseries):
    code = """
status = open('/proc/self/status').read().split()
result = [status[status.index(key) + 1] for key in ('CapEff:', 'CapPrm:', 'CapInh:', 'CapAmb:')]
result = [int(word, 16) for word in result] + [status[status.index('NoNewPrivs:') + 1]]
result += [os.getresuid(), os.getresgid(), os.getgroups()]"""
    answer = nurseries("root without Landlock").run(code)
    assert answer["result"] == [0, 0, 0, 0, "1", 3 * [UID], 3 * [UID], []]
    assert answer["on"] == ["own user", "rlimits", "seccomp"]


def test_the_way_back_is_shut_by_the_kernel_too_when_there_is_no_seccomp():
    if not OFFERED.uids:
        pytest.skip("needs root")
    with tempfile.TemporaryDirectory() as base, \
            Nursery([], base, UID, [0, False, True]) as nursery:
        for code in ("os.setuid(0)", "os.setgroups([0])", "os.setresgid(0, 0, 0)",
                     "open(secret).read()", "os.kill(victim, 9)", "os.chroot('.')",
                     "open(f'/proc/{victim}/environ').read()"):
            assert nursery.run(code)["error"] == "PermissionError", code
        assert nursery.run("import subprocess; subprocess.run(['true'])")["error"] is None


def test_a_worker_ends_with_its_nursery(tmp_path):
    uid = UID if OFFERED.uids else None
    code = f"""
import os, sys, time
sys.path.append({str(PROJECT)!r})
from autograder.worker import confine
confinement = confine.prepare(confine.readable_paths({NUMPY_HOME!r}))
pid = os.fork()
if pid == 0:
    confinement.enter({str(tmp_path)!r}, {uid})
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
time.sleep(600)"""
    nursery = subprocess.Popen([sys.executable, "-I", "-S", "-B", "-c", code],
                               stdout=subprocess.PIPE)
    worker = int(nursery.stdout.readline())
    nursery.kill()
    nursery.wait()
    nursery.stdout.close()
    deadline = time.monotonic() + 20
    while _running(worker):
        assert time.monotonic() < deadline, "the worker lives on"
        time.sleep(0.01)


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] not in "ZX"
    except OSError:
        return False


# --- limits --------------------------------------------------------------------------------------


def test_memory_ends_in_a_memory_error_that_can_be_survived(nursery):
    code = """
result = []
for hog in (lambda: np.ones(1 << 28), lambda: bytearray(1 << 29), lambda: [0] * (1 << 27),
            lambda: __import__("mmap").mmap(-1, 1 << 29)):
    try:
        hog()
    except (MemoryError, OSError):
        result.append("stopped")
result.append(float(np.ones(1 << 20).sum()))"""
    assert nursery.run(code)["result"] == 4 * ["stopped"] + [float(1 << 20)]


def test_half_of_the_memory_is_free_for_the_submission(nursery):
    assert nursery.run("result = float(np.ones(1 << 25)[::4096].sum())")["result"] == 1 << 13


def test_runaway_recursion_ends(nursery):
    code = "sys.setrecursionlimit(1 << 30)\na = []\nfor _ in range(1 << 20): a = [a]\nrepr(a)"
    answer = nursery.run(code)
    assert answer["error"] or answer["signal"]
    assert nursery.run("result = 1")["result"] == 1


def test_one_file_has_a_largest_size(nursery):
    size = limits.FILE_BYTES
    assert nursery.run(f"open('f', 'wb').write(bytes({size}))")["error"] is None
    answer = nursery.run(f"""
with open('f', 'wb', buffering=0) as file:
    file.write(bytes({size}))
    file.write(b'x')""")
    assert answer["error"] == "OSError" and f"Errno {errno.EFBIG}" in answer["text"]


def test_descriptors_run_out(nursery):
    answer = nursery.run("files = [open('/dev/null') for _ in range(200)]")
    assert f"Errno {errno.EMFILE}" in answer["text"]


BOMB = """
import threading
threading.stack_size(1 << 15)
end, started = threading.Event(), 1
try:
    for _ in range(5000):
        threading.Thread(target=end.wait, daemon=True).start()
        started += 1
except RuntimeError:
    pass
end.set()
result = started"""


@pytest.mark.parametrize("mode", ["root", "root without Landlock"])
def test_threads_run_out(nurseries, mode):
    assert 8 <= nurseries(mode).run(BOMB)["result"] <= limits.PROCESSES


def test_threads_of_an_ordinary_user_run_out_too(tmp_path):
    # The kernel does not count root's threads, not even those of a root who plays somebody else.
    python = sys.executable if os.geteuid() else "/usr/bin/python3"
    code = f"""
import os, sys
sys.path.append({str(PROJECT)!r})
from autograder.worker import confine
confinement = confine.prepare(confine.readable_paths('/nowhere'))
import threading
if os.fork() == 0:
    confinement.enter('.', None)
    exec({BOMB!r})
    print(result, confinement.neighbours)
else:
    os.wait()"""
    folder = tempfile.mkdtemp()
    try:
        os.chmod(folder, 0o777)
        user = {} if os.geteuid() else {"user": UID, "group": UID, "extra_groups": []}
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, encoding="utf-8",
                              cwd=folder, **user)
        if "No module named 'autograder" in done.stderr:
            pytest.skip("the project lies in a folder closed to others")
    except OSError:
        pytest.skip("no interpreter that an ordinary user can start")
    finally:
        os.rmdir(folder)
    started, others = map(int, done.stdout.split())
    assert 8 <= started <= others + limits.NEIGHBOURS


def test_limits_cannot_be_raised(nursery):
    code = """
import resource
result = []
for name in ("AS", "FSIZE", "NOFILE", "NPROC", "CPU", "CORE", "STACK"):
    kind = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (hard + 1, hard + 1))
        result.append(name)
    except (ValueError, PermissionError):
        pass
    if soft != hard or hard == resource.RLIM_INFINITY:
        result.append(name)"""
    assert nursery.run(code)["result"] == []


# --- honest code ---------------------------------------------------------------------------------

HONEST = {
    "numpy": """
a = np.random.default_rng(0).normal(size=(50, 50))
q, r = np.linalg.qr(a)
assert np.allclose(np.einsum('ij,jk->ik', q, r), a)
assert np.allclose(np.fft.ifft(np.fft.fft(a)), a) and np.linalg.svd(a)[1].min() > 0
np.random.seed(1); np.random.rand(3); np.linalg.inv(a) @ a""",
    "long double": "assert np.longdouble(1) / 3 != 0; np.exp(np.ones(3, np.longdouble)).sum()",
    "threads": """
import threading
seen = []
threads = [threading.Thread(target=lambda i=i: seen.append(np.ones(1000).sum() * i))
           for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(seen) == 8""",
    "a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    assert len(list(pool.map(lambda i: np.ones((300, 300)) @ np.ones((300, 300)), range(50)))) == 50
with ThreadPoolExecutor() as pool:
    assert sum(pool.map(float, range(100))) == 4950""",
    "measured memory": """
import tracemalloc
tracemalloc.start(); np.ones(1 << 20); assert tracemalloc.get_traced_memory()[1] > 8 << 20""",
    "time": "time.sleep(0.001); time.perf_counter(); time.localtime(); time.process_time()",
    "decimal": "import decimal; assert decimal.Decimal(1) / 3 > 0",
    "a file in the scratch folder": """
with open('notes.txt', 'w') as file: file.write('hello')
with open('notes.txt', 'a') as file: file.write('!')
assert open(scratch + '/notes.txt').read() == 'hello!' and os.listdir('.') == ['notes.txt']
os.rename('notes.txt', 'other.txt'); os.truncate
with open('other.txt', 'r+') as file: file.truncate(2)
np.save('a.npy', np.arange(3)); assert np.load('a.npy', mmap_mode='r').sum() == 3
os.remove('a.npy'); os.remove('other.txt')""",
    "a temporary file": """
import tempfile
with tempfile.TemporaryFile() as file: file.write(b'x')
with tempfile.NamedTemporaryFile() as file: file.write(b'x')""",
    "warnings": """
import warnings, contextlib, io
with contextlib.redirect_stderr(io.StringIO()) as text:
    np.log(np.zeros(1)); warnings.warn('careful')
assert 'careful' in text.getvalue()""",
    "who am I": "os.getpid(), os.getuid(), os.uname(), os.cpu_count(), os.getcwd(), os.getloadavg",
    "nowhere to write to": """
with open(os.devnull, 'w') as null: print('x', file=null)
assert len(os.urandom(8)) == 8 and open('/dev/urandom', 'rb').read(1)""",
    "its own signals": """
import signal
signal.signal(signal.SIGUSR1, lambda *_: None); os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)""",
    "its own core": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "its own limits": "import resource; resource.getrlimit(resource.RLIMIT_AS)",
    "a pipe": "r, w = os.pipe(); os.write(w, b'x'); assert os.read(r, 1) == b'x'",
    "a terminal that isn't there": "assert not sys.stdin.isatty() or True; os.isatty(0)",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_works(nursery, name):
    answer = nursery.run(HONEST[name])
    assert answer["error"] is None and not answer["signal"], answer
    assert answer["scratch"] == [] and answer["victim"] and answer["outside"]


def test_python_s_modules_can_be_imported_where_the_user_can_read_them(nursery):
    reachable = all(os.stat(folder).st_mode & 1 for folder in Path(os.__file__).resolve().parents)
    user = nursery.run("result = os.getuid()")["result"]
    if user == UID and not reachable:
        pytest.skip("the interpreter lies in a closed folder")
    code = """
before = set(sys.modules)
import asyncio, cmath, csv, fractions, heapq, html, sqlite3, statistics, zoneinfo
import numpy.polynomial, numpy.ma
result = 'fractions' in before"""
    assert nursery.run(code)["error"] is None


# --- the pieces ----------------------------------------------------------------------------------


def test_asking_what_there_is_changes_nothing():
    code = """
import sys
sys.path.append(sys.argv[1])
from autograder.worker import confine
before = open('/proc/self/status').read()
offered = confine.available()
after = open('/proc/self/status').read()
keep = lambda text: [l for l in text.splitlines() if l.startswith(('NoNew', 'Secc', 'Cap', 'Uid'))]
assert keep(before) == keep(after), after
print(*offered)"""
    done = subprocess.run([sys.executable, "-I", "-c", code, str(PROJECT)], capture_output=True,
                          encoding="utf-8")
    assert done.stdout.split() == [str(value) for value in OFFERED], done.stderr


@pytest.mark.parametrize(("offered", "missing"), [
    ((7, True, False), []),
    ((0, True, True), []),
    ((1, True, True), []),
    ((0, True, False), ["Landlock (Linux 5.13), or root"]),
    ((7, False, False), ["seccomp"]),
    ((7, False, True), ["seccomp"]),
    ((0, False, False), ["seccomp", "Landlock (Linux 5.13), or root"]),
])
def test_trust_is_asked_for_when_something_is_missing(offered, missing):
    assert confine.Available(*offered).missing() == missing


def test_a_namespace_of_one_user_is_no_root():
    if not USER or subprocess.run(["unshare", "-r", "true"], capture_output=True).returncode:
        pytest.skip("needs root and user namespaces")
    code = f"""
import os, sys
sys.path.append({str(PROJECT)!r})
from autograder.worker import confine
print(os.geteuid(), *confine.available())"""
    done = subprocess.run(["unshare", "-r", sys.executable, "-I", "-c", code],
                          capture_output=True, encoding="utf-8")
    assert done.stdout.split() == ["0", str(OFFERED.landlock), "True", "False"], done.stderr


def test_what_is_readable_is_python_and_numpy():
    paths = confine.readable_paths(NUMPY_HOME)
    assert all(os.path.exists(path) for path in paths) and len(set(paths)) == len(paths)
    assert os.path.join(NUMPY_HOME, "numpy") in paths
    covered = [Path(path).resolve() for path in paths]
    assert any(Path(os.__file__).resolve().is_relative_to(path) for path in covered)
    for hidden in (HERE, Path(NUMPY_HOME), Path(pytest.__file__), Path("/"), Path("/etc/passwd")):
        assert not any(hidden.resolve().is_relative_to(path) for path in covered), hidden


def test_packages_in_the_standard_library_s_folder_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "__file__", str(tmp_path / "os.py"))
    (tmp_path / "os.py").touch()
    assert str(tmp_path) in confine.readable_paths(NUMPY_HOME)
    (tmp_path / "site-packages").mkdir()
    paths = confine.readable_paths(NUMPY_HOME)
    assert [p for p in paths if p.startswith(str(tmp_path))] == [str(tmp_path / "os.py")]


def simulate(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter says about a call: a classic BPF machine in a few lines."""
    data = b"".join(word.to_bytes(4, "little") for word in
                    (number, audit or seccomp.AUDIT[machine], 0, 0))
    data += b"".join((a & (1 << 64) - 1).to_bytes(8, "little") for a in (*arguments, *6 * [0])[:6])
    lines = [(*line[:3], 4242 if line[3] == seccomp.OWN_PID else line[3])
             for line in seccomp.program(machine)]
    at, a = 0, 0
    while True:
        code, yes, no, k = lines[at]
        if code == seccomp.RETURN:
            return k
        if code == seccomp.LOAD:
            a = int.from_bytes(data[k : k + 4], "little")
        elif code == seccomp.AND:
            a &= k
        else:
            at += yes if (a == k if code == seccomp.IF_EQUAL else a > k) else no
        at += 1


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_filter_decides_as_its_tables_say(machine):
    one = lambda name: next(iter(seccomp.numbers(name, machine).values()))  # noqa: E731
    for names in seccomp.REFUSED.values():
        for number in seccomp.numbers(names, machine).values():
            assert simulate(machine, number) == seccomp.REFUSE
    for number in (*seccomp.numbers(seccomp.UNKNOWN, machine).values(), 451, 1000, 0x40000027):
        assert simulate(machine, number) == seccomp.NO_SUCH_CALL
    for number in seccomp.numbers(seccomp.ONLY_ONESELF, machine).values():
        assert simulate(machine, number, 4242) == seccomp.ALLOW
        for pid in (0, 1, -1, -4242, 4243):
            assert simulate(machine, number, pid) == seccomp.REFUSE
    for number in seccomp.numbers(seccomp.ONLY_ONESELF_OR_0, machine).values():
        assert [simulate(machine, number, p) for p in (0, 4242, 1)] == \
            [seccomp.ALLOW, seccomp.ALLOW, seccomp.REFUSE]
    clone = one("clone 56 220")
    assert simulate(machine, clone, 0x3D0F00) == seccomp.ALLOW  # what a thread is made with
    assert simulate(machine, clone, 0x3D0F00 | 1 << 28) == seccomp.REFUSE  # and a namespace
    assert simulate(machine, clone, signal.SIGCHLD) == seccomp.REFUSE
    send = one(seccomp.SENDTO)
    assert simulate(machine, send, 3, 0, 0, 0, 0, 0) == seccomp.ALLOW
    assert simulate(machine, send, 3, 0, 0, 0, 1 << 40, 0) == seccomp.REFUSE
    assert simulate(machine, send, 3, 0, 0, 0, 4096, 16) == seccomp.REFUSE
    assert simulate(machine, one("ioctl 16 29"), 0, 0x5412) == seccomp.REFUSE  # TIOCSTI
    assert simulate(machine, 0, audit=0x40000003) == seccomp.KILL
    assert simulate(machine, one("write 1 64")) == seccomp.ALLOW


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_filter_fits_the_kernel_and_every_number_has_one_meaning(machine):
    lines = seccomp.program(machine)
    assert len(lines) <= 4096 and all(0 <= jump <= 255 for line in lines for jump in line[1:3])
    listed = [n for names in TABLES for n in seccomp.numbers(names, machine).values()]
    assert len(listed) == len(set(listed)) and max(listed) <= seccomp.LAST


def test_numbers_are_those_of_the_system_s_headers():
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("no kernel headers here")
    words = [line.split() for line in header.read_text(encoding="utf-8").splitlines()]
    known = {w[1].removeprefix("__NR_"): int(w[2]) for w in words
             if len(w) == 3 and w[1].startswith("__NR_")}
    for names in TABLES:
        for name, number in seccomp.numbers(names, "x86_64").items():
            assert known.get(name, number) == number, name


def test_each_version_of_landlock_is_asked_for_what_it_knows():
    bits = [landlock.known(version).bit_length() for version in range(1, 10)]
    assert bits == [13, 14, 15, 15, 16, 16, 16, 16, 16]


@pytest.mark.parametrize("version", range(1, OFFERED.landlock + 1))
def test_older_versions_of_landlock_confine_too(version, tmp_path):
    with Nursery(USER, str(tmp_path), None, [version, True, False]) as nursery:
        for name in ("read a file of the user's", "create a file elsewhere", "truncate a file",
                     "truncate a file by opening it to read", "kill another process",
                     "open a file to neither read nor write, and truncate it",
                     "have the kernel signal another process", "open a file's permissions"):
            answer = nursery.run(ATTACKS[name])
            assert answer["error"] == "PermissionError" and answer["outside"] and answer["victim"]
        answer = nursery.run(HONEST["a file in the scratch folder"])
        assert answer["error"] is None and answer["on"][0] == f"landlock {version}"
