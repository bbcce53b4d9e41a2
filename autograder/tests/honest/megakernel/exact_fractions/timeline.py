"""Honest: exact fractions from the first figure to the result, which holds fractions too."""

from fractions import Fraction

from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    launch, ramp, small, sync, overhead, hbm, eff = map(
        Fraction, (p.launch, p.ramp, p.small, p.sync, p.instr_overhead, p.hbm, p.eff))
    bw = hbm * eff / p.n_sm
    total = sum(op.bytes for op in ops)
    parts = dict.fromkeys(("weights", "bandwidth_loss", "launch", "ramp", "tail",
                           "small_kernels", "sync_overhead"), 0)
    if mode == "megakernel":
        loaded = done = Fraction(0)
        for op in ops:
            ready, share = done + sync, Fraction(op.bytes, p.n_sm)
            loaded = ready + (share - min(share, p.smem_buf, (ready - loaded) * bw)) / bw
            done = loaded + overhead
        parts |= {"weights": total / hbm, "bandwidth_loss": total / hbm / eff - total / hbm,
                  "sync_overhead": done - total / hbm / eff}
    else:
        for op in ops:
            parts["launch"] += launch
            if not op.ctas:
                parts["small_kernels"] += small
                continue
            waves = -(-op.ctas // p.n_sm)
            parts["ramp"] += ramp
            parts["weights"] += op.bytes / hbm
            parts["bandwidth_loss"] += op.bytes / hbm * (1 / eff - 1)
            parts["tail"] += Fraction(op.bytes, op.ctas) / bw * waves - op.bytes / hbm / eff
    t = sum(parts.values())
    return {"t": t, "ideal": total / hbm, "bw_util": total / hbm / t, "parts": parts}
