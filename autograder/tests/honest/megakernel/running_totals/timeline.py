"""Honest: long doubles; cumulative sums of the kernels' times; a dict class of its own."""

import numpy as np
from llama_ops import Op, TimelineParams


class Timeline(dict):
    def __missing__(self, key):
        return 0.0


def timeline(ops: "list[Op]", mode, p=None):
    p = p or TimelineParams()
    hbm, eff = np.longdouble(p.hbm), np.longdouble(p.eff)
    total = np.longdouble(sum(op.bytes for op in ops))
    parts = Timeline()
    if mode == "megakernel":
        loaded = done = np.longdouble(0)
        for op in ops:
            ready = done + p.sync
            room = min(p.smem_buf, op.bytes / p.n_sm) * p.n_sm / (hbm * eff)
            loaded = ready + op.bytes / (hbm * eff) - min(room, ready - loaded)
            done = loaded + p.instr_overhead
        t = done
        parts.update(weights=total / hbm, bandwidth_loss=total / hbm / eff - total / hbm)
        parts["sync_overhead"] = t - total / hbm / eff
    else:
        ends = np.cumsum([cost(op, p) for op in ops], dtype=np.longdouble)
        t = ends[-1]
        large = [op for op in ops if op.ctas]
        parts["launch"] = p.launch * len(ops)
        parts["ramp"] = p.ramp * len(large)
        parts["small_kernels"] = p.small * (len(ops) - len(large))
        parts["weights"] = sum(op.bytes for op in large) / hbm
        parts["bandwidth_loss"] = parts["weights"] * (1 - eff) / eff
        parts["tail"] = t - sum(parts.values())
    return Timeline(t=t, ideal=total / hbm, bw_util=total / hbm / t, parts=parts)


def cost(op, p):
    if op.ctas == 0:
        return p.launch + p.small
    waves = (op.ctas + p.n_sm - 1) // p.n_sm
    return p.launch + p.ramp + waves * op.bytes / op.ctas * p.n_sm / (p.hbm * p.eff)
