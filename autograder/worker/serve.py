"""
A worker: confines itself, loads one submission's sources and answers requests about them.

From the first line of the submission on nothing in this process is trusted: the grader checks
every byte that comes from it, and measures and ends it from outside.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import importlib.machinery
import importlib.util
import marshal
import os
import socket
import sys
import traceback

from autograder.kit import border
from autograder.kit.evaluate import evaluate

CHANNEL = 3
UNHELPFUL = {"antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle",
             "turtledemo"}  # standard modules that do something when they are imported
NUMPY_PARTS = ("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random")
NUMPY_TOOLS = ("numpy.ctypeslib", "numpy.f2py", "numpy.testing", "numpy.typing")  # load slowly
FRAMES = 3  # of a student's traceback
POPULATE_READ = 22  # for madvise
MMAP_THRESHOLD, LARGE = -3, 64 << 10  # for mallopt: bytes from which an array has its own pages


def serve(channel_fd: int, out_fd: int, err_fd: int, confinement) -> None:
    """Answer requests until the channel closes; runs in a freshly forked process."""
    channel = _take_descriptors(channel_fd, out_fd, err_fd)
    setup, texts = _receive(channel)
    sources = _Sources(setup["sources"], setup["compiled"], texts)
    for name in setup["preload"]:
        _preload(name)
    if setup["measured"]:
        _give_memory_back()
        _touch_code()
    if setup["trust"]:
        os.chdir(setup["scratch"])
        protections = confinement.limit()
    else:
        protections = confinement.enter(setup["scratch"], setup["uid"])
    sys.meta_path.insert(0, sources)
    for name in [n for n in sys.modules if n.split(".")[0] == "autograder"]:
        del sys.modules[name]
    channel.sendall(border.frame({"ready": protections}, []))
    names = setup["names"]
    while True:
        header, buffers = _receive(channel)
        reply = sources.compile_all() if "compile" in header else _answer(header, buffers, names)
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
        channel.sendall(reply)


def _flush(stream) -> None:
    try:
        stream.flush()
    except BaseException:
        pass  # closed, or replaced by something else


def _take_descriptors(channel_fd: int, out_fd: int, err_fd: int) -> socket.socket:
    null = os.open(os.devnull, os.O_RDONLY)
    high = [os.dup2(fd, 100 + i) for i, fd in enumerate((null, out_fd, err_fd, channel_fd))]
    for low, fd in enumerate(high):
        os.dup2(fd, low, inheritable=False)
    os.closerange(CHANNEL + 1, 4096)
    return socket.socket(fileno=CHANNEL)


def _preload(name: str) -> None:
    top = name.partition(".")[0]
    standard = top in sys.stdlib_module_names and top not in UNHELPFUL
    if standard or name in NUMPY_PARTS + NUMPY_TOOLS:
        try:
            importlib.import_module(name)
        except BaseException:
            pass  # the submission's own import will say what is wrong


def _give_memory_back() -> None:
    """Now, and whenever a large array is freed: peaks can be seen from outside, at some cost."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # the GNU C library
        library.mallopt(MMAP_THRESHOLD, LARGE)
        library.malloc_trim(0)


def _touch_code() -> None:
    """Bring the libraries' pages into this process, so that their first use is no growth."""
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            lines = [line.split(maxsplit=5) for line in file]
    except OSError:
        return  # no such thing here: nobody looks at this process from outside either
    madvise = ctypes.CDLL(None).madvise
    for where, rights, offset, _, _, *path in lines:
        if rights.startswith("r") and path and os.path.isfile(path[0].strip()):
            start, end = (int(address, 16) for address in where.split("-"))
            if madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), POPULATE_READ) == 0:
                continue  # Linux 5.14; elsewhere page by page
            size = os.path.getsize(path[0].strip()) - int(offset, 16)  # nothing lies behind it
            for address in range(start, min(end, start + size), page):
                ctypes.string_at(address, 1)


class _Sources:
    """
    Imports the submission's files from memory, before the standard library's of that name: the
    finder and the loader of them in one.

    Args:
        names: the files; compiled: those of them whose code comes along; data: all their bytes
    """

    def __init__(self, names: list[str], compiled: list[str], data: list[bytes]):
        self.sources = {name: text.decode() for name, text in zip(names, data, strict=False)}
        self.code = {name: marshal.loads(code)
                     for name, code in zip(compiled, data[len(names):], strict=True)}

    def compile_all(self) -> bytes:
        """The frame of what can be compiled; before the first line of the submission has run."""
        for file in self.sources:
            try:
                self._code(file)
            except Exception:
                pass  # whoever imports it will be told
        return border.frame({"id": 0, "compiled": list(self.code)},
                            [marshal.dumps(code) for code in self.code.values()])

    def _code(self, file: str):
        if file not in self.code:
            self.code[file] = compile(self.sources[file], file, "exec", dont_inherit=True)
        return self.code[file]

    def find_spec(self, fullname, path=None, target=None):
        base = fullname.replace(".", "/")
        file = self._file(fullname)
        if file:
            return importlib.util.spec_from_file_location(
                fullname, file, loader=self,
                submodule_search_locations=[base] if file.endswith("__init__.py") else None)
        if any(file.startswith(f"{base}/") for file in self.sources):  # a folder, no __init__.py
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [base]
            return spec
        return None

    def _file(self, fullname: str) -> str | None:
        base = fullname.replace(".", "/")
        return next((f for f in (f"{base}.py", f"{base}/__init__.py") if f in self.sources), None)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self._code(self._file(module.__name__)), module.__dict__)

    def get_source(self, fullname):
        """For tracebacks, which look at it when they are shown."""
        return self.sources[self._file(fullname)]


def _answer(header: dict, buffers: list[bytes], names: dict[str, str]) -> bytes:
    number = header["id"]
    try:
        request = border.put_together(header["request"], buffers)
        value = evaluate(request, lambda name: _look_up(name, names))
        tree, parts = border.take_apart(value)
        return border.frame({"id": number, "value": tree}, parts)
    except border.NotPlain as reason:
        return border.frame({"id": number, "not_plain": str(reason)}, [])
    except BaseException as error:
        return border.frame({"id": number, "error": type(error).__name__[:80],
                             "text": _text(error), "frames": _frames(error)}, [])


def _look_up(name: str, names: dict[str, str]):
    return getattr(importlib.import_module(names[name]), name)


def _text(error: BaseException) -> str:
    try:
        text = f"{error.msg} (line {error.lineno})" if isinstance(error, SyntaxError) \
            else str(error)
        return text[:2000].encode("utf-8", "replace").decode("utf-8")
    except BaseException:
        return "(its text can't be shown)"


def _frames(error: BaseException) -> list:
    """[file, line, function, source line] of the submission's own innermost frames."""
    if isinstance(error, SyntaxError) and error.filename:
        return [[str(error.filename)[:200], error.lineno or 0, "", str(error.text or "")[:200]]]
    try:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:1] != "/"]
        return [[f.filename[:200], f.lineno, f.name[:100], (f.line or "")[:200]]
                for f in frames[-FRAMES:] if not f.filename.startswith("<frozen")]
    except builtins.BaseException:
        return []


def _receive(channel: socket.socket) -> tuple[dict, list[bytes]]:
    head, payload = border.frame_lengths(_exactly(channel, border.LENGTHS), trusted=True)
    return border.open_frame(_exactly(channel, head), _exactly(channel, payload))


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = channel.recv(min(count - len(data), 1 << 20))
        if not piece:
            os._exit(0)  # the grader is done with this worker
        data += piece
    return bytes(data)
