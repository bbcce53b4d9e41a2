"""
Where attacks are tried: secrets to steal, processes to kill, folders to write to, and a grader.

After each attack the arena looks at all of them, and at the results.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.grading import results
from autograder.grading.grade import Grader
from autograder.kit import message
from autograder.kit.release import Release
from autograder.kit.run import NOT_JUDGED, PASSED
from autograder.tests.hostile import HERE, ROOT, Attack
from autograder.tests.hostile.files import BUILDERS
from autograder.worker import limits

SECRET = "zq7-what-nobody-may-see-7qz"
MARK = "zq7-what-nobody-may-write-7qz"
LOUD = "zq7-what-a-student-says-7qz"  # never in what a hidden check shows
SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/run/user", os.path.expanduser("~"))


class Arena:
    """One grader a lab, kept from attack to attack as in a class, and all that it must protect."""

    def __init__(self, frozen: Path):
        self.frozen = frozen
        self.graders: dict[str, Grader] = {}
        self.base = Path(tempfile.mkdtemp(prefix="arena-"))
        os.chmod(self.base, 0o755)
        self.victim = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL,
                                       env={"HOSTILE_SECRET": SECRET, "PATH": os.defpath})
        self.listener = _Listener(self.base)
        self.outside = self.base / "outside"
        self.outside.mkdir(mode=0o777)
        self.secret = self.base / "secret.txt"
        self.secret.write_text(SECRET, encoding="utf-8")
        os.chmod(self.secret, 0o600)
        self.results = self.base / "results" / "results.json"
        self.results.parent.mkdir(mode=0o700)
        self.held = os.open(self.secret, os.O_RDONLY)  # in the grader, for a worker to inherit
        os.set_inheritable(self.held, True)

    def attempt(self, attack: Attack) -> list[str]:
        """Grade the attack; what does not hold afterwards."""
        grader = self._grader(attack.lab)
        path = self._hand_in(attack)
        before = self._state()
        start = time.monotonic()
        try:
            content = grader.grade(path, None, self._save).content
        except Exception as error:
            self.graders.pop(attack.lab).close()
            return [f"the grader broke: {type(error).__name__}: {error}"]
        seconds = time.monotonic() - start
        self._save(content)
        content = json.loads(self.results.read_text(encoding="utf-8"))
        problems = [*self._outside(before), *self._processes(grader),
                    *judged(attack, grader.release, content), *told(grader.release, content),
                    *_in_time(grader.release, seconds)]
        shutil.rmtree(path.parent, ignore_errors=True)
        return problems

    def close(self) -> list[str]:
        """The solution still gets full marks everywhere; then nothing is left."""
        problems = []
        for lab, grader in self.graders.items():
            path = self._hand_in(Attack("", lab, zero=()))
            left = [r.check.id for r in grader.grade(path).results if r.outcome != PASSED]
            if left:
                problems.append(f"{lab}: after all attacks the solution fails {', '.join(left)}")
            grader.close()
        self.victim.kill()
        self.victim.wait()
        self.listener.close()
        os.close(self.held)
        shutil.rmtree(self.base)
        return problems

    def _save(self, content: dict[str, Any]) -> None:
        results.write(self.results, content)

    # Before

    def _grader(self, lab: str) -> Grader:
        if lab not in self.graders:
            self.graders[lab] = Grader(Release(lab, self.frozen / lab))
        return self.graders[lab]

    def _hand_in(self, attack: Attack) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.base))
        release = self._grader(attack.lab).release
        return hand_in(attack, release, folder, self._world(attack.lab), self.secret)

    def _world(self, lab: str) -> dict[str, Any]:
        """What an attacker who knows the machine knows."""
        return {
            "secret": str(self.secret), "outside": str(self.outside), "mark": MARK, "loud": LOUD,
            "results": str(self.results), "frozen": str(self.frozen / lab), "root": str(ROOT),
            "grader": os.getpid(), "nursery": self.graders[lab].nursery.process.pid,
            "victim": self.victim.pid, "held": self.held, "shared": list(SHARED),
            "tcp": self.listener.tcp, "unix": self.listener.unix,
            "abstract": self.listener.abstract, "base": str(self.base),
        }

    # After

    def _state(self) -> tuple:
        return (self.secret.stat().st_mtime_ns, self.secret.stat().st_mode,
                sorted(p.name for p in self.outside.iterdir()), os.nice(0),
                os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, self.victim.pid))

    def _outside(self, before: tuple) -> Iterator[str]:
        """Nothing was written, changed or contacted."""
        if self._state() != before:
            yield "a file or a process outside was changed"
        for folder in SHARED:
            for path in Path(folder).glob(f"*{MARK}*"):
                yield f"{path} was written"
        if self.victim.poll() is not None:
            yield "another process was killed"
        if self.listener.met:
            yield "a socket of the machine's was reached"
            self.listener.met = False

    def _processes(self, grader: Grader) -> Iterator[str]:
        """In the nursery's session there is the nursery, and nobody has its workers' user."""
        nursery = grader.nursery
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                session = os.getsid(int(pid))
                user = os.stat(f"/proc/{pid}").st_uid
            except OSError:
                continue
            if int(pid) != nursery.process.pid and (
                    session == nursery.process.pid or user == nursery.uid):
                yield f"process {pid} is left"


def hand_in(attack: Attack, release: Release, folder: Path, world: dict[str, Any],
            secret: Path) -> Path:
    """
    The submission, made in the folder: the solution's files with the attack in the place of one.

    Args:
        world: what an attacker who knows the machine knows
        secret: a file for submissions that link to it
    """
    path = folder / "submission"
    path.mkdir()
    for name in release.about["students"]:
        shutil.copy(ROOT / "solutions" / attack.lab / name, path)
    right = [f"{key} = {value!r}\n" for key, (value, _) in release._hidden_cases.answers.items()]
    (path / "answers.toml").write_text("".join(right), encoding="utf-8")
    source = HERE / "attacks" / f"{attack.name}.py"
    if source.exists():
        shutil.move(path / attack.file, path / "honest.py")
        shutil.copy(source, path / attack.file)
        for companion in (HERE / "companions").glob("*.py"):
            text = companion.read_text(encoding="utf-8")
            (path / companion.name).write_text(
                text.replace("WORLD = {}", f"WORLD = {world!r}"), encoding="utf-8")
    elif attack.name:
        return BUILDERS[attack.name](path, secret)
    return path


def judged(attack: Attack, release: Release, content: dict[str, Any]) -> Iterator[str]:
    """Every check is judged, and the points are those that the table says."""
    tests = content["tests"]
    if [test["extra_data"]["id"] for test in tests] != [check.id for check in release.checks]:
        yield "checks are missing, or stand in another order"
    parts: dict[str, list[dict]] = defaultdict(list)
    for test in tests:
        parts[test["tags"][0]].append(test)
        if test["extra_data"]["reason"] == "grader error":
            yield f"{test['extra_data']['id']}: grader error: {test['output']}"
    statuses = set()
    for part, members in parts.items():
        score, full = (sum(test[key] for test in members) for key in ("score", "max_score"))
        lost = [test for test in members if test["status"] == "failed"]
        if part in (*attack.zero, *attack.some):
            statuses |= {test["extra_data"]["reason"] for test in lost}
        right = (score == 0 if part in attack.zero else 0 < score < full if part in attack.some
                 else score == full or part in attack.may)
        if not right:
            wrong = [f"{test['name']}: {test['output'][:300]}" for test in lost]
            yield f"{part}: {score:g} of {full:g}; {'; '.join(wrong[:2])}"
    expected = [attack.status] if isinstance(attack.status, str) else attack.status
    if (attack.zero or attack.some) and not statuses & set(expected):
        yield f"the status is {', '.join(sorted(statuses))}, not {' or '.join(expected)}"


def told(release: Release, content: dict[str, Any]) -> Iterator[str]:
    """results.json is complete and tells nobody what is none of their business."""
    checks = release.checks
    for check, test in zip(checks, content["tests"], strict=True):
        if (test["max_score"], test["name"]) != (check.points, check.sentence):
            yield f"{check.id}: its points or its name changed"
        if test["score"] not in (0.0, check.points):
            yield f"{check.id}: score {test['score']}"
        if check.hidden:
            yield from _hidden(check.id, test["output"], release)
    if content["score"] != sum(test["score"] for test in content["tests"]):
        yield "the score is not the sum of the tests' scores"
    text = json.dumps(content)
    if len(text) > 1 << 20:
        yield f"results.json has {len(text)} bytes"
    if LOUD in content["output"]:
        yield "the submission wrote into the top-level output"
    for word, what in (("BREACH", "a breach"), (SECRET, "the secret")):
        if word in text:
            at = text.index(word)
            yield f"{what}: {text[at : at + 300]}"
    bad = [c for t in content["tests"] for c in t["output"] if not (c.isprintable() or c == "\n")]
    if bad:
        yield f"control characters are shown: {bad[:5]}"


def _hidden(id_: str, output: str, release: Release) -> Iterator[str]:
    """A hidden check shows its outcome, hints and reasons, and these are the kit's own words."""
    known = {part_hint for known in release.diagnosis.parts.values()
             for part_hint in (m["hint"] for m in known["mistakes"])}
    first, *lines = output.split("\n")
    if first not in ("", "failed", NOT_JUDGED):
        yield f"{id_} shows {first}"
    text = " ".join(" ".join(lines).split())
    for label in message.TELLABLE:
        text = text.replace(f"{label} ", "", 1) if text.startswith(f"{label} ") else text
    own = text in {" ".join(hint.split()) for hint in known} or text.startswith(
        ("first mend: ", "not reached within", "was not reached", "the grader broke")) or not text
    if not own or LOUD in output:
        yield f"{id_} shows {text[:200]}"


def _in_time(release: Release, seconds: float) -> Iterator[str]:
    functions = len(release.about["functions"])
    most = min(limits.SUBMISSION_SECONDS, functions * limits.HANGS * limits.MEMORY_CALL_SECONDS)
    if seconds > most + 10:
        yield f"took {seconds:.0f} s"


class _Listener:
    """Sockets of the machine's that no submission may reach."""

    def __init__(self, folder: Path):
        self.met = False
        self.unix = str(folder / "socket")
        self.abstract = f"\0{folder}"
        tcp = socket.create_server(("127.0.0.1", 0))
        self.tcp = tcp.getsockname()
        self.sockets = [tcp]
        for address in (self.unix, self.abstract):
            one = socket.socket(socket.AF_UNIX)
            one.bind(address)
            one.listen()
            self.sockets.append(one)
        os.chmod(self.unix, 0o777)
        for one in self.sockets:
            threading.Thread(target=self._wait, args=(one,), daemon=True).start()

    def _wait(self, one: socket.socket) -> None:
        while True:
            try:
                guest, _ = one.accept()
            except OSError:
                return
            self.met = True
            guest.close()

    def close(self) -> None:
        for one in self.sockets:
            one.shutdown(socket.SHUT_RDWR)
            one.close()


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
