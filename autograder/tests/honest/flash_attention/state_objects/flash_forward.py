"""An object keeps the state of a block of queries and takes tiles in; results are lists."""

import numpy as np
from attention import IO, attention_arguments, blocks


class Softmax:
    """Running maximum, sum and output of a block of rows."""

    def __init__(self, rows, dv):
        self.top = np.full((rows, 1), -np.inf)
        self.sum = np.zeros((rows, 1))
        self.out = np.zeros((rows, dv))

    def take(self, scores, values):
        top = np.maximum(self.top, scores.max(axis=1, keepdims=True))
        empty = np.isneginf(top)
        weights = np.exp(scores - np.where(empty, 0, top))
        factor = np.exp(self.top - np.where(empty, 0, top))
        self.sum *= factor
        self.out *= factor
        self.sum += weights.sum(axis=1, keepdims=True)
        self.out += weights @ values
        self.top = top

    def output(self):
        return np.divide(self.out, self.sum, out=np.zeros_like(self.out), where=self.sum > 0)

    def log_sum_exp(self):
        with np.errstate(divide="ignore"):
            return (self.top + np.log(self.sum))[:, 0]


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    d, dv, shift, io = Q.shape[1], V.shape[1], len(K) - len(Q), IO()
    states = {i0: Softmax(i1 - i0, dv) for i0, i1 in query_blocks}

    def visit(i0, i1, j0, j1):
        if causal and shift + i1 - 1 < j0:
            return 0
        S = scale * Q[i0:i1] @ K[j0:j1].T
        if causal:
            S[np.triu_indices(i1 - i0, shift + i0 - j0 + 1, j1 - j0)] = -np.inf
        states[i0].take(S, V[j0:j1])
        io.flops += 2 * S.size * (d + dv)
        return 1

    if order == "fa1":
        io.write = len(Q) * (dv + 2)
        for j0, j1 in key_blocks:
            io.read += (j1 - j0) * (d + dv)
            live = sum(visit(i0, i1, j0, j1) * (i1 - i0) for i0, i1 in query_blocks)
            io.read, io.write = io.read + live * (d + dv + 2), io.write + live * (dv + 2)
    else:
        for i0, i1 in query_blocks:
            live = sum(visit(i0, i1, j0, j1) * (j1 - j0) for j0, j1 in key_blocks)
            io.read += (i1 - i0) * d + live * (d + dv)
            io.write += (i1 - i0) * (dv + 1)
    O = np.concatenate([state.output() for state in states.values()])
    return [O, np.concatenate([state.log_sum_exp() for state in states.values()]), io]
