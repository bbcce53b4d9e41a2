"""Results are a np.matrix, a masked array and an own class; counters are added up late."""

import numpy as np
from attention import attention_arguments, blocks


class Rows(np.ndarray):
    """An array that knows how many rows it has."""

    count = property(len)


class Elements(int):
    """An int that prints itself nicely."""

    def __add__(self, other):
        return Elements(int(self) + int(other))

    def __repr__(self):
        return f"{int(self):,} elements"


class Log:
    """Whatever is moved is noted, and added up when somebody asks."""

    def __init__(self):
        self._noted = []

    def note(self, **amounts):
        self._noted.append(amounts)

    def _sum(self, name):
        return sum((each.get(name, 0) for each in self._noted), Elements(0))

    read = property(lambda self: self._sum("read"))
    write = property(lambda self: self._sum("write"))
    flops = property(lambda self: self._sum("flops"))


def flash_fwd(Q, K, V, Br, Bc, causal=False, scale=None, order="fa2"):
    Q, K, V, scale = attention_arguments(Q, K, V, scale)
    query_blocks, key_blocks = blocks(Q, K, Br, Bc)
    (N, d), (Nk, dv) = Q.shape, V.shape
    O, L, io = np.zeros((N, dv)), np.full(N, -np.inf), Log()
    fa1 = order == "fa1"
    if fa1:
        io.note(read=Nk * (d + dv), write=N * dv + 2 * N)
    else:
        io.note(read=N * d, write=N * dv + N)
    for j0, j1 in key_blocks:
        for i0, i1 in query_blocks:
            br, bc = i1 - i0, j1 - j0
            if causal and Nk - N + i1 - 1 < j0:
                continue
            io.note(read=br * (d + dv + 2) if fa1 else bc * (d + dv),
                    write=br * (dv + 2) if fa1 else 0, flops=2 * br * bc * (d + dv))
            hidden = causal & (Nk - N + np.arange(i0, i1)[:, None] < np.arange(j0, j1))
            S = np.ma.masked_array(scale * Q[i0:i1] @ K[j0:j1].T,
                                   np.broadcast_to(hidden, (br, bc))).filled(-np.inf)
            new = np.logaddexp(L[i0:i1], np.logaddexp.reduce(S, axis=1))
            base = np.where(np.isneginf(new), 0, new)[:, None]
            O[i0:i1] = np.exp(L[i0:i1, None] - base) * O[i0:i1] + np.exp(S - base) @ V[j0:j1]
            L[i0:i1] = new
    return np.asmatrix(O) if fa1 else np.ma.asarray(O), L.view(Rows), io
