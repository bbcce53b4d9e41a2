"""The handouts: both languages say the same, and what they say is what the solution does."""

import importlib
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from autograder.kit.calls import call
from autograder.kit.check import checks_of
from autograder.kit.frozen import Frozen
from autograder.kit.lab import LocalLab
from autograder.kit.message import body, head
from autograder.kit.run import Judge
from release.freeze import Bench, mistaken, read_mistakes
from release.solution import SOLUTIONS, labs, read_solution
from release.strip import regions
from release.term import FIGURE, read_term

LABS = labs()
LANGUAGES = ("handout.md", "handout.zh.md")
FIXTURES = {"flash_attention": "attention", "flash_decoding": "decoding"}
OF_THE_BUILD = {"lab", "points", "public_points"}

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- (code|figure): (\w+) -->$", re.MULTILINE)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<!\$)\$(?!\$)([^$\n]+)\$(?!\$)")
CODE = re.compile(r"`([^`\n]+)`")
NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?!\d)|(?<![A-Za-z_\d.])\d+(?:\.\d+)?")
SUM = re.compile(r"([\d ×+().]+) = ([\d.]+)$")


def read(lab, language="handout.md"):
    return (SOLUTIONS / lab / language).read_text(encoding="utf-8")


def prose(text):
    """The text without its fenced blocks."""
    return FENCE.sub("", text)


def sections(text):
    """The text from each heading to the next, the title's first."""
    parts = re.split(r"^(?=##? )", FENCE.sub(lambda m: m[0].replace("\n#", "\n "), text),
                     flags=re.MULTILINE)
    return [part for part in parts if part]


def tables(text):
    """Every table: a list of rows, each a list of cells, the dashes left out."""
    found, rows = [], []
    for line in [*prose(text).splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not set(line) <= set("|- "):
                rows.append(cells)
        elif rows:
            found.append(rows)
            rows = []
    return found


def table_of(lab, corner):
    """The table whose first cell is the corner: first cell of a row -> numbers in the others."""
    rows = next(rows for rows in tables(read(lab)) if rows[0][0] == corner)
    return {row[0].strip("*"): [number_of(cell) for cell in row[1:]] for row in rows[1:]}


def number_of(cell):
    """The number in which a cell ends; None for a cell without one."""
    found = re.search(r"(?<![\w(])(\d+(?:\.\d+)?)\**$", cell)
    return float(found[1]) if found else None


def lab_of(lab, request):
    space = request.getfixturevalue(FIXTURES.get(lab, lab))
    return LocalLab(lambda name: getattr(space, name), dict)


def own_figures(lab, request):
    module = importlib.import_module(f"autograder.checks.{lab}.figures")
    return module.figures(lab_of(lab, request), read_term().figures(lab))


def public_checks(lab):
    return checks_of(importlib.import_module(f"autograder.checks.{lab}.public"))


# --- two languages, one handout ------------------------------------------------------------------


def test_every_lab_has_a_handout_in_both_languages():
    for lab in LABS:
        assert {p.name for p in (SOLUTIONS / lab).glob("*.md")} == set(LANGUAGES)


@pytest.mark.parametrize("lab", LABS)
@pytest.mark.parametrize("what", [MARK, DISPLAY, INLINE, CODE, FIGURE, NUMBER],
                         ids=["marks", "formulas", "inline formulas", "code", "figures", "numbers"])
def test_the_languages_agree_section_by_section(lab, what):
    english, chinese = (sections(read(lab, language)) for language in LANGUAGES)
    assert len(english) == len(chinese)
    for one, other in zip(english, chinese, strict=True):
        said, told = (Counter(what.findall(prose(text))) for text in (one, other))
        assert said - told == told - said == Counter(), one.splitlines()[0]


@pytest.mark.parametrize("lab", LABS)
def test_the_languages_have_the_same_pictures_commands_and_formulas_in_the_same_order(lab):
    english, chinese = (read(lab, language) for language in LANGUAGES)
    for what in (FENCE, MARK, DISPLAY):
        assert what.findall(english) == what.findall(chinese)


@pytest.mark.parametrize("lab", LABS)
def test_the_languages_have_tables_of_the_same_size_with_the_same_numbers(lab):
    english, chinese = (tables(read(lab, language)) for language in LANGUAGES)
    assert len(english) == len(chinese)
    for one, other in zip(english, chinese, strict=True):
        assert [len(row) for row in one] == [len(row) for row in other]
        assert len({len(row) for row in one}) == 1
        assert [[number_of(c) for c in row] for row in one] == [
            [number_of(c) for c in row] for row in other]


# --- what the build and the notebook rely on -----------------------------------------------------


@pytest.mark.parametrize("lab", LABS)
def test_every_student_function_has_its_section_in_the_order_of_the_files(lab):
    marks = [name for kind, name in MARK.findall(read(lab)) if kind == "code"]
    assert set(marks) == set(read_solution(lab).functions)
    for part in sections(read(lab)):
        code = [name for kind, name in MARK.findall(part) if kind == "code"]
        assert len(code) <= 1
        if code:
            assert part.startswith(f"## {code[0]}:")
            assert part.rstrip().endswith(f"<!-- code: {code[0]} -->")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lab", LABS)
def test_a_figure_follows_its_mark_with_words_for_those_who_can_not_see_it(lab, language):
    lines = read(lab, language).splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("<!-- figure:")]
    assert at
    for i in at:
        name = MARK.fullmatch(lines[i])[2]
        alt = re.fullmatch(rf"!\[(.+)\]\(figures/{name}\.svg\)", lines[i + 1])
        assert len(alt[1]) > 80
    assert sum(line.startswith("![") for line in lines) == len(at)


