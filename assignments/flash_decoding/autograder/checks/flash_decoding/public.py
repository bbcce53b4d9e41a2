"""
Public checks of flash_decoding: they go to students as they are.

Outputs are compared with dense attention. Where the keys are cut is the student's choice: the cut
is found from the parts themselves. The time model is compared with values frozen from the
solution; best_splits with what the student's own decode_attention_time says.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from autograder.checks import oracle
from autograder.kit.arrays import expect_array, expect_shape, tolerance
from autograder.kit.calls import Call, Name, call
from autograder.kit.check import Failed, check
from autograder.kit.expect import (
    as_number,
    expect_at_most,
    expect_equal,
    expect_fields,
    expect_keys,
    expect_sequence,
    fail,
    kind,
)
from autograder.kit.frozen import answered

# R, S, d, dv, n_splits: dv differs from d; the splits divide S in the first shape only.
SHAPES = [(4, 12, 5, 3, 4), (3, 23, 2, 6, 6), (2, 7, 4, 5, 3)]
# More splits than keys, one key, as many splits as keys, one split fewer, one split.
FEW_KEYS = [(2, 3, 4, 3, 8), (3, 1, 2, 5, 4), (4, 6, 3, 2, 6), (2, 9, 3, 4, 8), (3, 8, 5, 2, 1)]
# One query head; values of one element; heads of one element; all of these.
ONE = [(1, 11, 3, 4, 3), (2, 10, 4, 1, 4), (3, 9, 1, 2, 2), (1, 5, 1, 1, 2)]
# Splits that divide nothing, so that a remainder has to go somewhere.
REMAINDERS = [(2, 7, 3, 2, 2), (2, 31, 3, 2, 16), (2, 17, 3, 2, 16), (2, 29, 3, 2, 10),
              (2, 40, 3, 2, 30)]
SCALES = [0.0, -0.7, 1.9]
# lift, slope: rows whose scores all lie far up or down; rows that see one end of the keys only.
EXTREMES = [(3000.0, 0.0), (0.0, 3000.0)]
LARGE = (64, 2048, 4, 4, 16)  # of the memory rule
WARM_UP = (8, 64, 4, 4, 4)
WINDOW = 64  # keys of a part that are tried at least, to find the cut

SIZES = ("ctas", "waves", "util")
CTA_TIMES = ("t_comp", "t_mem")


# --- split_kv_decode ------------------------------------------------------------------------------


class Case:
    """
    Inputs of one call of split_kv_decode, normally distributed, and the right values.

    Args:
        R, S, d, dv, n_splits: sizes
        scale: as the function takes it
        lift: added to K, which moves all scores of a row up or down together
        slope: added to K at the last key, taken from it at the first, so that some rows see the
            first keys only and the others the last
        rng: random numbers; the same ones every time when None
    """

    def __init__(self, R, S, d, dv, n_splits, scale=None, lift=0.0, slope=0.0, rng=None):
        rng = rng or np.random.default_rng(R + S)
        q, K, V = (rng.normal(size=shape) for shape in ((R, d), (S, d), (S, dv)))
        self.x = q, K + lift + slope * np.linspace(-1, 1, S)[:, None], V
        self.n_splits, self.scale = n_splits, scale
        self.R, self.S = R, S
        self.known = {}  # what has been worked out of parts of the keys

    def giving(self, change: Callable) -> Case:
        """The case with change(x) for each of q, K and V."""
        other = copy(self)
        other.x, other.known = tuple(map(change, self.x)), {}
        return other

    def call(self, lab) -> Call:
        """The call."""
        return lab.call.split_kv_decode(*self.x, self.n_splits, scale=self.scale)

    @cached_property
    def right(self) -> oracle.Attention:
        """The right o and lse, and the largest |score|."""
        return self.over(0, self.S)

    def over(self, start: int, stop: int) -> oracle.Attention:
        """Attention over some of the keys."""
        if (start, stop) not in self.known:
            q, K, V = self.x
            keys = slice(start, stop)
            self.known[start, stop] = oracle.attention(q, K[keys], V[keys], scale=self.scale)
        return self.known[start, stop]

    def lse_from(self, start: int) -> np.ndarray:
        """[R, n]: the log-sum-exp of the keys from `start` to each of the next n ones."""
        if start not in self.known:
            q, K, _ = (x.astype(np.float64) for x in self.x)
            scale = q.shape[1] ** -0.5 if self.scale is None else self.scale
            stop = start + max(WINDOW, self.longest)
            self.known[start] = np.logaddexp.accumulate(scale * (q @ K[start:stop].T), axis=1)
        return self.known[start]

    @property
    def most(self) -> int:
        """The most parts that there may be."""
        return min(self.n_splits, self.S)

    @property
    def longest(self) -> int:
        """The most keys that a part may have."""
        return 2 * -(-self.S // self.n_splits)


@cache
def fixed(*sizes, **settings) -> Case:
    """The case of these sizes and settings, one for all checks: the right values are worked out
    once."""
    return Case(*sizes, **settings)


def decoded(lab, case: Case):
    """(o, lse, parts) of the student's split_kv_decode."""
    return expect_sequence(lab.run(case.call(lab)), 3, "split_kv_decode(...)")


