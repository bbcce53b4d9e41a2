"""
Hidden checks of flash_decoding: inputs drawn afresh for each submission, and many frozen cases.
"""

from __future__ import annotations

import numpy as np

from autograder.checks.flash_decoding import public
from autograder.checks.flash_decoding.public import (
    CARD,
    SHAPES,
    SIZES,
    Case,
    Choice,
    decoded,
    expect_choice,
    expect_cut,
    expect_little_memory,
    expect_lse,
    expect_o,
    expect_parts,
    expect_times,
)
from autograder.kit.arrays import expect_unchanged
from autograder.kit.calls import call
from autograder.kit.check import check
from autograder.kit.expect import expect_sequence
from autograder.kit.questions import expect_answer

ENTRIES = (*SIZES, "t_comp", "t_mem", "bound", "t")
CASES = 15  # drawn for one check
LARGE = [(64, 97), (3000, 6000), (16, 33)]  # bounds of R, S and n_splits under the memory rule
LAYOUTS = [
    np.copy,  # as it is
    np.asfortranarray,
    lambda x: x[::-1, ::-1].copy()[::-1, ::-1],  # reversed in memory
    lambda x: x.repeat(2, axis=0).repeat(3, axis=1)[::2, ::3],  # every other entry of memory
    lambda x: np.broadcast_to(x, x.shape),  # read-only
]
WIDE = call.DecodeGPU("wide", 264, 2e15, 9e12)
CHOICES = [
    Choice((1, 64, 8, 131072, 128), gpu=call.H100_DEC, n_sm=132),
    Choice((4, 32, 8, 8192, 128)),
    Choice((2, 32, 8, 65536, 128)),
    Choice((1, 8, 1, 40000, 128)),
    Choice((1, 8, 1, 100000, 128), None, WIDE, 264),
    Choice((10, 30, 30, 20000, 64), (1, 2, 3), WIDE, 264),
    Choice((11, 8, 4, 30000, 64), (1, 2, 3, 4), CARD, 40),
    Choice((20, 10, 10, 30000, 64), (1, 2, 7)),
    Choice((1, 20, 5, 40003, 128), (21, 3, 7, 1, 14, 10, 20, 11)),
    Choice((1, 128, 1, 32768, 576)),
    Choice((1, 8, 1, 100, 64)),
    Choice((2, 12, 4, 1, 64)),
    Choice((1, 6, 3, 5, 90000), (2, 5, 8), CARD, 40),
    Choice((1, 2, 1, 7, 70000), (3, 8, 1), CARD, 40),
    Choice((1, 6, 3, 9, 90000), (4, 3), CARD, 40),
    Choice((8, 28, 28, 5000, 64)),
    Choice((1, 110, 110, 30000, 64)),
    Choice((2, 10, 5, 9000, 64), (1, 3, 5, 16, 17), CARD, 40),
    Choice((9, 64, 16, 7000, 128), (1, 2, 3, 4)),
    Choice((60, 40, 10, 500, 64), (1, 2)),
    Choice((20, 10, 10, 30000, 64), (2,)),  # 1 would be better, and is no candidate
    Choice((1, 20, 5, 40000, 128), (10, 3, 20, 10, 20)),
]


def drawn(rng, more: int = 0) -> Case:
    """A small case, now and then with a scale of its own or scores far from 0; `more` splits than
    keys at most."""
    R, d, dv = rng.integers(1, 7, 3).tolist()
    S = int(rng.integers(1, 40))
    n_splits = int(rng.integers(1, S + 1 + more))
    return Case(R, S, d, dv, n_splits, scale=rng.choice([None, 0.0, -0.4, 1.3]),
                lift=rng.choice([0.0, 800.0]), slope=rng.choice([0.0, 2.0, 1500.0]), rng=rng)


def expect_all(case: Case, got):
    """The right o, lse and parts."""
    o, lse, parts = expect_sequence(got, 3, "split_kv_decode(...)")
    expect_o(case, o)
    expect_lse(case, lse)
    expect_parts(case, parts)


@check(points=0.5, part="split_kv_decode", after=public.test_o_is_attention_over_all_keys)
def test_o_is_right_for_inputs_that_you_have_not_seen(lab, rng):
    """o is right for inputs that you have not seen"""
    for case in (drawn(rng) for _ in range(CASES)):
        o, _, _ = decoded(lab, case)
        expect_o(case, o)


@check(points=0.5, part="split_kv_decode",
       after=public.test_lse_is_the_natural_log_sum_exp_of_all_scores)
