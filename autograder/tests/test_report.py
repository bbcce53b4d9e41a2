"""
The report of a class of 200: its numbers are those of an independent count, its page is sound, and
a browser shows all of it.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograder.classroom import similarity
from autograder.classroom.submissions import Handed
from autograder.classroom.tally import correlation
from autograder.kit.release import release_of
from autograder.tests.synthetic import files_of, write_class, write_files
from release.solution import ROOT, read_solution
from release.term import tomllib

LAB = "megakernel"
COUNT = 200
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars"]
VOID = {"meta", "rect", "path", "br"}


class Page(HTMLParser):
    """The page as a tree: [tag, attributes, children], texts as str."""

    def __init__(self, text: str):
        super().__init__()
        self.declared = ""
        self.stack: list[list] = [["", {}, []]]
        self.feed(text)
        self.close()
        assert len(self.stack) == 1, f"never closed: {[e[0] for e in self.stack]}"

    def handle_decl(self, decl):
        self.declared = decl

    def handle_starttag(self, tag, attrs):
        node = [tag, dict(attrs), []]
        assert len(node[1]) == len(attrs)
        self.stack[-1][2].append(node)
        if tag not in VOID:
            self.stack.append(node)

    def handle_startendtag(self, tag, attrs):
        self.stack[-1][2].append([tag, dict(attrs), []])

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        self.stack[-1][2].append(data)

    def all(self, tag: str = "", node=None) -> list[list]:
        """Every element (of that tag), in order."""
        found = []
        for child in (node or self.stack[0])[2]:
            if not isinstance(child, str):
                found += [child] * (tag in ("", child[0])) + self.all(tag, child)
        return found

    def text(self, node) -> str:
        return "".join(c if isinstance(c, str) else self.text(c) for c in node[2])

    def table(self, caption: str) -> list[list[str]]:
        """The body of the table with that caption."""
        table = next(t for t in self.all("table") if self.text(self.all("caption", t)[0])
                     == caption)
        body = self.all("tbody", table)[0]
        return [[self.text(cell) for cell in row[2]] for row in self.all("tr", body)]


@pytest.fixture(scope="module")
def regraded(tmp_path_factory):
    """(the report's path, its text, the contents of all results)."""
    pytest.importorskip("yaml", reason="regrading an export needs the extra classroom")
    folder = tmp_path_factory.mktemp("class")
    write_class(folder / "export", LAB, COUNT, ("exit", "crash", "memory", "quit", "gone", "empty"))
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "regrade", LAB, str(folder / "export"), "--out",
         str(folder / "out")], cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    contents = {p.stem: json.loads(p.read_text(encoding="utf-8"))
                for p in sorted((folder / "out" / "results").glob("*.json"))}
    report = folder / "out" / "report.html"
    return report, report.read_text(encoding="utf-8"), contents


@pytest.fixture(scope="module")
def page(regraded) -> Page:
    return Page(regraded[1])


# --- the numbers ----------------------------------------------------------------------------------


def test_every_submission_is_counted(regraded, page):
    _, _, contents = regraded
    assert len(contents) == COUNT
    assert page.text(page.all("h1")[0]) == f"{LAB}: {COUNT} submissions regraded"


def test_statuses_are_those_of_the_results(regraded, page):
    _, _, contents = regraded
    counted = Counter(c["extra_data"]["status"] for c in contents.values())
    shown = {row[0]: int(row[1]) for row in page.table("Submissions by status")}
    assert shown == {status: counted[status] for status in (
        "graded", "timeout", "memory", "crashed", "missing", "grader error")}


def test_the_distribution_is_that_of_the_scores(regraded, page):
    _, _, contents = regraded
    scores = [c["score"] for c in contents.values()]
    for low_high, number in page.table("Submissions by score"):
        low, high = map(float, low_high.split("-"))
        assert int(number) == sum(low <= s < high or s == high == 20 for s in scores)
    figures = dict(page.table("The scores in figures"))
    assert float(figures["mean"]) == pytest.approx(sum(scores) / COUNT, rel=1e-3)
    assert float(figures["median"]) == pytest.approx(statistics.median(scores), rel=1e-3)
    assert int(figures["with full marks"]) == scores.count(20)
    assert int(figures["with no points"]) == scores.count(0)


def test_difficulty_and_discrimination_are_those_of_the_results(regraded, page):
    _, _, contents = regraded
    table = page.table("Difficulty and discrimination of each check")
    tests = list(zip(*(c["tests"] for c in contents.values()), strict=True))
    assert len(table) == len(tests) == len(release_of(LAB).checks)
    for row, entries in zip(table, tests, strict=True):
        passed = [t["status"] == "passed" for t in entries]
        rest = [c["score"] - t["score"] for c, t in zip(contents.values(), entries, strict=True)]
        assert row[0] == entries[0]["name"]
        assert row[1] == f"{100 * sum(passed) / COUNT:.0f} %"
        assert float(row[2]) == pytest.approx(point_biserial(passed, rest), abs=0.006)
        assert int(row[3]) == sum(passed)
        assert int(row[4]) == sum(t["extra_data"]["status"] == "not judged" for t in entries)
        assert (float(row[5]), row[6]) == (entries[0]["max_score"], entries[0]["tags"][0])