@pytest.mark.parametrize("lab", LABS)
def test_every_placeholder_is_known_and_every_figure_is_used(lab, request):
    term, own = read_term(), own_figures(lab, request)
    hidden = importlib.import_module(f"autograder.checks.{lab}.hidden")
    parts = {f"points_{c.part}" for c in [*public_checks(lab), *checks_of(hidden, "hidden")]}
    used = set(FIGURE.findall(read(lab)))
    assert used <= OF_THE_BUILD | parts | set(own) | set(term.figures(lab)) | set(
        term.tables["term"])
    assert set(own) <= used
    assert parts | {"handed_in_by", "points", "public_points"} <= used


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lab", LABS)
def test_formulas_render_on_github_and_in_a_notebook(lab, language):
    text = CODE.sub("code", prose(read(lab, language)))
    for formula in INLINE.finditer(text):
        before, after = text[formula.start() - 1], text[formula.end()]
        assert before in "\n (", formula[0]
        assert not after.isalnum(), formula[0]
        assert formula[1] == formula[1].strip()
    for formula in [*DISPLAY.findall(text), *INLINE.findall(text)]:
        assert not set(formula) & set("|*<") and "\\\\" not in formula
    assert text.count("$") % 2 == 0


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lab", LABS)
def test_no_line_of_a_solution_stands_in_a_handout(lab, language):
    text = "".join(read(lab, language).split())
    for file, source in read_solution(lab).sources.items():
        for region in regions(source):
            for line in region:
                dense = "".join(line.split())
                assert len(dense) < 12 or dense not in text, f"{file}: {line}"


# --- numbers that are counted by hand ------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lab", LABS)
def test_sums_and_products_in_tables_are_right(lab, language):
    for rows in tables(read(lab, language)):
        for row in rows:
            for cell in row:
                if found := SUM.search(cell):
                    assert eval(found[1].replace("×", "*")) == float(found[2]), cell
        if rows[-1][0].startswith("**"):
            for column in range(1, len(rows[0])):
                numbers = [number_of(row[column]) for row in rows[1:]]
                if numbers[-1] is not None:
                    assert sum(n or 0 for n in numbers[:-1]) == pytest.approx(numbers[-1])


