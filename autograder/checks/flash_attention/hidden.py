"""
Hidden checks of flash_attention: inputs drawn afresh for each submission, and the written answers.

Sentences stay neutral; the draws keep to shapes that expose mistakes.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from autograder.checks import oracle
from autograder.checks.flash_attention import public
from autograder.checks.flash_attention.public import (
    LARGE,
    Case,
    expect_gradients,
    expect_io,
    expect_L,
    expect_little_memory,
    expect_O,
    expect_state,
    run_bwd,
    run_fwd,
)
from autograder.kit.arrays import expect_array, expect_unchanged
from autograder.kit.check import check
from autograder.kit.expect import expect_sequence
from autograder.kit.questions import expect_answer

# N, Nk, d, dv, Br, Bc: one query, key or column; blocks of one; blocks larger than what they cut.
SMALLEST = [(1, 1, 1, 1, 1, 1), (1, 7, 3, 1, 2, 3), (5, 1, 1, 2, 2, 4), (4, 9, 2, 1, 1, 1),
            (5, 9, 2, 3, 1, 4), (6, 8, 3, 2, 4, 1), (3, 10, 2, 4, 16, 32), (6, 23, 4, 2, 4, 9)]


def drawn(rng, more: int | None = None, **settings) -> Case:
    """A case whose blocks divide neither N nor Nk; N is Nk + more when that is given."""
    Br, Bc = rng.integers(2, 7, 2)
    N, Nk = (size * rng.integers(1, 5) + rng.integers(1, size) for size in (Br, Bc))
    return _case(rng, N if more is None else Nk + more, Nk, Br, Bc, **settings)


def drawn_by_a_key(rng, by: int, **settings) -> Case:
    """A causal case with cached tokens, a tile of which is live (by = 0) or dead (1) by one key."""
    Br, Bc = rng.integers(2, 7, 2)
    N = Br * rng.integers(1, 4) + rng.integers(1, Br)
    first = Bc * rng.integers(-(-Br // Bc), 5)  # the key before which the first query block ends
    return _case(rng, N, N + first + 1 - by - Br, Br, Bc, causal=True, **settings)


def drawn_causal(rng) -> list[Case]:
    """Causal cases of N < Nk, N = Nk and N > Nk, with scales of either sign and of 0."""
    return [drawn_by_a_key(rng, 0), drawn_by_a_key(rng, 1, scale=0.0),
            drawn(rng, 0, causal=True, scale=-float(rng.uniform(0.3, 1.5))),
            drawn(rng, int(rng.integers(1, 9)), causal=True, scale=1.0),
            drawn_by_a_key(rng, 0, shift=-float(rng.uniform(1000, 9000)), scale=None)]


def far_down(rng) -> Case:
    """A causal case whose scores lie below any number that somebody writes for -inf."""
    return drawn_by_a_key(rng, 0, shift=-4e9, scale=None)


def _case(rng, N, Nk, Br, Bc, **settings) -> Case:
    d, dv = rng.permutation(np.arange(1, 8))[:2]
    sizes = (int(size) for size in (N, Nk, d, dv, Br, Bc))
    return Case(*sizes, **{"scale": float(rng.uniform(0.3, 1.5)), "rng": rng} | settings)


def smallest(rng) -> list[Case]:
    """The smallest cases, without a mask and with one, and then with a scale of its own."""
    return [Case(*sizes, causal=causal, scale=scale, rng=rng) for sizes in SMALLEST
            for causal, scale in ((False, None), (True, 0.6))]


def of_every_kind(rng, inputs: str, others: str = "") -> list[Case]:
    """Cases whose calls are given the inputs in each floating type, and all in each layout."""
    sizes = {"N": 9, "Nk": 30, "d": 3, "dv": 4, "Br": 4, "Bc": 5}
    typed = [Case(**sizes, rng=rng, dtype=dtype).giving(dtype, inputs)
             for dtype in (np.float16, np.float32)]
    laid_out = [Case(**sizes, rng=rng).giving(layout, f"{inputs} {others}") for layout in LAYOUTS]
    return typed + laid_out


def large(rng) -> Case:
    """A case for the memory rule, larger than the public ones."""
    N, Bc = (int(size) for size in (LARGE + rng.integers(48, 160), rng.integers(24, 33)))
    return Case(N, N, 4, 4, N, Bc, causal=True, rng=rng)


def reversed_rows(x: np.ndarray) -> np.ndarray:
    """The same array, its rows stored from the last to the first."""
    return x[::-1].copy()[::-1]


def with_gaps(x: np.ndarray) -> np.ndarray:
    """The same array, with other numbers between its own."""
    return np.repeat(x, 2, axis=-1)[..., ::2]


def read_only(x: np.ndarray) -> np.ndarray:
    """The same array, not to be written to."""
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = [np.asfortranarray, reversed_rows, with_gaps, read_only]


# --- merge_states ---------------------------------------------------------------------------------


def drawn_scores(rng, *leading: int, n: int):
    """(x, v): scores with masked entries and stretches that are all masked, and values."""
    x = rng.normal(size=(*leading, n)) * rng.choice([0.5, 5.0, 500.0])
    x[rng.random(x.shape) < 0.2] = -np.inf
    x[rng.random(leading) < 0.3, : n // 2] = -np.inf
    x[rng.random(leading) < 0.3, n // 2 :] = -np.inf
    return x, rng.normal(size=(n, int(rng.integers(1, 5))))


def exact_scores(rng):
    """Scores alike within each half, and values: both halves' states are exact in every type."""
    x = np.repeat(rng.integers(-4, 5, size=(6, 2)), 5, axis=-1).astype(float)
    return x, rng.integers(-9, 10, size=(10, 3)).astype(float)


