"""
What the build freezes for flash_attention: the written answers, and the diagnostic requests on
which the known mistakes differ. Never shipped.
"""

from __future__ import annotations

from itertools import count

from autograder.kit.calls import Request
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


def diagnostics(call) -> dict[str, list[Request]]:
    """Part -> small fixed requests."""
    return {}
