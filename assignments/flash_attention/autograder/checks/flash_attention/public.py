"""
Public checks of flash_attention: they go to students as they are.

A case holds the inputs of one call; the right values come from the oracle, which computes them
with the whole score matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cache, cached_property
from types import SimpleNamespace

import numpy as np

from autograder.checks import oracle
from autograder.kit.arrays import expect_array, expect_unchanged
from autograder.kit.check import check
from autograder.kit.expect import expect_at_most, expect_counts, expect_equal, expect_sequence

# N, Nk, d, dv, Br, Bc: d and dv differ. The blocks divide N and Nk; then neither of them.
EVEN = [(12, 20, 3, 5, 4, 5), (9, 8, 5, 2, 3, 4)]
SHAPES = [(13, 23, 3, 5, 4, 7), (9, 30, 5, 2, 4, 5), (17, 6, 2, 3, 7, 8)]
# All sizes and numbers of blocks are different primes: a count tells what it is made of.
PRIMES = (29, 37, 11, 17, 7, 3)
# N < Nk (tokens are cached), tiles that live or die by one key among them; N = Nk; one query.
CACHED = [(9, 30, 3, 4, 4, 5), (11, 19, 2, 3, 3, 5), (13, 13, 4, 3, 3, 5), (1, 11, 3, 2, 4, 4)]
# N > Nk: the first queries see nothing, in whole blocks and in parts of blocks.
NOTHING_SEEN = [(21, 8, 3, 2, 4, 3), (14, 9, 2, 5, 5, 4), (16, 3, 4, 3, 7, 8)]
SCALES = [0.0, -0.7, 1.9]
EXTREMES = [{"shift": -9000.0}, {"shift": 900.0}, {"spread": 1000.0}]  # exp vanishes or overflows
LARGE = 512  # N and Nk of the memory rule, where d = dv = 4
WARM_UP = (40, 40, 4, 4, 8, 8)


class Case:
    """
    Inputs of one call of flash_fwd or flash_bwd, normally distributed, and the right values.

    Args:
        N, Nk, d, dv, Br, Bc: sizes
        causal, scale: as the functions take them
        shift: about what lies on top of all scores
        spread: factor of all scores
        rng: random numbers; the same ones every time when None
        dtype: the inputs are rounded to it
    """

    def __init__(self, N, Nk, d, dv, Br, Bc, causal=False, scale=None, shift=0.0, spread=1.0,
                 rng=None, dtype=np.float64):
        rng = rng or np.random.default_rng(N + Nk)
        shapes = {"Q": (N, d), "K": (Nk, d), "V": (Nk, dv), "dO": (N, dv)}
        x = {name: rng.normal(size=shape).astype(dtype).astype(float)
             for name, shape in shapes.items()}
        side = np.sqrt(abs(shift) / np.sqrt(d))  # in all columns of Q and, with the sign, of K
        x |= {"Q": (x["Q"] + side) * spread, "K": x["K"] + np.sign(shift) * side}
        self.x = SimpleNamespace(**x)
        self.causal, self.scale = causal, scale
        self.sizes = {"N": N, "Nk": Nk, "d": d, "dv": dv, "Br": Br, "Bc": Bc}

    @cached_property
    def right(self) -> oracle.Attention:
        """The right O and L, and the largest |score|."""
        return oracle.attention(self.x.Q, self.x.K, self.x.V, self.causal, self.scale)

    @cached_property
    def gradients(self) -> oracle.Gradients:
        """The right dQ, dK and dV."""
        return oracle.gradients(**vars(self.x), causal=self.causal, scale=self.scale)

    @cached_property
    def given(self) -> SimpleNamespace:
        """The arrays that a call is given: the inputs, and for flash_bwd the right O and L."""
        return SimpleNamespace(**vars(self.x), O=self.right.O, L=self.right.L)

    def giving(self, change: Callable, names: str) -> Case:
        """The same case, whose calls are given change(x) for each of the named arrays."""
        other = copy(self)
        changed = {name: change(getattr(self.given, name)) for name in names.split()}
        other.given = SimpleNamespace(**vars(self.given) | changed)
        return other

    def counts(self, kind: str) -> dict[str, int]:
        """The right read, write and flops of "fa1", "fa2" or "bwd"."""
        return oracle.counts(kind, **self.sizes, causal=self.causal)

    def fwd(self, lab, order: str):
        """The call of flash_fwd."""
        x, Br, Bc = self.given, self.sizes["Br"], self.sizes["Bc"]
        return lab.call.flash_fwd(x.Q, x.K, x.V, Br, Bc, causal=self.causal, scale=self.scale,
                                  order=order)

    def bwd(self, lab):
        """The call of flash_bwd."""
        x, Br, Bc = self.given, self.sizes["Br"], self.sizes["Bc"]
        return lab.call.flash_bwd(x.Q, x.K, x.V, x.O, x.dO, x.L, Br, Bc, causal=self.causal,
                                  scale=self.scale)


@cache
def fixed(*sizes, **settings) -> Case:
    """The case of these sizes and settings, one for all checks: the right values are worked out
    once."""
    return Case(*sizes, **settings)


def causal_cases(shapes: list[tuple]) -> list[Case]:
    """A causal case of each shape."""
    return [fixed(*shape, causal=True) for shape in shapes]


def large_cases() -> list[Case]:
    """The two cases of the memory rule, of which one holds all queries in one block."""
    return [fixed(LARGE, LARGE, 4, 4, LARGE, 32), fixed(LARGE, LARGE, 4, 4, 32, 32, causal=True)]


def dead_tiles(cases: list[Case]) -> Iterator[tuple[Case, int, int]]:
    """(case, n, j0) for the causal cases: all tiles of the first n queries and of the keys from
    j0 on are dead, and there are some."""
    for case in cases:
        N, Nk, _, _, Br, Bc = case.sizes.values()
        for j0 in range(0, Nk, Bc):
            before = min(N, max(0, j0 - (Nk - N)))  # queries that stand before key j0
            n = N if before == N else before // Br * Br
            if n:
                yield case, n, j0


def nan_in(rows: slice) -> Callable:
    """A function that gives a copy of an array with NaN in those rows."""

    def change(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[rows] = np.nan
        return x

    return change


def run_fwd(lab, case: Case, order: str):
    """(O, L, io) of the student's flash_fwd."""
    return expect_sequence(lab.run(case.fwd(lab, order)), 3, "flash_fwd(...)")


