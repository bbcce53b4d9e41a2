"""Honest: a Counter collects the parts, and only those that are not 0 come back."""

from collections import Counter
from math import ceil

from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    parts = Counter()
    one_sm = p.hbm * p.eff / p.n_sm
    loaded = done = 0
    for op in ops:
        if mode == "megakernel":
            parts["weights"] += op.bytes / p.hbm
            parts["bandwidth_loss"] += op.bytes / p.hbm * (1 - p.eff) / p.eff
            ready = done + p.sync
            seconds = op.bytes / p.n_sm / one_sm
            early = min(seconds, p.smem_buf / one_sm, ready - loaded)
            loaded = ready + seconds - early
            parts["sync_overhead"] += loaded + p.instr_overhead - done - seconds
            done = loaded + p.instr_overhead
            continue
        parts["launch"] += p.launch
        if op.ctas:
            at_best, busy = op.bytes / p.hbm, op.bytes / p.hbm / p.eff
            parts.update(weights=at_best, bandwidth_loss=busy - at_best, ramp=p.ramp)
            parts["tail"] += ceil(op.ctas / p.n_sm) * op.bytes / op.ctas / one_sm - busy
        else:
            parts["small_kernels"] += p.small
    t = sum(parts.values())
    ideal = sum(op.bytes for op in ops) / p.hbm
    return {"t": t, "ideal": ideal, "bw_util": ideal / t,
            "parts": Counter({name: s for name, s in parts.items() if abs(s) > 1e-12 * t})}
