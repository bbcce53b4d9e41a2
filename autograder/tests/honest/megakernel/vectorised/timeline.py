"""Honest: the kernels with arrays, all ops at once; numpy scalars in the result."""

import numpy as np
from llama_ops import TimelineParams


def timeline(ops, mode, p=TimelineParams()):  # noqa: B008
    size = np.array([op.bytes for op in ops], dtype=float)
    ctas = np.array([op.ctas for op in ops])
    ideal = size.sum() / p.hbm
    bw = p.hbm * p.eff / p.n_sm
    if mode == "kernels":
        large = ctas > 0
        waves = np.ceil(ctas[large] / p.n_sm)
        reading = size[large].sum() / (bw * p.n_sm)
        parts = {
            "launch": len(ops) * np.float64(p.launch),
            "small_kernels": np.count_nonzero(~large) * p.small,
            "ramp": large.sum() * p.ramp,
            "weights": size[large].sum() / p.hbm,
            "bandwidth_loss": reading - size[large].sum() / p.hbm,
            "tail": (waves * size[large] / ctas[large]).sum() / bw - reading,
        }
    else:
        now = read = 0.0
        for share in size / p.n_sm:
            ahead = np.min([share, p.smem_buf, (now + p.sync - read) * bw])
            read = now + p.sync + (share - ahead) / bw
            now = read + p.instr_overhead
        parts = {"weights": ideal, "bandwidth_loss": ideal * (1 / p.eff - 1),
                 "sync_overhead": now - ideal / p.eff}
    t = np.sum(list(parts.values()))
    return {"t": t, "ideal": ideal, "bw_util": ideal / t, "parts": parts}
