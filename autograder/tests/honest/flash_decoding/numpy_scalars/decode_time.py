"""Honest: numpy scalars everywhere, ceil as a float, dicts of a subclass with more entries."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class DecodeGPU:
    name: str
    n_sm: int
    tc_flops: float
    hbm: float
    tc_eff: float = 0.7
    sm_bw_cap: float = 80e9
    launch: float = 5e-6


A100_DEC = DecodeGPU("A100", 108, 312e12, 1.555e12)
H100_DEC = DecodeGPU("H100", 132, 989e12, 3.35e12)

import numpy as np  # noqa: E402


def decode_attention_time(
    B, Hq, Hkv, S, d, method, gpu=A100_DEC, splits=1, block_m=None, elem=2
):
    split = np.bool_(method == "fd")
    ctas = np.where(split, B * Hkv * splits, B * Hq).astype(np.int32)[()]
    tile = np.float64(block_m if block_m is not None else (64 if split else 128))
    rows = np.maximum(tile, Hq // Hkv) if split else tile
    keys = np.ceil(np.float64(S) / (splits if split else 1))
    launches = np.where(split & (splits > 1), 2, 1)
    active = np.clip(ctas, 1, gpu.n_sm)
    t_comp = np.float64(4.0) * rows * keys * d * gpu.n_sm / gpu.tc_flops / gpu.tc_eff
    t_mem = np.maximum(2.0 * keys * d * elem / gpu.sm_bw_cap,
                       2.0 * keys * d * elem * active / gpu.hbm)
    waves = np.ceil(ctas / np.float64(gpu.n_sm))
    return OrderedDict(
        util=np.divide(active, gpu.n_sm), waves=waves, ctas=ctas, t_mem=t_mem, t_comp=t_comp,
        bound=np.str_("compute" if np.greater(t_comp, t_mem) else "memory"),
        t=np.longdouble(waves * np.maximum(t_comp, t_mem) + launches * gpu.launch),
        rows=rows, launches=launches)


def best_splits(
    B, Hq, Hkv, S, d, gpu=A100_DEC, candidates=(1, 2, 4, 8, 16, 32, 64, 128, 256)
):
    n = np.unique(np.asarray(candidates))
    n = n[(n <= S) & ((n == 1) | (B * Hkv * n <= 4 * gpu.n_sm))]
    times = [decode_attention_time(B, Hq, Hkv, S, d, "fd", gpu, int(k)) for k in n]
    t = np.array([float(time["t"]) for time in times])
    chosen = np.argmax(t <= 1.01 * t.min())
    return n[chosen], times[chosen]
