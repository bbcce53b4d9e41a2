"""Honest: decimal arithmetic of 40 digits, rounded to float at the end; parts in no order."""

from collections import Counter
from decimal import Context, Decimal, localcontext

from llama_ops import TimelineParams

FIGURES = ("hbm", "eff", "launch", "ramp", "small", "sync", "instr_overhead")


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    with localcontext(Context(prec=40)):
        figures = {name: Decimal(getattr(p, name)) for name in FIGURES}
        parts = (kernels if mode == "kernels" else megakernel)(ops, p.n_sm, p.smem_buf, **figures)
        t = sum(parts.values())
        ideal = sum(op.bytes for op in ops) / figures["hbm"]
        result = {"t": float(t), "ideal": float(ideal), "bw_util": float(ideal / t)}
        return result | {"parts": {name: float(part) for name, part in parts.items()}}


def kernels(ops, n_sm, smem_buf, hbm, eff, launch, ramp, small, **rest):
    parts = Counter()
    for op in ops:
        parts["launch"] += launch
        if not op.ctas:
            parts["small_kernels"] += small
            continue
        ideal = op.bytes / hbm
        waves = (op.ctas + n_sm - 1) // n_sm
        parts.update(ramp=ramp, weights=ideal, bandwidth_loss=ideal / eff - ideal,
                     tail=ideal / eff * (Decimal(waves * n_sm) / op.ctas - 1))
    return parts


def megakernel(ops, n_sm, smem_buf, hbm, eff, sync, instr_overhead, **rest):
    speed = hbm * eff / n_sm
    loaded = done = Decimal(0)
    for op in ops:
        share, ready = Decimal(op.bytes) / n_sm, done + sync
        ahead = min(share, smem_buf, (ready - loaded) * speed)
        loaded = ready + (share - ahead) / speed
        done = loaded + instr_overhead
    ideal = sum(op.bytes for op in ops) / hbm
    return {"sync_overhead": done - ideal / eff, "bandwidth_loss": ideal / eff - ideal,
            "weights": ideal}