def point_biserial(passed: list[bool], rest: list[float]) -> float:
    """By its textbook formula, which differs from the report's."""
    yes = [r for r, ok in zip(rest, passed, strict=True) if ok]
    no = [r for r, ok in zip(rest, passed, strict=True) if not ok]
    share = len(yes) / len(rest)
    return ((statistics.fmean(yes) - statistics.fmean(no)) / statistics.pstdev(rest)
            * (share * (1 - share)) ** 0.5)


def test_parts_have_the_mean_points_of_the_results(regraded, page):
    _, _, contents = regraded
    for part, _, mean, _ in page.table("Points by part"):
        got = sum(t["score"] for c in contents.values() for t in c["tests"] if t["tags"] == [part])
        assert float(mean) == pytest.approx(got / COUNT, abs=0.006)


def test_mistakes_are_counted_by_submission_and_have_their_hint(regraded, page):
    _, _, contents = regraded
    counted = Counter(name for c in contents.values() for name in {
        t["extra_data"]["mistake"] for t in c["tests"]} - {""})
    table = page.table("Known mistakes by how many submissions make them")
    assert {row[0]: int(row[1]) for row in table} == counted
    assert [int(row[1]) for row in table] == sorted(counted.values(), reverse=True)
    known = tomllib.loads((ROOT / "autograder" / "mistakes" / f"{LAB}.toml").read_text(
        encoding="utf-8"))["mistake"]
    hints = {" ".join(m["hint"].split()) for m in known}
    assert all(" ".join(row[2].split()) in hints for row in table)


def test_times_are_those_of_the_results(regraded, page):
    _, _, contents = regraded
    seconds = sorted(c["execution_time"] for c in contents.values())
    figures = dict(page.table("Time a submission"))
    assert figures["longest"] == f"{seconds[-1]:.2f} s"
    assert figures["median"] == f"{statistics.median(seconds):.2f} s"
    assert figures["together"] == f"{sum(seconds):.2f} s"
    slowest = page.table("The slowest submissions")
    assert contents[slowest[0][0]]["execution_time"] == seconds[-1]


def test_equal_works_are_listed_together(regraded, page):
    _, _, contents = regraded
    table = page.table("Equal works: what was written is the same, letter by letter")
    solved = sum(c["score"] == 20 for c in contents.values())
    assert int(table[0][2]) >= solved  # those whose answers were wrong have the same code too


def test_a_correlation_without_variation_is_none():
    assert correlation([True, True], [1.0, 2.0]) is None
    assert correlation([True, False], [1.0, 1.0]) is None
    assert correlation([True], [1.0]) is None
    assert correlation(bytearray([1, 0]), [2.0, 1.0]) == pytest.approx(1)


# --- the page -------------------------------------------------------------------------------------


def test_the_page_needs_nothing_from_anywhere(regraded, page):
    _, text, _ = regraded
    tags = {node[0] for node in page.all()}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    names = {name for node in page.all() for name in node[1]}
    assert not names & {"src", "href", "srcset", "action", "style"}
    assert not [name for name in names if name.startswith("on")]
    style = page.text(page.all("style")[0])
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'" in text


def test_the_page_is_structured_for_screen_readers(page):
    assert page.declared == "DOCTYPE html"
    assert page.all("html")[0][1]["lang"] == "en"
    assert any("width=device-width" in m[1].get("content", "") for m in page.all("meta"))
    assert [len(page.all(tag)) for tag in ("main", "h1", "title")][:2] == [1, 1]
    ids = [node[1]["id"] for node in page.all() if "id" in node[1]]
    assert len(ids) == len(set(ids))
    for section in page.all("section"):
        assert section[2][0][0] == "h2" and section[1]["aria-labelledby"] == section[2][0][1]["id"]
    for table in page.all("table"):
        assert table[2][0][0] == "caption"
        width = len(page.all("th", page.all("thead", table)[0]))
        for row in page.all("tr", table):
            assert len(row[2]) == width and row[2][0][0] == "th"
        assert all(h[1]["scope"] in ("col", "row") for h in page.all("th", table))
    for drawing in page.all("svg"):
        assert drawing[1].get("aria-hidden") == "true" or (
            drawing[1]["role"] == "img" and drawing[1]["aria-label"])
    for box in (n for n in page.all("div") if n[1].get("class") == "scroll"):
        assert box[1]["tabindex"] == "0" and box[1]["aria-label"]


