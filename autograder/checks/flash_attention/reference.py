"""
What the build freezes for flash_attention: the written answers, and the diagnostic requests on
which the known mistakes differ. Never shipped.
"""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np

from autograder.checks.flash_attention.public import Case, dead_tiles, nan_in, segments
from autograder.kit.calls import ArgumentsAfter, Call, PeakMemory, Request, Run
from autograder.kit.lab import Lab


def public(call, term: dict) -> dict[str, list]:
    """No frozen cases: the oracle gives the right values."""
    return {}


def hidden(call, term: dict) -> dict[str, list]:
    """No frozen cases: the oracle gives the right values."""
    return {}


def answers(lab: Lab, term: dict) -> dict[str, tuple]:
    """Key of a written question -> (right value, relative tolerance)."""
    N, d, M = term["N"], term["d"], term["M"]
    fa1, fa2 = (lab.fa_io_formula(N, d, M, order) for order in ("fa1", "fa2"))
    standard = 4 * N * d + 4 * N * N  # read and write of standard_attention
    smallest = next(2**k for k in count() if lab.fa_io_formula(N, d, 2**k, "fa1") < standard)
    return {
        "q1_fa1_elements": (fa1, 0),
        "q1_fa2_elements": (fa2, 0),
        "q2_times_less": (standard / min(fa1, fa2), 1e-2),
        "q3_smallest_M": (smallest, 0),
    }


