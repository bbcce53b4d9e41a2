"""Honest: reduce over the ops, tuples for states; t is the source of the parts."""

from functools import reduce
from itertools import repeat

from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    ideal = sum(op.bytes for op in ops) / p.hbm
    if mode == "kernels":
        rows = [kernel(op, p) for op in ops]
        columns = [sum(column) for column in zip(*rows)]  # noqa: B905
        names = ("launch", "small_kernels", "ramp", "weights", "bandwidth_loss", "tail")
        parts = dict(zip(names, columns))  # noqa: B905
        t = sum(map(sum, rows))
    else:
        _, t = reduce(lambda clocks, op: instruction(*clocks, op, p), ops, (0.0, 0.0))
        parts = dict(zip(("weights", "bandwidth_loss"), (ideal, ideal / p.eff - ideal)))  # noqa: B905
        parts["sync_overhead"] = t - sum(parts.values())
        parts.update(zip(("launch", "ramp", "tail", "small_kernels"), repeat(0)))
    return {"parts": parts, "t": t, "ideal": ideal, "bw_util": ideal / t}


def kernel(op, p):
    if op.ctas == 0:
        return p.launch, p.small, 0, 0, 0, 0
    ideal = op.bytes / p.hbm
    filled = op.ctas / (len(range(0, op.ctas, p.n_sm)) * p.n_sm)  # of the waves' places
    busy = ideal / p.eff
    return p.launch, 0, p.ramp, ideal, busy - ideal, busy / filled - busy


def instruction(loaded, done, op, p):
    seconds = op.bytes / (p.hbm * p.eff)
    buffer = p.smem_buf * p.n_sm / (p.hbm * p.eff)
    ready = done + p.sync
    loaded = max(loaded + seconds, ready + max(0.0, seconds - buffer), ready)
    return loaded, loaded + p.instr_overhead