def pieces(x, v, cuts):
    """The states of the scores between the cuts."""
    return [tuple(oracle.state(x[..., start:stop], v[start:stop]))
            for start, stop in zip(cuts[:-1], cuts[1:], strict=True)]


@check(points=1, part="merge_states",
       after=public.test_merging_in_either_order_gives_the_same_state)
def test_merge_states_gives_the_right_state_on_inputs_that_you_have_not_seen(lab, rng):
    """merge_states gives the right state on inputs that you have not seen"""
    nothing = np.full(10, -np.inf), rng.normal(size=(10, 3))
    others = (drawn_scores(rng, *leading, n=10) for leading in ((), (12,), (4, 5), (2, 3, 2)))
    for x, v in (nothing, *others):
        left, right = pieces(x, v, (0, 5, 10))
        expect_state(lab.merge_states(left, right), oracle.state(x, v))


@check(points=1, part="merge_states",
       after=public.test_merging_in_either_order_gives_the_same_state)
def test_merging_many_segments_in_any_grouping_gives_the_state_of_the_whole_row(lab, rng):
    """merging many segments in any grouping gives the state of the whole row"""
    x, v = drawn_scores(rng, 12, n=20)
    a, b, c, d = pieces(x, v, (0, 3, 10, 11, 20))
    merge, whole = lab.call.merge_states, oracle.state(x, v)
    expect_state(lab.run(reduce(merge, (a, b, c, d))), whole)
    expect_state(lab.run(merge(merge(a, b), merge(c, d))), whole)
    expect_state(lab.run(merge(a, merge(b, merge(c, d)))), whole)


@check(points=0.5, part="merge_states",
       after=public.test_merging_in_either_order_gives_the_same_state)
def test_merge_states_takes_every_floating_type_and_memory_layout(lab, rng):
    """merge_states takes every floating type and memory layout"""
    for change in (np.float16, np.float32, *LAYOUTS):
        x, v = exact_scores(rng)
        left, right = (tuple(map(change, part)) for part in pieces(x, v, (0, 5, 10)))
        expect_state(lab.merge_states(left, right), oracle.state(x, v))