def test_text_is_dark_on_light(regraded):
    _, text, _ = regraded
    colours = dict(re.findall(r"--(\w+): (#\w{6})", text))
    assert contrast(colours["ink"], "#ffffff") >= 7
    assert contrast(colours["bar"], "#ffffff") >= 3
    assert contrast(colours["bar"], colours["back"]) >= 3


def contrast(one: str, other: str) -> float:
    """WCAG's ratio."""
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4
                            for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_names_are_text_and_never_markup(regraded):
    _, text, _ = regraded
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text  # it is among the equal works


# --- in a browser ---------------------------------------------------------------------------------

with_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here")


def browse(page: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([BROWSER, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
                          capture_output=True, text=True, timeout=120)


@with_browser
def test_a_browser_shows_every_table_whole(regraded, page, tmp_path):
    report, _, _ = regraded
    shown = Page(re.sub(r"</(rect|path)>", "", browse(report, tmp_path, "--dump-dom").stdout))
    for table in page.all("table"):
        caption = page.text(page.all("caption", table)[0])
        assert shown.table(caption) == page.table(caption)
    assert len(shown.all("svg")) == len(page.all("svg"))


@with_browser
@pytest.mark.parametrize("width", [500, 1200])
def test_a_browser_lays_it_out_within_its_window_and_draws_it(regraded, tmp_path, width):
    """With a script added that measures, which the page itself forbids."""
    report, text, _ = regraded
    measured = tmp_path / "measured.html"
    measured.write_text(re.sub(r"<meta http-equiv.*", "", text) + """<script>
        const boxes = [...document.querySelectorAll('h1, h2, p, table, svg.columns, svg.columns *')]
        document.body.dataset.measured = JSON.stringify({
            page: document.documentElement.scrollWidth, window: innerWidth,
            flat: boxes.filter(b => !b.getBoundingClientRect().height && b.tagName != 'rect'
                               && b.tagName != 'title' && b.tagName != 'path').length,
            size: parseFloat(getComputedStyle(document.body).fontSize)})
        </script>""", encoding="utf-8")
    window = f"--window-size={width},900"
    dom = browse(measured, tmp_path, window, "--dump-dom").stdout
    found = json.loads(re.search(r"data-measured='([^']*)'|data-measured=\"([^\"]*)\"", dom)[0]
                       .split("=", 1)[1][1:-1].replace("&quot;", '"'))
    assert found["page"] <= found["window"] == width
    assert found["flat"] == 0 and found["size"] >= 16
    picture = tmp_path / "page.png"
    browse(report, tmp_path, window, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000


# --- similar submissions --------------------------------------------------------------------------


def test_a_renamed_copy_stands_out_and_the_stub_does_not(tmp_path):
    pytest.importorskip("copydetect", reason="comparing needs the extra classroom")
    solution = read_solution(LAB)
    honest = ROOT / "autograder" / "tests" / "honest" / LAB
    works = {"stub1": solution.stubs, "stub2": solution.stubs, "solved": solution.sources}
    for folder in sorted(honest.iterdir()):
        own = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.py")}
        works[folder.name] = solution.sources | own
    copied = re.sub(r"\bready\b", "available", solution.sources["timeline.py"]).replace(
        "        ", "\t\t")
    works["copy"] = solution.sources | {"timeline.py": "# all my own work\n" + copied}
    works["same"] = works["solved"] | {"notes.py": "x = 1\n"}
    for name, files in works.items():
        write_files(tmp_path / name, files)
    handed = [Handed(name, tmp_path / name, ()) for name in works]

    found = similarity.compare(release_of(LAB), handed)

    assert found.works == len(works) - 3  # without the stubs, and the solution once
    assert found.same == [["solved", "same"]]
    assert {found.pairs[0].one, found.pairs[0].other} == {"solved", "copy"}
    assert min(found.pairs[0].of_one, found.pairs[0].of_other) > 0.9
    assert not {"stub1", "stub2"} & {id_ for p in found.pairs for id_ in (p.one, p.other)}
    assert found == similarity.compare(release_of(LAB), handed)  # every time


def test_what_can_not_be_read_is_not_compared(tmp_path):
    pytest.importorskip("copydetect", reason="comparing needs the extra classroom")
    write_files(tmp_path / "odd", {"timeline.py": "\0\0"})
    write_files(tmp_path / "large", {"timeline.py": "x = 1\n" * 100_000})
    write_files(tmp_path / "broken", {"timeline.py": "def f(:\n  '''"})
    write_files(tmp_path / "none", {})
    solved = files_of(read_solution(LAB), "solved")
    write_files(tmp_path / "solved", solved)
    names = ("odd", "large", "broken", "none", "solved")
    found = similarity.compare(release_of(LAB), [Handed(n, tmp_path / n, ()) for n in names])
    assert not found.missing and not found.pairs


def test_without_the_library_the_report_says_so(monkeypatch):
    monkeypatch.setattr(similarity, "find_spec", lambda name: None)
    assert "pip install" in similarity.compare(release_of(LAB), []).missing