def expect_o(case: Case, o):
    """The right output."""
    expect_array(o, case.right.O, "o", case.right.score)


def expect_lse(case: Case, lse):
    """The right log-sum-exp."""
    expect_array(lse, case.right.L, "lse", case.right.score)


def expect_parts(case: Case, parts) -> list[int]:
    """
    Parts that are attention over their own keys, one after the other up to the last key.

    Returns:
        the key at which each part starts, and S; of several such cuts the most even one
    """
    cuts = {0: [0]}  # the key up to which the parts go: a way to cut the keys before it
    for index, part in enumerate(_pairs(parts)):
        o, lse = expect_sequence(part, 2, f"parts[{index}]")
        expect_shape(o, case.right.O.shape, f"parts[{index}][0]")
        expect_shape(lse, case.right.L.shape, f"parts[{index}][1]")
        fitting: dict[int, list[int]] = {}
        for start, cut in cuts.items():
            for stop in _stops(case, start, o, lse):
                fitting[stop] = min([*cut, stop], fitting.get(stop, [*cut, stop]), key=_longest)
        if not fitting:
            _expect_closest(case, max(cuts), o, lse, index)
        cuts = fitting
    if case.S not in cuts:
        fail("last key of the last part", case.S - 1, max(cuts) - 1)
    return cuts[case.S]


def expect_cut(case: Case, parts):
    """As many parts, and parts as long, as n_splits allows."""
    least = min(2, case.most)
    if not least <= len(_pairs(parts)) <= case.most:
        fail("number of parts", f"{least} to {case.most}", len(parts))
    cut = expect_parts(case, parts)
    for index, (start, stop) in enumerate(zip(cut, cut[1:], strict=False)):
        expect_at_most(stop - start, case.longest, f"keys of parts[{index}]",
                       "2 * ceil(S / n_splits)")


def expect_little_memory(lab, case: Case):
    """What the call returns, once it is known to have held nothing as large as all scores."""
    limit = 0.75 * case.R * case.S * 8
    result, peak = lab.peak_memory(case.call(lab), fixed(*WARM_UP).call(lab), limit)
    expect_at_most(peak, limit, "bytes of extra memory", "0.75 * R * S * 8")
    return expect_sequence(result, 3, "split_kv_decode(...)")


def _pairs(parts):
    if not isinstance(parts, (list, tuple)) or not parts:
        raise Failed(("expected", "parts is a list of (o_s, lse_s)"),
                     ("got", f"parts is {kind(parts)}"))
    return parts


def _stops(case: Case, start: int, o, lse) -> list[int]:
    """The keys before which a part may end that starts at `start`; none when none fits."""
    if start == case.S:
        return []
    right = case.lse_from(start)
    room = _room(case, right, axis=0)
    near = np.flatnonzero((np.abs(right - lse[:, None]) <= room).all(axis=0))
    outputs = {start + n + 1: case.over(start, start + n + 1).O for n in near.tolist()}
    return [stop for stop, right in outputs.items()
            if (np.abs(right - o) <= _room(case, right)).all()]


def _room(case: Case, right: np.ndarray, axis: int | None = None):
    """How far from the right values others may lie."""
    return tolerance(case.right.score) * np.maximum(1.0, np.abs(right).max(axis=axis))


def _longest(cut: list[int]) -> int:
    return max(stop - start for start, stop in zip(cut, cut[1:], strict=False))


def _expect_closest(case: Case, start: int, o, lse, index: int):
    """Fail with how the part differs from attention over the keys that it looks most like."""
    if start == case.S:
        fail("number of parts", f"{index}, which hold all {case.S} keys", "more")
    off = np.abs(case.lse_from(start) - lse[:, None]).max(axis=0)
    keys = range(start, start + len(off))
    off = np.fmin(off, [np.abs(case.over(start, key + 1).O - o).max() for key in keys])
    stop = start + 1 + int(np.argmin(np.where(np.isnan(off), np.inf, off)))
    right, part = case.over(start, stop), f"parts[{index}], keys {start} to {stop - 1}: "
    expect_array(lse, right.L, f"{part}lse_s", case.right.score)
    expect_array(o, right.O, f"{part}o_s", case.right.score)


