"""
Measures what the kit must hold, each as a ratio with its budget: `python -m release.benchmark`.

    grade      against a bare process that imports the same submission and makes the same calls
    regrade    200 and 2,000 made-up submissions: processor time, memory, one process against two
    build      the whole release
    flash      flash_fwd and flash_bwd against dense attention: time and peak memory

Nothing here is a test: the figures are this machine's, taken in one run, and other work on it
shows in them. Ratios hardly change with the machine, times do.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

THREADS = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
os.environ.update(THREADS)  # tiles and whole matrices alike, before numpy is loaded

import numpy as np  # noqa: E402

from autograder.grading.grade import Grader  # noqa: E402
from autograder.kit import frozen  # noqa: E402
from autograder.kit.calls import Request  # noqa: E402
from autograder.kit.release import release_of  # noqa: E402
from autograder.tests.synthetic import files_of, write_class, write_files  # noqa: E402
from release.solution import ROOT, SOLUTIONS, labs, read_solution  # noqa: E402

HOSTILE = ("exit", "crash", "memory", "quit", "flood")
REPLAY = Path(__file__).with_name("replay.py")
TILE = 256  # rows and columns of a tile of the flash functions
failed: list[str] = []


def main(argv: list[str] | None = None) -> int:
    """Measure and print; 1 when a budget does not hold."""
    parser = argparse.ArgumentParser("python -m release.benchmark", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="grade, regrade, build or flash; all by default")
    parser.add_argument("--quick", action="store_true", help="a tenth of the submissions")
    options = parser.parse_args(argv)
    sections = {"grade": grade, "regrade": regrade, "build": build, "flash": flash}
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        os.chmod(folder, 0o711)
        for name in options.what or sections:
            print(f"\n{name}")
            sections[name](Path(folder), options.quick)
    print(f"\n{'every budget holds' if not failed else 'does not hold: ' + '; '.join(failed)}")
    return 1 if failed else 0


def budget(what: str, value: float, limit: float, at_least: bool = False) -> None:
    """Print a ratio beside its budget."""
    holds = value >= limit if at_least else value <= limit
    print(f"  {what:58} {value:7.2f}   {'at least' if at_least else 'at most'} {limit:g}   "
          f"{'holds' if holds else 'DOES NOT HOLD'}")
    if not holds:
        failed.append(what)


def figure(what: str, text: str) -> None:
    """Print a figure without a budget."""
    print(f"  {what:58} {text}")


# --- grade ----------------------------------------------------------------------------------------


class Recorder(Grader):
    """A grader that writes down what it asks of a submission."""

    def record(self, path: Path) -> list[Request]:
        """The requests of one grading."""
        self.requests: list[Request] = []
        self.grade(path)
        return self.requests

    def _lab(self, *submission):
        lab = super()._lab(*submission)
        ask = lab._ask
        lab._ask = lambda request: (self.requests.append(request), ask(request))[1]
        return lab


def replay(lab: str, submission: Path, calls: Path) -> dict[str, float]:
    """Times of the bare process, `wall` without what loading the recorded calls takes."""
    names = {k: v for k, v in release_of(lab).names.items()
             if (submission / f"{v}.py").exists()}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, str(REPLAY), str(submission), str(calls),
                           json.dumps(names)], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd="/")
    wall = time.perf_counter() - start
    times = json.loads(done.stdout.splitlines()[-1])
    return times | {"wall": wall - times["loading"]}


def grade(folder: Path, quick: bool) -> None:
    """One submission by the command, against the bare process, turn by turn."""
    for lab in labs():
        submission = folder / lab
        write_files(submission, files_of(read_solution(lab), "solved"))
        recorder = Recorder(release_of(lab))
        calls = folder / f"{lab}.json"
        calls.write_text(frozen.dump(recorder.record(submission)), encoding="utf-8")
        recorder.close()
        graded, bare = [], []
        for _ in range(3 if quick else 9):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "autograder", "grade", lab, str(submission),
                            "--json", str(folder / "results.json")], cwd=ROOT, check=True,
                           stdout=subprocess.DEVNULL)
            graded.append(time.perf_counter() - start)
            bare.append(replay(lab, submission, calls)["wall"])
        one, other = statistics.median(graded), statistics.median(bare)
        figure(f"{lab}: grade, bare process", f"{one * 1e3:.0f} ms, {other * 1e3:.0f} ms")
        budget(f"{lab}: grade / bare process", one / other, 1.6)


# --- regrade --------------------------------------------------------------------------------------


def regrade(folder: Path, quick: bool) -> None:
    """A class a lab for the processor time; a large one of the fastest lab for memory."""
    few, many = (20, 200) if quick else (200, 2000)
    for lab in labs():
        export = folder / f"{lab}-class"
        made = write_class(export, lab, few, HOSTILE)
        calls = calls_of(lab, folder, Counter(one.kind for one in made))
        one = run(lab, export, folder / "out", workers=1)
        again = run(lab, export, folder / "out", workers=1)
        shutil.rmtree(folder / "out")
        two = run(lab, export, folder / f"{lab}-2", workers=2)
        figure(f"{lab}: {few} submissions", f"{few / two.wall:.1f} a second")
        figure(f"{lab}: processor time of a submission", f"{one.cpu / few * 1e3:.0f} ms; of its "
               f"calls {calls / few * 1e3:.0f} ms, of tables and report "
               f"{again.cpu / few * 1e3:.0f} ms")
        budget(f"{lab}: processor time / (1.3 * calls + 15 ms a submission)",
               one.cpu / (1.3 * calls + 0.015 * few), 1.0)
        budget(f"{lab}: two processes / one", one.wall / two.wall, 1.8, at_least=True)
    lab = labs()[-1]
    write_class(folder / "many", lab, many, HOSTILE)
    large = run(lab, folder / "many", folder / "many-out", workers=2)
    figure(f"{lab}: {many} submissions", f"{many / large.wall:.1f} a second, "
           f"{large.memory / 2**20:.0f} MiB (at {few}: {two.memory / 2**20:.0f} MiB)")
    budget(f"{lab}: memory at {many} / at {few} submissions", large.memory / two.memory, 1.1)


def calls_of(lab: str, folder: Path, kinds: Counter[str]) -> float:
    """Processor seconds of the calls alone that grading these submissions makes, in bare processes.

    Those of hostile submissions, which would end or fill such a process, count as nothing.
    """
    recorder = Recorder(release_of(lab))
    seconds = 0.0
    for kind, number in kinds.items():
        if kind in HOSTILE:
            continue
        submission, calls = folder / f"{lab}-{kind}", folder / "calls.json"
        write_files(submission, files_of(read_solution(lab), kind))
        calls.write_text(frozen.dump(recorder.record(submission)), encoding="utf-8")
        seconds += number * statistics.fmean(
            replay(lab, submission, calls)["calls_cpu"] for _ in range(2))
    recorder.close()
    return seconds


class Run:
    """One regrade: wall and processor seconds of all its processes, peak memory of all together."""

    def __init__(self, command: list[str]):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        self.memory = 0
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                self.memory = max(self.memory, sum(map(_resident, _family(process.pid))))
                time.sleep(0.5)
            self.printed = process.stdout.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall = time.perf_counter() - start
        self.cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}\n{self.printed}")


def run(lab: str, export: Path, out: Path, workers: int) -> Run:
    """Regrade what is not graded yet."""
    return Run([sys.executable, "-m", "autograder", "regrade", lab, str(export), "--out", str(out),
                "--workers", str(workers)])


def _family(pid: int) -> list[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
        except OSError:
            pass  # it has ended
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


def _resident(pid: int) -> int:
    """Bytes of the process, its share of what it shares with others."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
        return int(text.split("\nPss:")[1].split()[0]) << 10
    except (OSError, IndexError):
        return 0