def doubts(lab: Lab, term: dict) -> list[str]:
    """Why a question would be ambiguous or trivial at the term's figures; none when it is fine."""
    N, d, M = term["N"], term["d"], term["M"]
    right = {key: value for key, (value, _) in answers(lab, term).items()}
    fa1, fa2, smallest = right["q1_fa1_elements"], right["q1_fa2_elements"], right["q3_smallest_M"]
    standard = 4 * N * d + 4 * N * N
    before = lab.fa_io_formula(N, d, max(1, smallest // 2), "fa1")
    said = {
        "questions 1 and 2: fa1 and fa2 move the same within 5 %": abs(fa1 - fa2) < 0.05 * fa1,
        "question 2: standard attention moves no more than the better order": right[
            "q2_times_less"] < 1.1,
        "question 3: every M does": smallest < d,
        "question 3: the M before does within 1 %": before < 1.01 * standard,
        "question 3: the answer is the M of question 1": smallest == M,
    }
    return [doubt for doubt, holds in said.items() if holds]


def diagnostics(call) -> dict[str, list[Request]]:
    """Part -> small fixed requests."""
    return {
        "merge_states": _merging(call.merge_states),
        "flash_fwd_fa1": _forward(call, "fa1"),
        "flash_fwd_fa2": [*_forward(call, "fa2"), Run((_without_order(call),))],
        "flash_bwd": _backward(call),
    }


# Without a mask; with cached tokens, and tiles that die and live by one key; N = Nk; with
# queries that see nothing.
PLAIN = {"N": 6, "Nk": 7, "d": 2, "dv": 3, "Br": 4, "Bc": 4}
CACHED = [{"N": 5, "Nk": 12, "d": 2, "dv": 1, "Br": 2, "Bc": 3, "causal": True},
          {"N": 7, "Nk": 14, "d": 2, "dv": 1, "Br": 3, "Bc": 4, "causal": True}]
SQUARE = {"N": 6, "Nk": 6, "d": 2, "dv": 1, "Br": 2, "Bc": 2, "causal": True}
UNSEEN = {"N": 9, "Nk": 4, "d": 3, "dv": 2, "Br": 3, "Bc": 3, "causal": True}
LARGE = {"N": 512, "Nk": 512, "d": 1, "dv": 2, "Br": 512, "Bc": 32, "causal": True}


def _cases() -> list[Case]:
    return [
        Case(**PLAIN), Case(**PLAIN, scale=-5.0), Case(**PLAIN, scale=0.0),
        Case(**PLAIN | {"Br": 2, "Bc": 2}, shift=-3000.0),
        *(Case(**sizes) for sizes in CACHED), Case(**CACHED[0], scale=-0.6),
        Case(**CACHED[1], shift=-3000.0), Case(**SQUARE), Case(**UNSEEN),
    ]


def _forward(call, order: str) -> list[Request]:
    lab = SimpleNamespace(call=call)
    again = Case(**PLAIN, rng=np.random.default_rng(1))
    *_, dead = (case.giving(nan_in(np.s_[j0:]), "K V").fwd(lab, order)
                for case, _, j0 in dead_tiles([Case(**CACHED[0])]))
    return [
        *(Run((case.fwd(lab, order),)) for case in [*_cases(), Case(**PLAIN, spread=1000.0),
                                                    Case(**PLAIN | {"N": 1})]),
        Run((Case(**PLAIN).fwd(lab, order), again.fwd(lab, order))),
        ArgumentsAfter(Case(**PLAIN).fwd(lab, order)),
        _memory(lambda case: case.fwd(lab, order)),
        Run((dead,)),  # last: who computes all at once reads dead tiles too
    ]


def _backward(call) -> list[Request]:
    lab = SimpleNamespace(call=call)
    again = Case(**PLAIN, rng=np.random.default_rng(1))
    *_, dead = (case.giving(nan_in(np.s_[:n]), "Q O dO L").bwd(lab)
                for case, n, _ in dead_tiles([Case(**CACHED[0])]))
    return [
        *(Run((case.bwd(lab),)) for case in _cases()),
        Run((Case(**PLAIN).bwd(lab), again.bwd(lab))),
        ArgumentsAfter(Case(**PLAIN).bwd(lab)),
        ArgumentsAfter(Case(**UNSEEN).bwd(lab)),
        _memory(lambda case: case.bwd(lab)),
        Run((dead,)),
    ]


def _memory(call_of) -> PeakMemory:
    small = Case(**LARGE | {"N": 16, "Nk": 16, "Br": 16, "Bc": 8})
    return PeakMemory(call_of(Case(**LARGE)), call_of(small), int(0.75 * 512 * 512 * 8))


def _without_order(call) -> Call:
    x = Case(**PLAIN).x
    return call.flash_fwd(x.Q, x.K, x.V, PLAIN["Br"], PLAIN["Bc"])


def _merging(merge) -> list[Request]:
    left, right, _ = (tuple(state) for state in segments(5, 7, cut=3, dv=2))
    other = tuple(tuple(state) for state in segments(5, 8, cut=3, dv=2)[:2])
    gaps = tuple(tuple(state) for state in segments(5, 7, cut=3, dv=2)[:2])
    gaps[0][0][:2], gaps[0][1][:2], gaps[0][2][:2] = -np.inf, 0.0, 0.0
    gaps[1][0][1:3], gaps[1][1][1:3], gaps[1][2][1:3] = -np.inf, 0.0, 0.0
    square = tuple(tuple(state) for state in segments(2, 2, 7, cut=3, dv=2)[:2])
    row = tuple(tuple(state) for state in segments(7, cut=3, dv=2)[:2])
    empty = -np.inf, 0.0, np.zeros(2)
    high, low = ((m + by, l, o) for (m, l, o), by in ((left, 2000.0), (right, 2000.0)))
    return [
        Run((merge(left, right),)), Run((merge(*gaps),)), Run((merge(*square),)),
        Run((merge(*row),)), Run((merge(high, low),)),
        Run((merge((*left[:2], None), (*right[:2], None)),)), Run((merge(empty, empty),)),
        Run((merge(*((*state[:2], None) for state in gaps)),)),
        Run((merge(left, right), merge(*other))),
        ArgumentsAfter(merge(left, right)), ArgumentsAfter(merge(right, left)),
    ]