def run_bwd(lab, case: Case):
    """(dQ, dK, dV, io) of the student's flash_bwd."""
    return expect_sequence(lab.run(case.bwd(lab)), 4, "flash_bwd(...)")


def expect_state(got, expected: oracle.State):
    """A state (m, l, o); o is None when none is expected."""
    expect_m_and_l(got, expected)
    expect_o(got, expected)


def expect_m_and_l(got, expected: oracle.State):
    """The maximum and the sum of a state."""
    m, l, _ = expect_sequence(got, 3, "merge_states(...)")
    expect_array(m, expected.m, "m")
    expect_array(l, expected.l, "l")


def expect_o(got, expected: oracle.State):
    """The output of a state."""
    o = expect_sequence(got, 3, "merge_states(...)")[2]
    expect = expect_equal if expected.o is None else expect_array
    expect(o, expected.o, "o")


def expect_O(case: Case, O, rows=True):
    """The right output, in the rows of the boolean mask."""
    expect_array(O, case.right.O, "O", case.right.score, where=np.reshape(rows, (-1, 1)))


def expect_L(case: Case, L, rows=True):
    """The right log-sum-exp, in the rows of the boolean mask."""
    expect_array(L, case.right.L, "L", case.right.score, where=rows)


def expect_gradients(case: Case, got, queries=True, keys=True):
    """The right dQ, dK and dV, in the rows of the boolean masks."""
    for name, gradient, rows in zip(("dQ", "dK", "dV"), got, (queries, keys, keys), strict=False):
        expect_array(gradient, getattr(case.gradients, name), name, case.right.score,
                     where=np.reshape(rows, (-1, 1)))