@pytest.fixture(scope="module")
def small():
    """Q, K, V and dO of the example in the handout: 4 x 6, d = 3, dv = 2."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape) for shape in ((4, 3), (6, 3), (6, 2), (4, 2))]


@pytest.mark.parametrize("order", ["fa1", "fa2"])
def test_the_forward_traffic_counted_by_hand_is_the_solutions(attention, small, order):
    io = attention.flash_fwd(*small[:3], 2, 4, causal=True, order=order)[2]
    total = table_of("flash_attention", f'`"{order}"`')[f"{order} in all"]
    assert total == [io.read, io.write, io.flops]


def test_the_backward_traffic_counted_by_hand_is_the_solutions(attention, small):
    Q, K, V, dO = small
    O, L, _ = attention.flash_fwd(Q, K, V, 2, 4, causal=True)
    io = attention.flash_bwd(Q, K, V, O, dO, L, 2, 4, causal=True)[3]
    assert table_of("flash_attention", "`flash_bwd`")["bwd in all"] == [io.read, io.write, io.flops]


def test_the_standard_traffic_of_the_example_is_what_standard_attention_counts(attention, small):
    io = attention.standard_attention(*small[:3], causal=True)[2]
    assert f"moves {io.read} + {io.write} here" in read("flash_attention")


def test_standard_attention_moves_what_the_handout_says(attention, request):
    N, d = 13, 5
    X = np.ones((N, d))
    term = {"N": N, "d": d}
    module = importlib.import_module("autograder.checks.flash_attention.figures")
    figures = module.figures(lab_of("flash_attention", request), term)
    assert int(figures["standard_total"]) == attention.standard_attention(X, X, X)[2].total


def test_the_causal_masks_in_the_pictures_are_aligned_at_the_bottom_right():
    shapes = []
    for fence in FENCE.findall(read("flash_attention")):
        rows = re.findall(r"^query \d +([x. |]+?)(?: {4,}\w.*)?$", fence, re.MULTILINE)
        seen = [[mark == "x" for mark in row if mark in "x."] for row in rows]
        if seen:
            N, Nk = len(seen), len(seen[0])
            shapes.append((N, Nk))
            assert seen == [[j <= Nk - N + i for j in range(Nk)] for i in range(N)]
    assert shapes == [(2, 5), (5, 2), (4, 6)]


def test_the_states_merged_by_hand_are_the_solutions(attention):
    left, right = ([0, np.log(2)], [[3], [0]]), ([np.log(3), 0], [[4], [0]])
    a, b = attention.partial_state(*left), attention.partial_state(*right)
    for state, expected in ((a, (np.log(2), 3 / 2, 3 / 2)), (b, (np.log(3), 4 / 3, 4)),
                            (attention.merge_states(a, b), (np.log(3), 7 / 3, 5))):
        assert [float(np.squeeze(part)) for part in state] == pytest.approx(expected)
    assert r"(\log 2, 3/2, 3/2)" in read("flash_attention")
    assert r"(\log 3, 4/3, 4)" in read("flash_attention")


def test_the_parts_combined_by_hand_are_the_solutions(decoding):
    K, V = np.log([[1], [2], [3], [1]]), np.array([[3], [0], [4], [0]])
    o, lse, parts = decoding.split_kv_decode([[1.0]], K, V, 2, scale=1)
    assert (float(o[0, 0]), float(lse[0])) == pytest.approx((15 / 7, np.log(7)))
    assert [float(part[0, 0]) for part, _ in parts] == pytest.approx([1, 3])


def test_the_times_counted_by_hand_are_the_solutions(decoding):
    toy = decoding.DecodeGPU("toy", 4, 160e12, 400e9, tc_eff=0.5, sm_bw_cap=150e9, launch=5e-6)
    shape = (1, 4, 1, 10000, 100)
    rows = table_of("flash_decoding", "method")
    for name, (ctas, waves, megabytes, gigabytes_a_second, *times, kernels, t) in rows.items():
        splits = int((re.findall(r"\d+ split", name) or ["1 split"])[0].split()[0])
        time = decoding.decode_attention_time(*shape, name[:2].replace("fa", "fa2"), toy, splits)
        assert (ctas, waves) == (time["ctas"], time["waves"])
        assert megabytes == 2 * 10000 / splits * 100 * 2 / 1e6
        assert gigabytes_a_second * 1e9 == pytest.approx(1e6 * megabytes / time["t_mem"])
        for shown, key in zip([*times, t], ("t_mem", "t_comp", "t"), strict=True):
            assert shown == pytest.approx(1e6 * time[key], abs=0.05)
        assert kernels == (2 if splits > 1 else 1)
    assert decoding.best_splits(*shape, toy)[0] == 4


def test_the_timelines_counted_by_hand_are_the_solutions(megakernel):
    p = megakernel.TimelineParams(
        n_sm=4, hbm=100e9, eff=0.8, launch=2e-6, ramp=1e-6, small=3e-6, sync=1e-6,
        instr_overhead=0.5e-6, smem_buf=16000)
    ops = [megakernel.Op(*op) for op in (("qkv", 800_000, 4), ("norm", 0, 0), ("down", 480_000, 6))]

    kernels = megakernel.timeline(ops, "kernels", p)
    names = ("launch", "small_kernels", "ramp", None, "weights", "bandwidth_loss", "tail")
    total = table_of("megakernel", '`"kernels"`')["kernels in all"]
    for shown, name in zip(total, names, strict=False):
        assert name is None or shown == pytest.approx(1e6 * kernels["parts"][name])
    assert total[-1] == pytest.approx(1e6 * kernels["t"])

    rows = table_of("megakernel", '`"megakernel"`')
    for i, op in enumerate(ops, 1):
        done = 1e6 * megakernel.timeline(ops[:i], "megakernel", p)["t"]
        assert rows[op.name][-1] == pytest.approx(done)
        assert rows[op.name][-2] == pytest.approx(done - 0.5)
        assert rows[op.name][0] == op.bytes / 4 / 1000
    mega = megakernel.timeline(ops, "megakernel", p)
    parts = [1e6 * mega["parts"][name] for name in ("weights", "bandwidth_loss", "sync_overhead")]
    assert parts == pytest.approx([12.8, 3.2, 2.9])
    assert [round(100 * time["bw_util"]) for time in (kernels, mega)] == [44, 68]


# --- how to work ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench():
    """Workers for the solutions and for mistakes in them."""
    with Bench() as bench:
        yield bench


@pytest.mark.parametrize("lab", LABS)
def test_the_message_in_the_handout_is_what_a_known_mistake_gets(lab, bench):
    shown = next(f for f in FENCE.findall(read(lab)) if "rerun" in f).strip("`\n")
    hint = re.search(r"hint +(.+)", shown)[1]
    solution = read_solution(lab)
    mistake = next(m for m in read_mistakes(solution) if " ".join(m.hint.split()) == hint)
    check = next(c for c in public_checks(lab) if c.id == shown.split()[-1])
    reference = importlib.import_module(f"autograder.checks.{lab}.reference")
    named = reference.public(call, read_term().figures(lab))
    with bench.lab(solution.sources, solution.names) as right:
        cases = {name: list(zip(calls, right.run_all(calls), strict=True))
                 for name, calls in named.items()}
    with bench.lab(mistaken(solution, mistake), solution.names) as wrong:
        result = Judge(wrong, lambda _: Frozen({"cases": cases}), 0).judge(check)
    result = replace(result, lines=(*result.lines, ("hint", hint)))
    assert shown == "\n".join([head(result), *body(result, rerun=True)])


@pytest.mark.parametrize("lab", LABS)
def test_the_word_that_picks_checks_picks_some_but_not_all(lab):
    word = re.search(r"^python -m pytest -k (\w+)$", read(lab), re.MULTILINE)[1]
    picked = [check for check in public_checks(lab) if word in check.function.__name__]
    assert 1 < len(picked) < len(public_checks(lab))
    assert word not in f"autograder/checks/{lab}/public.py"  # pytest looks there too


@pytest.mark.parametrize("lab", LABS)
def test_the_files_to_hand_in_are_those_that_students_fill_in(lab):
    for language in LANGUAGES:
        part = next(p for p in sections(read(lab, language)) if "Gradescope" in p)
        assert {f"`{file}`" for file in [*read_solution(lab).students, "answers.toml"]} <= set(
            re.findall(r"`[a-z_]+\.(?:py|toml)`", part))