@check(points=0.5, part="merge_states",
       after=public.test_merging_in_either_order_gives_the_same_state)
def test_merge_states_keeps_nothing_from_one_call_to_the_next(lab, rng):
    """merge_states keeps nothing from one call to the next"""
    calls, expected = [], []
    for _ in range(2):
        x, v = rng.normal(size=(6, 10)), rng.normal(size=(10, 3))
        calls.append(lab.call.merge_states(*pieces(x, v, (0, 5, 10))))
        expected.append(oracle.state(x, v))
    for got, right in zip(lab.run_all(calls), expected, strict=True):
        expect_state(got, right)


# --- flash_fwd, order "fa1" -----------------------------------------------------------------------


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_output_of_standard_attention)
def test_fa1_gives_the_right_output_on_inputs_that_you_have_not_seen(lab, rng):
    """fa1 gives the right output on inputs that you have not seen"""
    for _ in range(3):
        O, _, _ = run_fwd(lab, case := drawn(rng), "fa1")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_causal_output)
def test_fa1_gives_the_right_causal_output_on_inputs_that_you_have_not_seen(lab, rng):
    """fa1 gives the right causal output on inputs that you have not seen"""
    for case in (*drawn_causal(rng), far_down(rng)):
        O, _, _ = run_fwd(lab, case, "fa1")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_causal_output)
def test_fa1_gives_the_right_log_sum_exp_on_inputs_that_you_have_not_seen(lab, rng):
    """fa1 gives the right log-sum-exp on inputs that you have not seen"""
    alike = Case(13, 13, 3, 2, 4, 5, causal=True, scale=0.0, rng=rng)
    cases = [drawn(rng), drawn(rng), alike, *drawn_causal(rng), far_down(rng), *smallest(rng)]
    results = lab.run_all([case.fwd(lab, "fa1") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_L(case, expect_sequence(result, 3, "flash_fwd(...)")[1])


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_counts_the_elements_it_moves_and_its_flops)
def test_fa1_counts_right_on_shapes_that_you_have_not_seen(lab, rng):
    """fa1 counts right on shapes that you have not seen"""
    cases = [drawn(rng), drawn(rng), *drawn_causal(rng)]
    results = lab.run_all([case.fwd(lab, "fa1") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_io(case, expect_sequence(result, 3, "flash_fwd(...)")[2], "fa1")


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_output_of_standard_attention)
def test_fa1_takes_every_floating_type_and_memory_layout(lab, rng):
    """fa1 takes every floating type and memory layout"""
    for case in of_every_kind(rng, "Q K V"):
        O, _, _ = run_fwd(lab, case, "fa1")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_output_of_standard_attention)
def test_fa1_leaves_its_inputs_unchanged(lab, rng):
    """fa1 leaves its inputs unchanged"""
    for case in (drawn(rng), *drawn_causal(rng)):
        call = case.fwd(lab, "fa1")
        expect_unchanged(lab.arguments_after(call), call, ("Q", "K", "V"))


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_output_of_standard_attention)
def test_fa1_keeps_nothing_from_one_call_to_the_next(lab, rng):
    """fa1 keeps nothing from one call to the next"""
    cases = [Case(9, 13, 3, 4, 4, 5, rng=rng) for _ in range(2)]
    results = lab.run_all([case.fwd(lab, "fa1") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_O(case, expect_sequence(result, 3, "flash_fwd(...)")[0])


@check(points=0.5, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_causal_output)
def test_fa1_takes_one_query_one_key_and_one_column(lab, rng):
    """fa1 takes one query, one key and one column"""
    for case in smallest(rng):
        O, _, _ = run_fwd(lab, case, "fa1")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa1",
       after=public.test_fa1_gives_the_causal_output)
def test_fa1_holds_nothing_as_large_as_the_scores_at_any_size(lab, rng):
    """fa1 holds nothing as large as the scores, at any size"""
    O, _, _ = expect_little_memory(lab, case := large(rng), lambda c: c.fwd(lab, "fa1"), 3)
    expect_O(case, O)


# --- flash_fwd, order "fa2" -----------------------------------------------------------------------


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_output_of_standard_attention)
def test_fa2_gives_the_right_output_on_inputs_that_you_have_not_seen(lab, rng):
    """fa2 gives the right output on inputs that you have not seen"""
    for _ in range(3):
        O, _, _ = run_fwd(lab, case := drawn(rng), "fa2")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_causal_output)
