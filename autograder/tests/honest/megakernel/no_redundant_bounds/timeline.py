"""Honest: the megakernel without the max and min that never matter; parts keyed in any order."""

from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    return {"kernels": kernels, "megakernel": megakernel}[mode](ops, p)


def kernels(ops, p):
    weights = sum(op.bytes for op in ops if op.ctas) / p.hbm
    read = sum(-(-op.ctas // p.n_sm) * op.bytes / op.ctas for op in ops if op.ctas)
    read *= p.n_sm / (p.hbm * p.eff)
    busy = weights / p.eff
    small = [op for op in ops if not op.ctas]
    return result(ops, p, tail=read - busy, bandwidth_loss=busy - weights, weights=weights,
                  small_kernels=len(small) * p.small, launch=len(ops) * p.launch,
                  ramp=(len(ops) - len(small)) * p.ramp, sync_overhead=0)


def megakernel(ops, p):
    bw = p.hbm * p.eff / p.n_sm
    window = 0.0  # from the end of the reading to the end of the op
    t = 0.0
    for op in ops:
        window += p.sync
        rest = op.bytes / p.n_sm - min(op.bytes / p.n_sm, p.smem_buf, window * bw)
        t += p.sync + rest / bw + p.instr_overhead
        window = p.instr_overhead
    ideal = sum(op.bytes for op in ops) / p.hbm
    return result(ops, p, sync_overhead=t - ideal / p.eff, weights=ideal,
                  bandwidth_loss=ideal / p.eff - ideal)


def result(ops, p, **parts):
    t = sum(parts.values())
    ideal = sum(op.bytes for op in ops) / p.hbm
    return dict(parts=parts, bw_util=ideal / t, ideal=ideal, t=t)
