"""The figures in flash_attention's handout that follow from a term's figures. Never shipped."""

from __future__ import annotations

from typing import Any

from autograder.kit.lab import Lab
from autograder.worker.limits import CALL_SECONDS


def figures(lab: Lab, term: dict) -> dict[str, Any]:
    """Placeholder -> what it stands for."""
    N, d = term["N"], term["d"]
    return {
        "call_seconds": CALL_SECONDS,
        "inputs_outputs": f"{4 * N * d:,}",  # elements of Q, K, V and O
        "scores": f"{N * N:,}",  # elements of S
        "standard_total": f"{4 * N * N + 4 * N * d:,}",  # elements that standard attention moves
    }