@check(points=1.5, part="split_kv_decode")
def test_o_is_attention_over_all_keys(lab):
    """o is attention over all keys"""
    for shape in SHAPES:
        o, _, _ = decoded(lab, case := fixed(*shape))
        expect_o(case, o)


@check(points=1, part="split_kv_decode")
def test_lse_is_the_natural_log_sum_exp_of_all_scores(lab):
    """lse is the natural log-sum-exp of all scores"""
    for lift, slope in ((0.0, 0.0), *EXTREMES):
        _, lse, _ = decoded(lab, case := fixed(*SHAPES[1], lift=lift, slope=slope))
        expect_lse(case, lse)


@check(points=1.5, part="split_kv_decode")
def test_each_part_is_attention_over_its_own_keys(lab):
    """each part is attention over its own keys, normalised within them"""
    for shape in SHAPES:
        _, _, parts = decoded(lab, case := fixed(*shape))
        expect_parts(case, parts)


@check(points=0.5, part="split_kv_decode", after=test_each_part_is_attention_over_its_own_keys)
def test_the_parts_are_as_many_and_as_long_as_n_splits_allows(lab):
    """the parts are as many and as long as n_splits allows"""
    for shape in SHAPES + REMAINDERS:
        _, _, parts = decoded(lab, case := fixed(*shape))
        expect_cut(case, parts)


@check(points=0.5, part="split_kv_decode", after=test_o_is_attention_over_all_keys)
def test_few_keys_make_few_parts_and_one_split_makes_one(lab):
    """few keys make few parts, and one split makes one"""
    for shape in FEW_KEYS:
        o, _, parts = decoded(lab, case := fixed(*shape))
        expect_o(case, o)
        expect_cut(case, parts)


@check(points=0.5, part="split_kv_decode", after=test_o_is_attention_over_all_keys)
def test_scores_whose_exp_overflows_or_vanishes_are_taken_like_others(lab):
    """scores whose exp overflows or vanishes are taken like others"""
    for lift, slope in EXTREMES:
        o, _, _ = decoded(lab, case := fixed(*SHAPES[0], lift=lift, slope=slope))
        expect_o(case, o)


@check(points=0.5, part="split_kv_decode", after=test_o_is_attention_over_all_keys)
def test_the_scale_that_is_given_is_used_0_too(lab):
    """the scale that is given is used, 0 too"""
    for scale in SCALES:
        o, _, _ = decoded(lab, case := fixed(*SHAPES[0], scale=scale))
        expect_o(case, o)


@check(points=0.5, part="split_kv_decode", after=test_o_is_attention_over_all_keys)
def test_one_query_head_and_heads_of_one_element_are_no_special_case(lab):
    """one query head, and heads of one element, are no special case"""
    for shape in ONE:
        o, _, _ = decoded(lab, case := fixed(*shape))
        expect_o(case, o)


@check(points=0.5, part="split_kv_decode", after=test_o_is_attention_over_all_keys)
def test_split_kv_decode_holds_nothing_as_large_as_all_scores(lab):
    """split_kv_decode holds nothing as large as all scores"""
    o, _, _ = expect_little_memory(lab, case := fixed(*LARGE))
    expect_o(case, o)


# --- decode_attention_time ------------------------------------------------------------------------


def expect_times(lab, cases, names):
    """The frozen entries under these names."""
    for case, got in answered(lab, cases):
        expect_fields(got, case.value, names, "decode_attention_time(...)")


@check(points=0.5, part="decode_attention_time")
def test_fa2_has_a_cta_for_each_query_head(lab, frozen):
    """"fa2" has a CTA for each query head of each sequence"""
    expect_times(lab, frozen.cases("fa2"), SIZES)


@check(points=0.5, part="decode_attention_time")
def test_fd_has_a_cta_for_each_split_of_each_kv_head(lab, frozen):
    """"fd" has a CTA for each split of each KV head of each sequence"""
    expect_times(lab, frozen.cases("fd"), SIZES)


@check(points=0.5, part="decode_attention_time", after=test_fa2_has_a_cta_for_each_query_head)
def test_a_cta_of_fa2_computes_and_reads_as_fast_as_its_sm(lab, frozen):
    """a CTA of "fa2" computes and reads as fast as its SM can"""
    expect_times(lab, frozen.cases("fa2"), CTA_TIMES)


@check(points=0.5, part="decode_attention_time",
       after=test_fd_has_a_cta_for_each_split_of_each_kv_head)
