"""
report.html: what a regrade found, as one page that needs nothing else.

No script, no font, no picture from anywhere; every drawing stands beside a table with its numbers.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from autograder.classroom.kept import BROKEN
from autograder.classroom.markup import Html, bar, columns, element, section, show, table
from autograder.classroom.similarity import Alike
from autograder.classroom.tally import Item, Row, Tally
from autograder.grading.results import write_text

BINS = 10
SLOWEST = 5
MEANING = {
    "graded": "every check was judged on what was handed in",
    "timeout": "a call gave no answer within its time limit",
    "memory": "a call needed more memory than there is",
    "crashed": "a call ended its process",
    "missing": "nothing that could be graded was handed in",
    "grader error": "staff's fault: the score is not the students'; the next regrade tries again",
}


def write(path: Path, tally: Tally, alike: Alike) -> None:
    """Write the page."""
    write_text(path, page(tally, alike))


def page(tally: Tally, alike: Alike) -> str:
    """The page as text."""
    about = tally.release.about
    title = f"{about['lab']}: {len(tally.rows)} submissions regraded"
    body = [
        element("h1", title),
        element("p", f"{tally.students} students, {len(tally.release.checks)} checks, "
                     f"{about['points']:g} points; term {about['term']}, release "
                     f"{about['version']}. A submission of several students counts once."),
        _statuses(tally), _scores(tally), _parts(tally), _checks(tally.items()),
        _mistakes(tally), _alike(tally, alike), _times(tally.rows),
    ]
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            f"style-src 'unsafe-inline'\">\n"
            f"<title>{show(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
            f"{element('main', *(Html(f'{part}{chr(10)}') for part in body))}\n</body>\n</html>\n")


def _statuses(tally: Tally) -> Html:
    count = len(tally.rows)
    rows = [(status, number, bar(number / count, f"{100 * number / count:.0f} %"),
             element("span", MEANING[status], class_="text"))
            for status, number in tally.statuses.items()]
    broken = [(row.id, row.names, row.error) for row in tally.rows if row.status == BROKEN]
    return section(
        "How grading went",
        table("Submissions by status", ("status", "submissions", "share", "meaning"),
              rows, texts=(0, 3)),
        *([table("Grader errors", ("submission", "students", "what happened"), broken,
                 texts=range(3))]
          if broken else []))


def _scores(tally: Tally) -> Html:
    points, scores = tally.release.about["points"], tally.scores
    counts = [0] * BINS
    for score in scores:
        counts[min(BINS - 1, int(BINS * score / points))] += 1
    edges = [points * i / BINS for i in range(BINS + 1)]
    labels = [f"{low:g}-{high:g}" for low, high in zip(edges, edges[1:], strict=False)]
    spread = [("mean", statistics.fmean(scores)), ("median", float(statistics.median(scores))),
              ("standard deviation", statistics.pstdev(scores)), ("lowest", min(scores)),
              ("highest", max(scores)), ("with full marks", sum(s == points for s in scores)),
              ("with no points", sum(s == 0 for s in scores))]
    return section(
        "Scores",
        columns(f"Number of submissions by score, of {points:g} points", counts,
                [f"{edge:g}" for edge in edges]),
        element("p", "A range includes its lower end; the last one includes both."),
        table("Submissions by score", ("score", "submissions"), zip(labels, counts, strict=True)),
        table("The scores in figures", ("figure", "value"), spread))


def _parts(tally: Tally) -> Html:
    got = dict.fromkeys(tally.release.about["parts"], 0.0)
    for item in tally.items():
        got[item.part] += item.points * item.share
    rows = [(part, points, f"{got[part]:.2f}", bar(got[part] / points,
                                                   f"{100 * got[part] / points:.0f} %"))
            for part, points in tally.release.about["parts"].items()]
    return section("Parts", table("Points by part", ("part", "points", "mean", "share"), rows))


def _checks(items: list[Item]) -> Html:
    rows = [(item.sentence, bar(item.share, f"{100 * item.share:.0f} %"),
             "none" if item.discrimination is None else f"{item.discrimination:.2f}",
             item.passed, item.not_judged, item.points, item.part,
             "hidden" if item.hidden else "public") for item in items]
    return section(
        "Checks",
        element("p", "Difficulty is the share of submissions that passed. Discrimination is the "
                     "correlation of passing this check with the points in all others, from -1 to "
                     "1: near 0 or below, look at the check before you look at the students; none "
                     "where all passed or all failed. Not judged: an earlier check failed."),
        table("Difficulty and discrimination of each check",
              ("check", "difficulty", "discrimination", "passed", "not judged", "points", "part",
               "seen"), rows, texts=(0, 6, 7)))


def _mistakes(tally: Tally) -> Html:
    hints = tally.hints()
    rows = [(name, number, element("span", hints.get(name, ""), class_="text"))
            for name, number in sorted(tally.mistakes.items(), key=lambda m: (-m[1], m[0]))]
    return section("Mistakes", table("Known mistakes by how many submissions make them",
                                     ("mistake", "submissions", "hint that was given"), rows,
                                     texts=(0, 2)) if rows else
                   element("p", "No known mistake was recognised."))


def _alike(tally: Tally, alike: Alike) -> Html:
    names = {row.id: row.names for row in tally.rows}
    who = {id_: element("span", f"{names[id_]} ({id_})", class_="text") for id_ in names}
    warning = element("p", element("strong", "Likeness is no proof of copying."), " It says where "
                      "to look. Short tasks have few solutions, groups work together, and what "
                      "was handed out or is common in this class is left out of the comparison "
                      "as far as it can be. Read both submissions and talk to the students first.")
    if alike.missing:
        return section("Similar submissions", element("p", f"Not compared: {alike.missing}."))
    same = [(Html(f"{i}"), Html("<br>".join(who[id_] for id_ in ids)), len(ids))
            for i, ids in enumerate(sorted(alike.same, key=len, reverse=True), 1)]
    pairs = [(who[p.one], who[p.other], f"{100 * p.of_one:.0f} %", f"{100 * p.of_other:.0f} %")
             for p in alike.pairs]
    more = f" {alike.unlisted} more pairs are not listed." if alike.unlisted else ""
    return section(
        "Similar submissions", warning,
        element("p", f"{alike.works} different works were compared, names and comments aside; "
                     f"{len(alike.pairs)} pairs stand out.{more}"),
        *([table("Similar pairs, the most similar first",
                 ("one", "the other", "of one in the other", "of the other in one"), pairs,
                 texts=(0, 1))] if pairs else []),
        *([table("Equal works: what was written is the same, letter by letter",
                 ("group", "submissions", "number"), same,
                 texts=(0, 1))] if same else []))


def _times(rows: Sequence[Row]) -> Html:
    seconds = sorted(row.seconds for row in rows)
    last = len(seconds) - 1
    figures = [("median", _seconds(statistics.median(seconds))),
               ("90 % took at most", _seconds(seconds[-(-9 * last // 10)])),
               ("longest", _seconds(seconds[-1])), ("together", _seconds(sum(seconds)))]
    slow = sorted(rows, key=lambda row: -row.seconds)[:SLOWEST]
    return section("Time", table("Time a submission", ("figure", "time"), figures),
                   table("The slowest submissions", ("submission", "students", "status", "time"),
                         [(r.id, r.names, r.status, _seconds(r.seconds)) for r in slow],
                         texts=range(3)))


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


CSS = """
:root { color-scheme: light; --ink: #1b1b1b; --bar: #1f5f8b; --back: #d9e3ea; --line: #8a8a8a }
* { box-sizing: border-box }
body { margin: 0; background: #fff; color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 68rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-bottom: 2px solid var(--bar) }
p { max-width: 46rem }
.scroll { overflow-x: auto; margin: 1rem 0 }
.scroll:focus-visible { outline: 3px solid var(--bar) }
table { border-collapse: collapse; font-size: .9rem }
caption { text-align: left; font-weight: 600; padding-bottom: .25rem }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #d0d0d0; text-align: left;
         vertical-align: top }
thead th { border-bottom: 2px solid var(--line) }
tbody th { font-weight: 400; min-width: 9rem; max-width: 30rem; overflow-wrap: anywhere }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.text { display: inline-block; min-width: 12rem; max-width: 34rem; white-space: normal;
        text-align: left; overflow-wrap: anywhere }
svg { fill: var(--bar) }
.bar { width: 5rem; height: .7rem; margin-right: .4rem }
.back { fill: var(--back) }
.columns { width: 100%; max-width: 46rem; height: auto; font-size: 15px; text-anchor: middle }
.columns text { fill: var(--ink) }
.columns path { stroke: var(--line); fill: none }
@media (max-width: 40rem) { .bar { display: none } .columns { font-size: 26px } }
@media print { .scroll { overflow: visible } }
"""