# --- build ----------------------------------------------------------------------------------------


def build(folder: Path, quick: bool) -> None:
    """All labs, to another place."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "release", "build", "--out", str(folder / "release")],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    budget(f"release build of {len(labs())} labs, seconds", time.perf_counter() - start, 15)


# --- flash ----------------------------------------------------------------------------------------


def flash(folder: Path, quick: bool) -> None:
    """The solution's tiled functions against the dense ones, at d = 64."""
    print(f"  tiles of {TILE} x {TILE}, one thread. flash_bwd gets O and L and computes P again "
          "from them,\n  so its match is dense forward and backward together (f+b); given P, of "
          "N x N, dense takes b.\n"
          f"  {'N':>8} {'fwd':>6} {'dense':>6} {'bwd':>7} {'f+b':>6} {'b':>6}  ms   "
          f"{'fwd':>6} {'dense':>6} {'bwd':>6} {'f+b':>6}  MiB")
    peaks = {}
    for N in (512, 1024, 2048) if quick else (512, 1024, 2048, 4096, 8192):
        calls = attention_calls(N)
        ms = interleaved(calls, 7 if N < 4096 else 3)
        mib = peaks[N] = {name: peak(call) / 2**20 for name, call in calls.items()}
        print(f"  {N:8} {ms['fwd']:6.0f} {ms['dense']:6.0f} {ms['bwd']:7.0f} {ms['f+b']:6.0f} "
              f"{ms['b']:6.0f}       {mib['fwd']:6.1f} {mib['dense']:6.1f} {mib['bwd']:6.1f} "
              f"{mib['f+b']:6.1f}")
        if N >= 1024:
            budget(f"N = {N}: flash_fwd / dense", ms["fwd"] / ms["dense"], 1.0)
            budget(f"N = {N}: flash_bwd / dense f+b", ms["bwd"] / ms["f+b"], 1.0)
    low, high = min(peaks), max(peaks)
    for name in ("fwd", "bwd"):
        budget(f"flash_{name}: memory at {high} / at {low}, over {high // low}",
               peaks[high][name] / peaks[low][name] / (high / low), 1.0)


def attention_calls(N: int) -> dict[str, Callable]:
    """What is compared at N queries and keys."""
    sys.path.insert(0, str(SOLUTIONS / "flash_attention"))
    from attention import standard_attention, standard_attention_bwd
    from flash_backward import flash_bwd
    from flash_forward import flash_fwd

    sys.path.pop(0)
    Q, K, V, dO = np.random.default_rng(N).normal(size=(4, N, 64))
    O, L, _ = flash_fwd(Q, K, V, TILE, TILE)
    P = standard_attention(Q, K, V)[1]
    return {
        "fwd": lambda: flash_fwd(Q, K, V, TILE, TILE),
        "dense": lambda: standard_attention(Q, K, V),
        "bwd": lambda: flash_bwd(Q, K, V, O, dO, L, TILE, TILE),
        "f+b": lambda: standard_attention_bwd(Q, K, V, standard_attention(Q, K, V)[1], dO),
        "b": lambda: standard_attention_bwd(Q, K, V, P, dO),
    }


def interleaved(calls: dict[str, Callable], times: int) -> dict[str, float]:
    """Milliseconds of each call, the least of several rounds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(times):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


def peak(call: Callable) -> int:
    """Bytes that the call holds at most, its results included."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


if __name__ == "__main__":
    sys.exit(main())