def test_a_cta_of_fd_computes_and_reads_as_fast_as_its_sm(lab, frozen):
    """a CTA of "fd" computes and reads as fast as its SM can"""
    expect_times(lab, frozen.cases("fd"), CTA_TIMES)


@check(points=0.5, part="decode_attention_time",
       after=test_a_cta_of_fa2_computes_and_reads_as_fast_as_its_sm)
def test_fa2_takes_the_longer_time_of_each_wave_and_one_launch(lab, frozen):
    """"fa2" takes the longer of both times in each wave, and one launch"""
    expect_times(lab, frozen.cases("fa2"), ("bound", "t"))


@check(points=1, part="decode_attention_time",
       after=test_a_cta_of_fd_computes_and_reads_as_fast_as_its_sm)
def test_fd_takes_the_longer_time_of_each_wave_and_its_launches(lab, frozen):
    """"fd" takes the longer of both times in each wave, and a launch for each kernel"""
    expect_times(lab, frozen.cases("fd"), ("bound", "t"))


# --- best_splits ----------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A call of best_splits; without a gpu it is A100_DEC, without candidates the default ones."""

    shape: tuple[int, int, int, int, int]  # B, Hq, Hkv, S, d
    candidates: tuple[int, ...] | None = None
    gpu: Call | Name | None = None
    n_sm: int = 108

    def call(self, lab) -> Call:
        """The call."""
        given = {"gpu": self.gpu, "candidates": self.candidates}
        return lab.call.best_splits(
            *self.shape, **{name: value for name, value in given.items() if value is not None})

    @property
    def fitting(self) -> list[int]:
        """The candidates that take part, in ascending order."""
        B, _, Hkv, S, _ = self.shape
        most = max(1, 4 * self.n_sm // (B * Hkv))
        return sorted(n for n in self.candidates or POWERS if n <= min(S, most))


HUGE = 1e300  # seconds or anything else that is no figure of a GPU
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# SMs that draw little each, and a memory that 16 of them all but keep busy.
CARD = call.DecodeGPU("card", 40, 600e12, 1608e9, sm_bw_cap=100e9, launch=2e-6)
# The best of several; the second best is 2 % slower, or 0.5 %; many are as fast as the best.
LONG = [Choice((1, 32, 8, 65536, 128)), Choice((1, 9, 3, 50000, 96)),
        Choice((1, 8, 1, 64000, 128), gpu=CARD, n_sm=40),
        Choice((3, 24, 9, 30000, 64), candidates=(16, 4, 2, 8))]
# Faster with more splits than keys, with as many as keys, with more CTAs than may be, with exactly
# as many; 1 with more, where 2 would be faster or not.
FITTING = [Choice((1, 4, 1, 6, 65536), (1, 4, 8), CARD, 40), Choice((1, 4, 1, 16, 4096)),
           Choice((11, 40, 10, 30000, 64)), Choice((18, 32, 8, 9000, 64), (1, 2, 3)),
           Choice((7, 31, 31, 30000, 64)), Choice((80, 32, 8, 4000, 128))]


def expect_choice(lab, choice: Choice):
    """What the rule chooses among the times that the student's own decode_attention_time gives."""
    gpu = choice.gpu or call.A100_DEC
    questions = [lab.call.decode_attention_time(*choice.shape, "fd", gpu, n)
                 for n in choice.fitting]
    *times, got = lab.run_all([*questions, choice.call(lab)])
    splits, time = expect_sequence(got, 2, "best_splits(...)")
    own = {n: plain_time(time) for n, time in zip(choice.fitting, times, strict=True)}
    best = min(time["t"] for time in own.values())
    right = next(n for n in own if own[n]["t"] <= 1.01 * best)
    expect_equal(splits, right, "splits")
    expect_fields(time, own[right], list(own[right]), "best_splits(...)[1]")


def plain_time(time) -> dict[str, float | str]:
    """The numbers and texts in what decode_attention_time gave, t among them and above 0."""
    expect_keys(time, ["t"], "decode_attention_time(...)")
    t = as_number(time["t"], "t")
    if not 0 < t < HUGE:
        fail("t", "a time above 0", t)
    return {name: value for name, value in time.items() if type(value) is str
            or type(value) in (int, float) and abs(value) < HUGE} | {"t": t}


@check(points=1, part="best_splits")
def test_best_splits_chooses_the_fewest_within_1_percent_of_the_best_time(lab):
    """best_splits chooses the fewest splits within 1 % of the best time"""
    for choice in LONG:
        expect_choice(lab, choice)


@check(points=0.5, part="best_splits")
def test_best_splits_leaves_out_candidates_that_do_not_fit(lab):
    """best_splits leaves out candidates that do not fit"""
    for choice in FITTING:
        expect_choice(lab, choice)
