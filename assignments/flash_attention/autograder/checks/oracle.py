"""
The right values: dense float64 attention and one count of tiles, written from the definitions.

Shares no code with the solutions and never calls a submission. Everything is as large as the whole
score matrix and slow on purpose: what is visible is a boolean matrix, and nothing is done by tile.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np


class Attention(NamedTuple):
    """What attention gives: output, natural log-sum-exp of each row, largest |score|."""

    O: np.ndarray
    L: np.ndarray
    score: float


class Gradients(NamedTuple):
    """The gradients of sum(O * dO)."""

    dQ: np.ndarray
    dK: np.ndarray
    dV: np.ndarray


class State(NamedTuple):
    """Maximum, sum of exp(x - m) and unnormalised output of a segment of scores."""

    m: np.ndarray
    l: np.ndarray
    o: np.ndarray | None


def visible(N: int, Nk: int, causal: bool) -> np.ndarray:
    """[N, Nk]: whether the query sees the key; the queries stand at the last N of Nk positions."""
    position = np.arange(Nk - N, Nk)
    return np.arange(Nk) <= position[:, None] if causal else np.full((N, Nk), True)


def attention(Q, K, V, causal: bool = False, scale: float | None = None) -> Attention:
    """O, L and the largest |score|; a row that sees no key has O = 0 and L = -inf."""
    scores, P, L = _probabilities(Q, K, causal, scale)
    return Attention(P @ _floats(V), L, float(np.abs(scores).max()))


def gradients(Q, K, V, dO, causal: bool = False, scale: float | None = None) -> Gradients:
    """dQ, dK and dV for the output's gradient dO."""
    _, P, _ = _probabilities(Q, K, causal, scale)
    Q, K, V, dO = map(_floats, (Q, K, V, dO))
    dP = dO @ V.T
    dS = P * (dP - (P * dP).sum(axis=1, keepdims=True)) * _factor(Q, scale)
    return Gradients(dS @ K, dS.T @ Q, P.T @ dO)


def state(x, v=None) -> State:
    """The state of scores x [..., n] with values v [n, dv]; all -inf gives (-inf, 0, 0)."""
    m, weights = _weights(_floats(x))
    return State(m, weights.sum(axis=-1), None if v is None else weights @ _floats(v))


def live_tiles(N: int, Nk: int, Br: int, Bc: int, causal: bool) -> list[tuple[slice, slice]]:
    """(queries, keys) of every tile in which some query sees some key."""
    sees = visible(N, Nk, causal)
    tiles = product(_cut(N, Br), _cut(Nk, Bc))
    return [(queries, keys) for queries, keys in tiles if sees[queries, keys].any()]


def counts(kind: str, N: int, Nk: int, d: int, dv: int, Br: int, Bc: int,
           causal: bool = False) -> dict[str, int]:
    """
    read, write and flops of flash attention.

    Args:
        kind: "fa1" or "fa2", the orders of the forward pass, or "bwd", the backward pass
    """
    tiles = [(len(range(N)[queries]), len(range(Nk)[keys]))
             for queries, keys in live_tiles(N, Nk, Br, Bc, causal)]
    rows = sum(br for br, _ in tiles)  # of queries, once for every tile they pass through
    columns = sum(bc for _, bc in tiles)  # of keys, likewise
    entries = sum(br * bc for br, bc in tiles)
    read, write, flops = {
        "fa1": (Nk * (d + dv) + rows * (d + dv + 2), (N + rows) * (dv + 2), 2 * (d + dv)),
        "fa2": (N * d + columns * (d + dv), N * (dv + 1), 2 * (d + dv)),
        "bwd": (2 * N * dv + Nk * (d + dv) + rows * (2 * d + dv + 2),
                N + N * d + rows * d + Nk * (d + dv), 2 * (3 * d + 2 * dv)),
    }[kind]
    return {"read": read, "write": write, "flops": flops * entries}


def _probabilities(Q, K, causal, scale) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All scores, the softmax of the visible ones, and the log-sum-exp of each row."""
    scores = _floats(Q) @ _floats(K).T * _factor(Q, scale)
    m, weights = _weights(np.where(visible(*scores.shape, causal), scores, -np.inf))
    l = np.maximum(weights.sum(axis=1), 1.0)  # at least 1 wherever a key is seen
    return scores, weights / l[:, None], m + np.log(l)


def _weights(x) -> tuple[np.ndarray, np.ndarray]:
    """Maximum m of each row of scores, and exp(x - m); 0 in a row that is all -inf."""
    m = x.max(axis=-1)
    return m, np.exp(x - np.where(np.isneginf(m), 0.0, m)[..., None])


def _floats(x) -> np.ndarray:
    return np.asarray(x, dtype=np.float64)


def _factor(Q, scale) -> float:
    return 1 / np.sqrt(Q.shape[1]) if scale is None else scale


def _cut(length: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, length, size)]