def expect_io(case: Case, io, kind: str):
    """The right counters; a difference is told in sizes and numbers of blocks, Tr and Tc."""
    N, Nk, d, dv, Br, Bc = case.sizes.values()
    blocks = {"Tr": -(-N // Br), "Tc": -(-Nk // Bc)}
    expect_counts(io, case.counts(kind), "io", N=N, Nk=Nk, d=d, dv=dv, **blocks)


def expect_little_memory(lab, case: Case, call_of: Callable, length: int):
    """What call_of(case) returns, once it is known to have held nothing as large as the scores."""
    limit = 0.75 * case.sizes["N"] * case.sizes["Nk"] * 8
    result, peak = lab.peak_memory(call_of(case), call_of(fixed(*WARM_UP)), limit)
    expect_at_most(peak, limit, "bytes of extra memory", "0.75 * N * Nk * 8")
    return expect_sequence(result, length, "the result")


# --- merge_states ---------------------------------------------------------------------------------


def segments(*shape: int, cut: int, dv: int = 2):
    """
    (left, right, whole): the states of random scores of that shape, cut along the last axis; in
    the first row the maximum is on both sides.
    """
    rng = np.random.default_rng(sum(shape))
    x, v = rng.normal(size=shape), rng.normal(size=(shape[-1], dv))
    x.reshape(-1, shape[-1])[0, [0, -1]] = 3.0
    return (oracle.state(x[..., :cut], v[:cut]), oracle.state(x[..., cut:], v[cut:]),
            oracle.state(x, v))


def half_empty(state: oracle.State) -> oracle.State:
    """The state with every other row empty."""
    m, l, o = (part.copy() for part in state)
    m[::2], l[::2], o[::2] = -np.inf, 0.0, 0.0
    return oracle.State(m, l, o)


def shifted(state: oracle.State, shift: float) -> oracle.State:
    """The state of scores that are all higher by `shift`."""
    return state._replace(m=state.m + shift)


def empty_like(state: oracle.State) -> oracle.State:
    """The empty state of the same shape."""
    return oracle.State(np.full_like(state.m, -np.inf), np.zeros_like(state.l),
                        np.zeros_like(state.o))


@check(points=1, part="merge_states")
def test_merge_states_gives_m_and_l_of_the_whole_row(lab):
    """merge_states gives m and l of the whole row"""
    for cut in (4, 1):
        left, right, whole = segments(6, 9, cut=cut)
        expect_m_and_l(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=1.5, part="merge_states")
def test_merge_states_gives_o_of_the_whole_row_undivided(lab):
    """merge_states gives o of the whole row, undivided"""
    for cut in (4, 1):
        left, right, whole = segments(6, 9, cut=cut)
        expect_o(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=0.5, part="merge_states")
def test_merging_in_either_order_gives_the_same_state(lab):
    """merging in either order gives the same state"""
    left, right, whole = segments(6, 9, cut=4)
    expect_state(lab.merge_states(tuple(right), tuple(left)), whole)


@check(points=1, part="merge_states", after=test_merging_in_either_order_gives_the_same_state)
def test_merging_with_an_empty_segment_gives_the_other_one_back(lab):
    """merging with an empty segment gives the other one back"""
    left, right, _ = segments(6, 9, cut=4)
    expect_state(lab.merge_states(tuple(left), tuple(empty_like(left))), left)
    expect_state(lab.merge_states(tuple(empty_like(right)), tuple(right)), right)


@check(points=1, part="merge_states", after=test_merging_in_either_order_gives_the_same_state)
def test_merging_two_empty_segments_gives_an_empty_one(lab):
    """merging two empty segments gives an empty one"""
    left, right, whole = (half_empty(state) for state in segments(6, 9, cut=4))
    expect_state(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=0.5, part="merge_states", after=test_merge_states_gives_m_and_l_of_the_whole_row)
def test_merging_without_outputs_gives_a_state_without_one(lab):
    """merging without outputs gives a state without one"""
    left, right, whole = (half_empty(state)._replace(o=None) for state in segments(6, 9, cut=4))
    expect_state(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=0.5, part="merge_states", after=test_merging_in_either_order_gives_the_same_state)
def test_merging_takes_any_number_of_leading_axes(lab):
    """merging takes any number of leading axes"""
    for shape, dv in (((9,), 3), ((1, 9), 1), ((3, 2, 9), 2)):
        left, right, whole = segments(*shape, cut=4, dv=dv)
        expect_state(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=0.5, part="merge_states", after=test_merging_in_either_order_gives_the_same_state)
def test_merging_takes_maxima_whose_exp_overflows_or_vanishes(lab):
    """merging takes maxima whose exp overflows or vanishes"""
    for shift in (1e4, -1e4):
        left, right, whole = (shifted(state, shift) for state in segments(6, 9, cut=4))
        expect_state(lab.merge_states(tuple(left), tuple(right)), whole)


@check(points=0.5, part="merge_states", after=test_merging_in_either_order_gives_the_same_state)
def test_merging_leaves_its_inputs_unchanged(lab):
    """merging leaves its inputs unchanged"""
    left, right, _ = (half_empty(state) for state in segments(6, 9, cut=4))
    for a, b in ((left, right), (right, left)):
        call = lab.call.merge_states(tuple(a), tuple(b))
        expect_unchanged(lab.arguments_after(call), call, ("a", "b"))


# --- flash_fwd, order "fa1" -----------------------------------------------------------------------


@check(points=1.5, part="flash_fwd_fa1")
def test_fa1_gives_the_output_of_standard_attention(lab):
    """fa1 gives the output of standard attention"""
    for shape in SHAPES:
        O, _, _ = run_fwd(lab, case := fixed(*shape), "fa1")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa1")
def test_fa1_gives_the_natural_log_sum_exp_of_each_row(lab):
    """fa1 gives the natural log-sum-exp of each row"""
    for setting in ({}, {"scale": -0.7}, {"scale": 0.0}, *EXTREMES):
        _, L, _ = run_fwd(lab, case := fixed(*SHAPES[0], **setting), "fa1")
        expect_L(case, L)


@check(points=1.5, part="flash_fwd_fa1")
def test_fa1_counts_the_elements_it_moves_and_its_flops(lab):
    """fa1 counts the elements it moves and its flops"""
    for shape in (PRIMES, *SHAPES[1:]):
        _, _, io = run_fwd(lab, case := fixed(*shape), "fa1")
        expect_io(case, io, "fa1")


@check(points=1, part="flash_fwd_fa1", after=test_fa1_gives_the_output_of_standard_attention)
def test_fa1_gives_the_causal_output(lab):
    """fa1 gives the causal output"""
    for case in causal_cases(CACHED):
        O, _, _ = run_fwd(lab, case, "fa1")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa1", after=test_fa1_gives_the_causal_output)
def test_fa1_gives_o_0_and_l_minus_inf_to_queries_that_see_no_key(lab):
    """fa1 gives O = 0 and L = -inf to queries that see no key"""
    for case in causal_cases(NOTHING_SEEN):
        O, L, _ = run_fwd(lab, case, "fa1")
        expect_O(case, O)
        expect_L(case, L, rows=np.isneginf(case.right.L))


@check(points=1, part="flash_fwd_fa1", after=test_fa1_counts_the_elements_it_moves_and_its_flops)
def test_fa1_does_not_count_dead_tiles(lab):
    """fa1 does not count dead tiles"""
    for case in causal_cases(CACHED + NOTHING_SEEN):
        _, _, io = run_fwd(lab, case, "fa1")
        expect_io(case, io, "fa1")


@check(points=0.5, part="flash_fwd_fa1", after=test_fa1_gives_the_causal_output)
def test_fa1_never_looks_into_dead_tiles(lab):
    """fa1 never looks into dead tiles"""
    for case, n, j0 in dead_tiles(causal_cases(CACHED + NOTHING_SEEN)):
        O, _, _ = run_fwd(lab, case.giving(nan_in(np.s_[j0:]), "K V"), "fa1")
        expect_O(case, O, rows=np.arange(len(case.x.Q)) < n)


@check(points=0.5, part="flash_fwd_fa1", after=test_fa1_gives_the_causal_output)
def test_fa1_uses_the_scale_that_it_is_given_0_too(lab):
    """fa1 uses the scale that it is given, 0 too"""
    for scale in SCALES:
        O, _, _ = run_fwd(lab, case := fixed(*CACHED[0], causal=True, scale=scale), "fa1")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa1", after=test_fa1_gives_the_output_of_standard_attention)
def test_fa1_takes_scores_whose_exp_overflows_or_vanishes(lab):
    """fa1 takes scores whose exp overflows or vanishes"""
    for extreme in EXTREMES:
        O, _, _ = run_fwd(lab, case := fixed(*SHAPES[0], **extreme), "fa1")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa1", after=test_fa1_gives_the_causal_output)
def test_fa1_holds_nothing_as_large_as_the_scores(lab):
    """fa1 holds nothing as large as the scores"""
    for case in large_cases():
        O, _, _ = expect_little_memory(lab, case, lambda c: c.fwd(lab, "fa1"), 3)
        expect_O(case, O)


# --- flash_fwd, order "fa2" -----------------------------------------------------------------------


@check(points=1.5, part="flash_fwd_fa2")
def test_fa2_gives_the_output_of_standard_attention(lab):
    """fa2 gives the output of standard attention"""
    for shape in SHAPES:
        O, _, _ = run_fwd(lab, case := fixed(*shape), "fa2")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa2")
def test_fa2_gives_the_natural_log_sum_exp_of_each_row(lab):
    """fa2 gives the natural log-sum-exp of each row"""
    for setting in ({}, {"scale": -0.7}, {"scale": 0.0}, *EXTREMES):
        _, L, _ = run_fwd(lab, case := fixed(*SHAPES[0], **setting), "fa2")
        expect_L(case, L)


@check(points=1, part="flash_fwd_fa2")
def test_fa2_counts_the_elements_it_moves_and_its_flops(lab):
    """fa2 counts the elements it moves and its flops"""
    for shape in (PRIMES, *SHAPES[1:]):
        _, _, io = run_fwd(lab, case := fixed(*shape), "fa2")
        expect_io(case, io, "fa2")


@check(points=1, part="flash_fwd_fa2", after=test_fa2_gives_the_output_of_standard_attention)
def test_fa2_gives_the_causal_output(lab):
    """fa2 gives the causal output"""
    for case in causal_cases(CACHED):
        O, _, _ = run_fwd(lab, case, "fa2")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2", after=test_fa2_gives_the_causal_output)
def test_fa2_gives_o_0_and_l_minus_inf_to_queries_that_see_no_key(lab):
    """fa2 gives O = 0 and L = -inf to queries that see no key"""
    for case in causal_cases(NOTHING_SEEN):
        O, L, _ = run_fwd(lab, case, "fa2")
        expect_O(case, O)
        expect_L(case, L, rows=np.isneginf(case.right.L))


@check(points=1, part="flash_fwd_fa2", after=test_fa2_counts_the_elements_it_moves_and_its_flops)
def test_fa2_does_not_count_dead_tiles(lab):
    """fa2 does not count dead tiles"""
    for case in causal_cases(CACHED + NOTHING_SEEN):
        _, _, io = run_fwd(lab, case, "fa2")
        expect_io(case, io, "fa2")


@check(points=0.5, part="flash_fwd_fa2", after=test_fa2_gives_the_causal_output)
def test_fa2_never_looks_into_dead_tiles(lab):
    """fa2 never looks into dead tiles"""
    for case, n, j0 in dead_tiles(causal_cases(CACHED + NOTHING_SEEN)):
        O, _, _ = run_fwd(lab, case.giving(nan_in(np.s_[j0:]), "K V"), "fa2")
        expect_O(case, O, rows=np.arange(len(case.x.Q)) < n)


@check(points=0.5, part="flash_fwd_fa2", after=test_fa2_gives_the_causal_output)
def test_fa2_uses_the_scale_that_it_is_given_0_too(lab):
    """fa2 uses the scale that it is given, 0 too"""
    for scale in SCALES:
        O, _, _ = run_fwd(lab, case := fixed(*CACHED[0], causal=True, scale=scale), "fa2")
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2", after=test_fa2_gives_the_output_of_standard_attention)
def test_fa2_takes_scores_whose_exp_overflows_or_vanishes(lab):
    """fa2 takes scores whose exp overflows or vanishes"""
    for extreme in EXTREMES:
        O, _, _ = run_fwd(lab, case := fixed(*SHAPES[0], **extreme), "fa2")
        expect_O(case, O)


@check(points=1, part="flash_fwd_fa2", after=test_fa2_gives_the_causal_output)
def test_fa2_holds_nothing_as_large_as_the_scores(lab):
    """fa2 holds nothing as large as the scores"""
    for case in large_cases():
        O, _, _ = expect_little_memory(lab, case, lambda c: c.fwd(lab, "fa2"), 3)
        expect_O(case, O)


@check(points=0.5, part="flash_fwd_fa2", after=test_fa2_counts_the_elements_it_moves_and_its_flops)
def test_fa2_is_the_default_order(lab):
    """fa2 is the default order"""
    x, Br, Bc = (case := fixed(*SHAPES[0])).x, case.sizes["Br"], case.sizes["Bc"]
    _, _, io = expect_sequence(lab.flash_fwd(x.Q, x.K, x.V, Br, Bc), 3, "flash_fwd(...)")
    expect_io(case, io, "fa2")


# --- flash_bwd ------------------------------------------------------------------------------------


@check(points=1, part="flash_bwd")
def test_flash_bwd_gives_dv_of_standard_attention(lab):
    """flash_bwd gives dV of standard attention"""
    for shape in EVEN:
        _, _, dV, _ = run_bwd(lab, case := fixed(*shape))
        expect_array(dV, case.gradients.dV, "dV", case.right.score)


@check(points=1.5, part="flash_bwd")
def test_flash_bwd_gives_dq_of_standard_attention(lab):
    """flash_bwd gives dQ of standard attention"""
    for shape in EVEN:
        dQ, _, _, _ = run_bwd(lab, case := fixed(*shape))
        expect_array(dQ, case.gradients.dQ, "dQ", case.right.score)


@check(points=1.5, part="flash_bwd")
def test_flash_bwd_gives_dk_of_standard_attention(lab):
    """flash_bwd gives dK of standard attention"""
    for shape in EVEN:
        _, dK, _, _ = run_bwd(lab, case := fixed(*shape))
        expect_array(dK, case.gradients.dK, "dK", case.right.score)


@check(points=0.5, part="flash_bwd")
def test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide(lab):
    """flash_bwd gives all gradients when blocks do not divide"""
    for shape in SHAPES:
        case = fixed(*shape)
        expect_gradients(case, run_bwd(lab, case))


@check(points=1.5, part="flash_bwd")
def test_flash_bwd_counts_the_elements_it_moves_and_its_flops(lab):
    """flash_bwd counts the elements it moves and its flops"""
    for shape in (PRIMES, *SHAPES[1:]):
        *_, io = run_bwd(lab, case := fixed(*shape))
        expect_io(case, io, "bwd")


@check(points=1, part="flash_bwd",
       after=test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide)
def test_flash_bwd_gives_the_causal_gradients(lab):
    """flash_bwd gives the causal gradients"""
    for case in causal_cases(CACHED):
        expect_gradients(case, run_bwd(lab, case))


@check(points=0.5, part="flash_bwd", after=test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_lets_queries_that_see_no_key_play_no_part(lab):
    """flash_bwd lets queries that see no key play no part"""
    for case in causal_cases(NOTHING_SEEN):
        expect_gradients(case, run_bwd(lab, case))


@check(points=1, part="flash_bwd", after=test_flash_bwd_counts_the_elements_it_moves_and_its_flops)
def test_flash_bwd_does_not_count_dead_tiles(lab):
    """flash_bwd does not count dead tiles"""
    for case in causal_cases(CACHED + NOTHING_SEEN):
        *_, io = run_bwd(lab, case)
        expect_io(case, io, "bwd")


@check(points=0.5, part="flash_bwd", after=test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_never_looks_into_dead_tiles(lab):
    """flash_bwd never looks into dead tiles"""
    for case, n, j0 in dead_tiles(causal_cases(CACHED + NOTHING_SEEN)):
        early, late = np.arange(len(case.x.Q)) < n, np.arange(len(case.x.K)) >= j0
        expect_gradients(case, run_bwd(lab, case.giving(nan_in(late), "K V")), early, ~late)
        expect_gradients(case, run_bwd(lab, case.giving(nan_in(early), "Q O dO L")), ~early, late)


@check(points=0.5, part="flash_bwd", after=test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_uses_the_scale_that_it_is_given_0_too(lab):
    """flash_bwd uses the scale that it is given, 0 too"""
    for scale in SCALES:
        case = fixed(*CACHED[0], causal=True, scale=scale)
        expect_gradients(case, run_bwd(lab, case))


@check(points=0.5, part="flash_bwd",
       after=test_flash_bwd_gives_all_gradients_when_blocks_do_not_divide)
def test_flash_bwd_takes_scores_whose_exp_overflows_or_vanishes(lab):
    """flash_bwd takes scores whose exp overflows or vanishes"""
    for extreme in EXTREMES[:2]:  # where one key takes all of a row, gradients vanish
        case = fixed(*SHAPES[0], **extreme)
        expect_gradients(case, run_bwd(lab, case))


@check(points=1, part="flash_bwd", after=test_flash_bwd_gives_the_causal_gradients)
def test_flash_bwd_holds_nothing_as_large_as_the_scores(lab):
    """flash_bwd holds nothing as large as the scores"""
    for case in large_cases():
        expect_gradients(case, expect_little_memory(lab, case, lambda c: c.bwd(lab), 4))