def test_fa2_gives_the_right_causal_output_on_inputs_that_you_have_not_seen(lab, rng):
    """fa2 gives the right causal output on inputs that you have not seen"""
    for case in (*drawn_causal(rng), far_down(rng)):
        O, _, _ = run_fwd(lab, case, "fa2")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_causal_output)
def test_fa2_gives_the_right_log_sum_exp_on_inputs_that_you_have_not_seen(lab, rng):
    """fa2 gives the right log-sum-exp on inputs that you have not seen"""
    alike = Case(13, 13, 3, 2, 4, 5, causal=True, scale=0.0, rng=rng)
    cases = [drawn(rng), drawn(rng), alike, *drawn_causal(rng), far_down(rng), *smallest(rng)]
    results = lab.run_all([case.fwd(lab, "fa2") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_L(case, expect_sequence(result, 3, "flash_fwd(...)")[1])


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_counts_the_elements_it_moves_and_its_flops)
def test_fa2_counts_right_on_shapes_that_you_have_not_seen(lab, rng):
    """fa2 counts right on shapes that you have not seen"""
    cases = [drawn(rng), drawn(rng), *drawn_causal(rng)]
    results = lab.run_all([case.fwd(lab, "fa2") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_io(case, expect_sequence(result, 3, "flash_fwd(...)")[2], "fa2")


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_output_of_standard_attention)
def test_fa2_takes_every_floating_type_and_memory_layout(lab, rng):
    """fa2 takes every floating type and memory layout"""
    for case in of_every_kind(rng, "Q K V"):
        O, _, _ = run_fwd(lab, case, "fa2")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_output_of_standard_attention)
def test_fa2_leaves_its_inputs_unchanged(lab, rng):
    """fa2 leaves its inputs unchanged"""
    for case in (drawn(rng), *drawn_causal(rng)):
        call = case.fwd(lab, "fa2")
        expect_unchanged(lab.arguments_after(call), call, ("Q", "K", "V"))


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_output_of_standard_attention)
def test_fa2_keeps_nothing_from_one_call_to_the_next(lab, rng):
    """fa2 keeps nothing from one call to the next"""
    cases = [Case(9, 13, 3, 4, 4, 5, rng=rng) for _ in range(2)]
    results = lab.run_all([case.fwd(lab, "fa2") for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_O(case, expect_sequence(result, 3, "flash_fwd(...)")[0])


@check(points=0.5, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_causal_output)
def test_fa2_takes_one_query_one_key_and_one_column(lab, rng):
    """fa2 takes one query, one key and one column"""
    for case in smallest(rng):
        O, _, _ = run_fwd(lab, case, "fa2")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa2",
       after=public.test_fa2_gives_the_causal_output)
def test_fa2_holds_nothing_as_large_as_the_scores_at_any_size(lab, rng):
    """fa2 holds nothing as large as the scores, at any size"""
    O, _, _ = expect_little_memory(lab, case := large(rng), lambda c: c.fwd(lab, "fa2"), 3)
    expect_O(case, O)


# --- flash_bwd ------------------------------------------------------------------------------------


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide)
def test_flash_bwd_gives_the_right_gradients_on_inputs_that_you_have_not_seen(lab, rng):
    """flash_bwd gives the right gradients on inputs that you have not seen"""
    for _ in range(3):
        case = drawn(rng)
        expect_gradients(case, run_bwd(lab, case))