def test_lse_is_right_for_inputs_that_you_have_not_seen(lab, rng):
    """lse is right for inputs that you have not seen"""
    for case in (drawn(rng) for _ in range(CASES)):
        _, lse, _ = decoded(lab, case)
        expect_lse(case, lse)


@check(points=0.5, part="split_kv_decode",
       after=public.test_the_parts_are_as_many_and_as_long_as_n_splits_allows)
def test_the_parts_are_right_for_inputs_that_you_have_not_seen(lab, rng):
    """the parts are right for inputs that you have not seen"""
    for case in (drawn(rng, more=3) for _ in range(CASES)):
        _, _, parts = decoded(lab, case)
        expect_cut(case, parts)


@check(points=0.5, part="split_kv_decode", after=public.test_o_is_attention_over_all_keys)
def test_split_kv_decode_computes_in_float64_whatever_comes_in(lab, rng):
    """split_kv_decode computes in float64, whatever floating type comes in"""
    for dtype in (np.float32, np.float16):
        case = Case(*SHAPES[1], rng=rng).giving(lambda x, dtype=dtype: x.astype(dtype))
        expect_all(case, lab.run(case.call(lab)))


@check(points=0.5, part="split_kv_decode", after=public.test_o_is_attention_over_all_keys)
def test_split_kv_decode_takes_any_layout_and_changes_neither_inputs_nor_earlier_results(lab, rng):
    """split_kv_decode takes any layout, and changes neither its inputs nor earlier results"""
    cases = [Case(*SHAPES[1], rng=rng).giving(layout) for layout in LAYOUTS]
    calls = [case.call(lab) for case in cases]
    for case, got in zip(cases, lab.run_all(calls), strict=True):
        expect_all(case, got)
    for each in calls:
        expect_unchanged(lab.arguments_after(each), each, ("q", "K", "V"))


@check(points=0.5, part="split_kv_decode",
       after=public.test_split_kv_decode_holds_nothing_as_large_as_all_scores)
def test_split_kv_decode_holds_as_little_at_other_sizes(lab, rng):
    """split_kv_decode holds as little at other sizes"""
    R, S, n_splits = (int(rng.integers(low, high)) for low, high in LARGE)
    o, lse, parts = expect_little_memory(lab, case := Case(R, S, 4, 3, n_splits, rng=rng))
    expect_o(case, o)
    expect_lse(case, lse)
    expect_cut(case, parts)


@check(points=0.5, part="decode_attention_time",
       after=public.test_fa2_takes_the_longer_time_of_each_wave_and_one_launch)
def test_the_time_of_fa2_is_right_in_cases_that_you_have_not_seen(lab, frozen):
    """the time of "fa2" is right in cases that you have not seen"""
    expect_times(lab, frozen.cases("fa2"), ENTRIES)


@check(points=0.5, part="decode_attention_time",
       after=public.test_fd_takes_the_longer_time_of_each_wave_and_its_launches)
def test_the_time_of_fd_is_right_in_cases_that_you_have_not_seen(lab, frozen):
    """the time of "fd" is right in cases that you have not seen"""
    expect_times(lab, frozen.cases("fd"), ENTRIES)


@check(points=0.5, part="decode_attention_time",
       after=public.test_fd_takes_the_longer_time_of_each_wave_and_its_launches)
def test_every_figure_of_the_gpu_plays_its_part(lab, frozen):
    """every figure of the GPU plays its part in the time"""
    expect_times(lab, frozen.cases("gpus"), ENTRIES)


@check(points=0.5, part="best_splits",
       after=public.test_best_splits_chooses_the_fewest_within_1_percent_of_the_best_time)
def test_best_splits_chooses_rightly_in_cases_that_you_have_not_seen(lab):
    """best_splits chooses rightly in cases that you have not seen"""
    for choice in CHOICES:
        expect_choice(lab, choice)


@check(points=1, part="questions")
def test_question_4_is_answered(lab, frozen):
    """question 4: the best number of splits"""
    expect_answer(lab, frozen, "q4_splits")


@check(points=1, part="questions")
def test_question_5_is_answered(lab, frozen):
    """question 5: its time in microseconds"""
    expect_answer(lab, frozen, "q5_microseconds")


@check(points=1, part="questions")
def test_question_6_is_answered(lab, frozen):
    """question 6: how many times faster than "fa2" it is"""
    expect_answer(lab, frozen, "q6_speedup")
