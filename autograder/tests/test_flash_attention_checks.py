"""
What keeps the checks of flash_attention strong: the oracle, the shapes, the draws, and that no
check is idle.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from autograder.checks import oracle
from autograder.checks.flash_attention import hidden, public, reference
from autograder.checks.flash_attention.public import Case
from autograder.kit.arrays import expect_array
from autograder.kit.check import checks_of
from autograder.kit.frozen import Frozen
from autograder.kit.run import PASSED, Judge
from release.freeze import Bench, mistaken, read_mistakes
from release.solution import read_solution

ROOT = Path(__file__).resolve().parents[2]
CHECKS = checks_of(public) + checks_of(hidden, "hidden", start=100)
SOLUTION = read_solution("flash_attention")
MISTAKES = {mistake.id: mistake for mistake in read_mistakes(SOLUTION)}
SEEDS = range(200)


# --- the oracle -----------------------------------------------------------------------------------


def golden() -> list[dict]:
    path = ROOT / "solutions" / "tests" / "golden" / "attention.json"
    return json.loads(path.read_text(encoding="utf-8"))


def floats(x) -> np.ndarray:
    """Nested lists of numbers, in which "-inf" may stand for one."""
    return np.array(x, dtype=object).astype(float)


@pytest.mark.parametrize("case", golden())
def test_the_oracle_gives_the_golden_numbers(case):
    given = case["in"]
    Q, K, V, dO = (floats(given[name]) for name in ("Q", "K", "V", "dO"))
    settings = {"causal": given["causal"], "scale": given["scale"]}
    sizes = {"N": len(Q), "Nk": len(K), "d": Q.shape[1], "dv": V.shape[1],
             "Br": given["Br"], "Bc": given["Bc"]}
    right = oracle.attention(Q, K, V, **settings)
    slopes = oracle.gradients(Q, K, V, dO, **settings)
    for kind in ("fa1", "fa2", "bwd"):
        counts = oracle.counts(kind, **sizes, causal=given["causal"])
        assert counts == {name: case[kind]["io"][name] for name in counts}
    for name in ("O", "L"):
        expect_array(getattr(right, name), floats(case["fa2"][name]), name, right.score)
    for name in ("dQ", "dK", "dV"):
        expect_array(getattr(slopes, name), floats(case["bwd"][name]), name, right.score)


def test_the_oracle_knows_rows_that_see_nothing():
    right = oracle.attention(*(np.ones((n, 2)) for n in (5, 3, 3)), causal=True)
    assert np.isneginf(right.L).tolist() == [True, True, False, False, False]
    assert not right.O[:2].any() and right.O[2:].all()
    assert oracle.state(np.full((2, 3), -np.inf), np.ones((3, 1))).l.tolist() == [0.0, 0.0]


# --- shapes and draws -----------------------------------------------------------------------------


def by_one_key(case: Case) -> set[str]:
    """Whether the causal case has a tile that is live, or dead, by a single key."""
    N, Nk, _, _, Br, Bc = case.sizes.values()
    ends = {Nk - N + min(i0 + Br, N) - 1 for i0 in range(0, N, Br)}  # where the last queries stand
    starts = set(range(0, Nk, Bc))
    return {fate for fate, by in (("live", 0), ("dead", 1)) if {e + by for e in ends} & starts}


def test_public_causal_shapes_have_tiles_that_live_or_die_by_one_key():
    found = [by_one_key(case) for case in public.causal_cases(public.CACHED)]
    assert {"live", "dead"} <= set.union(*found)


def test_primes_are_different_primes():
    N, Nk, d, dv, Br, Bc = public.PRIMES
    sizes = [*public.PRIMES, -(-N // Br), -(-Nk // Bc)]
    assert len(set(sizes)) == 8
    assert all(n % k for n in sizes for k in range(2, n))


@pytest.mark.parametrize("by, fate", [(0, "live"), (1, "dead")])
def test_drawn_causal_cases_have_a_tile_that_lives_or_dies_by_one_key(by, fate):
    for seed in SEEDS:
        case = hidden.drawn_by_a_key(np.random.default_rng(seed), by)
        assert fate in by_one_key(case) and case.sizes["Nk"] >= case.sizes["N"]


def test_drawn_blocks_divide_neither_queries_nor_keys_and_d_is_not_dv():
    for seed in SEEDS:
        N, Nk, d, dv, Br, Bc = hidden.drawn(np.random.default_rng(seed)).sizes.values()
        assert N % Br and Nk % Bc and d != dv


def test_dead_tiles_are_dead_and_occur_in_every_causal_case_that_has_some():
    cases = public.causal_cases(public.CACHED + public.NOTHING_SEEN)
    tiles = list(public.dead_tiles(cases))
    assert {case for case, _, _ in tiles} == set(cases[:3] + cases[4:])  # all but the one query
    for case, n, j0 in tiles:
        live = oracle.live_tiles(*(case.sizes[s] for s in ("N", "Nk", "Br", "Bc")), causal=True)
        assert n > 0
        assert not any(q.start < n and k.start >= j0 for q, k in live)


# --- the checks as a whole ------------------------------------------------------------------------


def test_a_checks_name_is_its_sentence():
    for check in CHECKS:
        sentence = check.sentence.replace("-inf", "minus inf").lower()
        assert check.id == re.sub(r"[^a-z0-9]+", "_", sentence).strip("_")


def test_points_are_those_of_the_lab_and_three_in_five_are_public():
    points: dict[str, float] = {}
    for check in CHECKS:
        points[check.part] = points.get(check.part, 0) + check.points
    assert points == {"merge_states": 10, "flash_fwd_fa1": 14, "flash_fwd_fa2": 14,
                      "flash_bwd": 16, "questions": 6}
    assert sum(c.points for c in CHECKS if not c.hidden) == 36


@pytest.fixture(scope="module")
def bench():
    with Bench() as bench:
        yield bench


def failing(bench, sources, part: str, free: bool = True) -> set[str]:
    """The checks of the part that the sources do not pass; `free` judges each on its own."""
    frozen = Frozen({"cases": {}, "answers": {}})
    checks = [dataclasses.replace(c, after=None) if free else c for c in CHECKS if c.part == part]
    with bench.lab(sources, SOLUTION.names) as lab:
        judge = Judge(lab, lambda check: frozen, 0)
        results = [judge.judge(check) for check in checks]
    assert "grader error" not in {result.status for result in results}
    return {result.check.id for result in results if result.outcome != PASSED}


LAZY = {
    "zeros": ("return np.zeros((len(Q), V.shape[1])), np.zeros(len(Q)), IO()",
              "return np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V), IO()",
              "return np.zeros_like(ma), np.zeros_like(la), oa if oa is None else 0 * oa"),
    "what came in": ("return Q, Q[:, 0], IO()", "return Q, K, V, IO()", "return a"),
    "nothing": ("return None",) * 3,
}


@pytest.mark.parametrize("kind", LAZY)
def test_a_function_that_does_no_work_gets_no_points(bench, kind):
    fwd, bwd, merge = LAZY[kind]
    sources = dict(SOLUTION.sources)
    for file, line in (("flash_forward.py", fwd), ("flash_backward.py", bwd),
                       ("online_softmax.py", merge)):
        sources[file] = re.sub(r"( +)(# BEGIN SOLUTION.*)", rf"\1\2\n\1{line}", sources[file])
    for part in ("merge_states", "flash_fwd_fa1", "flash_fwd_fa2", "flash_bwd"):
        every = {check.id for check in CHECKS if check.part == part}
        passed = every - failing(bench, sources, part, free=False)
        assert passed == set()


def test_every_part_has_its_own_diagnostic_requests():
    from autograder.kit.calls import call

    parts = {mistake.part for mistake in MISTAKES.values()}
    assert parts == set(reference.diagnostics(call))


# Take a check away and a known mistake gets by that only this check sees; or take it away with its
# TWIN, which repeats it on inputs that students have not seen or, for inputs that are overwritten,
# gives read-only ones. The other checks are the ground that these stand on (outputs, gradients and
# counters as such) or look once more at all of it in a setting of its own (extreme scores, one
# query, any layout): what they catch shows in several.
TWIN = {
    **{f"{o}_leaves_its_inputs_unchanged": f"{o}_takes_every_floating_type_and_memory_layout"
       for o in ("fa1", "fa2", "flash_bwd")},
    "merging_leaves_its_inputs_unchanged":
        "merge_states_takes_every_floating_type_and_memory_layout",
    "merging_takes_any_number_of_leading_axes":
        "merge_states_gives_the_right_state_on_inputs_that_you_have_not_seen",
    **{f"{o}_{public_}": f"{o}_{hidden_}" for o in ("fa1", "fa2", "flash_bwd")
       for public_, hidden_ in (
           ("does_not_count_dead_tiles", "counts_right_on_shapes_that_you_have_not_seen"),
           ("holds_nothing_as_large_as_the_scores",
            "holds_nothing_as_large_as_the_scores_at_any_size"))},
    **{f"{o}_{public_}": f"{o}_gives_the_right_log_sum_exp_on_inputs_that_you_have_not_seen"
       for o in ("fa1", "fa2")
       for public_ in ("gives_the_natural_log_sum_exp_of_each_row",
                       "gives_o_0_and_l_minus_inf_to_queries_that_see_no_key")},
    "flash_bwd_uses_the_scale_that_it_is_given_0_too":
        "flash_bwd_gives_the_right_causal_gradients_on_inputs_that_you_have_not_seen",
}
WITNESS = {
    "merging_without_outputs_gives_a_state_without_one": "merge_o_none_forgotten",
    "merging_leaves_its_inputs_unchanged": "merge_l_overwritten",
    **{f"{o}_leaves_its_inputs_unchanged": f"{short}_inputs_scaled_in_place"
       for o, short in (("fa1", "fa1"), ("fa2", "fa2"), ("flash_bwd", "bwd"))},
    "merging_takes_any_number_of_leading_axes": "merge_rows_only",
    **{f"{o}_{check}": f"{o}_{mistake}" for o in ("fa1", "fa2") for check, mistake in (
        ("gives_the_natural_log_sum_exp_of_each_row", "l_in_base_2"),
        ("gives_o_0_and_l_minus_inf_to_queries_that_see_no_key",
         "rows_without_keys_get_an_l_of_0"),
        ("does_not_count_dead_tiles", "dead_tiles_counted"),
        ("never_looks_into_dead_tiles", "dead_tiles_masked_but_read"),
        ("holds_nothing_as_large_as_the_scores", "every_tile_kept"),
        ("keeps_nothing_from_one_call_to_the_next", "result_buffer_shared"))},
    "fa2_is_the_default_order": "fa2_is_not_the_default",
    "flash_bwd_does_not_count_dead_tiles": "bwd_dead_tiles_counted",
    "flash_bwd_never_looks_into_dead_tiles": "bwd_dead_tiles_masked_but_read",
    "flash_bwd_uses_the_scale_that_it_is_given_0_too": "bwd_scale_0_taken_for_not_given",
    "flash_bwd_holds_nothing_as_large_as_the_scores": "bwd_every_tile_kept",
    "flash_bwd_keeps_nothing_from_one_call_to_the_next": "bwd_result_buffer_shared",
    "flash_bwd_gives_the_right_causal_gradients_on_inputs_that_you_have_not_seen":
        "bwd_masked_with_minus_1000",
}


@pytest.mark.parametrize("check", WITNESS)
def test_without_the_check_a_known_mistake_gets_by(bench, check):
    mistake = MISTAKES[WITNESS[check]]
    caught = failing(bench, mistaken(SOLUTION, mistake), mistake.part)
    assert caught == {check, TWIN.get(check, check)}