@check(points=1, part="flash_bwd", after=public.test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_gives_the_right_causal_gradients_on_inputs_that_you_have_not_seen(lab, rng):
    """flash_bwd gives the right causal gradients on inputs that you have not seen"""
    for case in drawn_causal(rng):
        expect_gradients(case, run_bwd(lab, case))
    _, _, dV, _ = run_bwd(lab, case := far_down(rng))  # there dQ and dK are mere round-off
    expect_array(dV, case.gradients.dV, "dV", case.right.score)


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_counts_the_elements_it_moves_and_its_flops)
def test_flash_bwd_counts_right_on_shapes_that_you_have_not_seen(lab, rng):
    """flash_bwd counts right on shapes that you have not seen"""
    cases = [drawn(rng), drawn(rng), *drawn_causal(rng)]
    results = lab.run_all([case.bwd(lab) for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_io(case, expect_sequence(result, 4, "flash_bwd(...)")[3], "bwd")


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide)
def test_flash_bwd_takes_every_floating_type_and_memory_layout(lab, rng):
    """flash_bwd takes every floating type and memory layout"""
    for case in of_every_kind(rng, "Q K V dO", "O L"):
        expect_gradients(case, run_bwd(lab, case))


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_gives_dq_of_standard_attention)
def test_flash_bwd_leaves_its_inputs_unchanged(lab, rng):
    """flash_bwd leaves its inputs unchanged"""
    for case in (drawn(rng), *drawn_causal(rng)):
        call = case.bwd(lab)
        expect_unchanged(lab.arguments_after(call), call, ("Q", "K", "V", "O", "dO", "L"))


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide)
def test_flash_bwd_keeps_nothing_from_one_call_to_the_next(lab, rng):
    """flash_bwd keeps nothing from one call to the next"""
    cases = [Case(9, 13, 3, 4, 4, 5, rng=rng) for _ in range(2)]
    results = lab.run_all([case.bwd(lab) for case in cases])
    for case, result in zip(cases, results, strict=True):
        expect_gradients(case, expect_sequence(result, 4, "flash_bwd(...)"))


@check(points=0.5, part="flash_bwd",
       after=public.test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_takes_one_query_one_key_and_one_column(lab, rng):
    """flash_bwd takes one query, one key and one column"""
    for case in smallest(rng):
        expect_gradients(case, run_bwd(lab, case))


@check(points=1, part="flash_bwd", after=public.test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_holds_nothing_as_large_as_the_scores_at_any_size(lab, rng):
    """flash_bwd holds nothing as large as the scores, at any size"""
    case = large(rng)
    expect_gradients(case, expect_little_memory(lab, case, lambda c: c.bwd(lab), 4))


# --- written questions ----------------------------------------------------------------------------


@check(points=1.5, part="questions")
def test_question_1_the_elements_that_fa1_moves_in_one_forward_pass(lab, frozen):
    """question 1: the elements that fa1 moves in one forward pass"""
    expect_answer(lab, frozen, "q1_fa1_elements")


@check(points=1.5, part="questions")
def test_question_1_the_elements_that_fa2_moves_in_one_forward_pass(lab, frozen):
    """question 1: the elements that fa2 moves in one forward pass"""
    expect_answer(lab, frozen, "q1_fa2_elements")


@check(points=1.5, part="questions")
def test_question_2_how_many_times_less_than_standard_attention_the_better_order_moves(lab, frozen):
    """question 2: how many times less than standard attention the better order moves"""
    expect_answer(lab, frozen, "q2_times_less")


@check(points=1.5, part="questions")
def test_question_3_the_smallest_m_at_which_fa1_moves_less_than_standard_attention(lab, frozen):
    """question 3: the smallest M at which fa1 moves less than standard attention"""
    expect_answer(lab, frozen, "q3_smallest_M")
