"""Honest: exact fractions until the end and in the result; a list for a pair."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil


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


def decode_attention_time(
    B, Hq, Hkv, S, d, method, gpu=A100_DEC, splits=1, block_m=None, elem=2
):
    if method == "fa2":
        ctas, rows, keys, kernels = B * Hq, block_m or 128, S, 1
    else:
        ctas, rows = B * Hkv * splits, max(Hq // Hkv, block_m or 64)
        keys, kernels = ceil(Fraction(S, splits)), min(splits, 2)
    active = min(ctas, gpu.n_sm)
    per_sm = Fraction(gpu.tc_flops) / gpu.n_sm * Fraction(gpu.tc_eff)
    bandwidth = min(Fraction(gpu.sm_bw_cap), Fraction(gpu.hbm) / active)
    t_comp, t_mem = 4 * rows * keys * d / per_sm, 2 * keys * d * Fraction(elem) / bandwidth
    waves = ceil(Fraction(ctas, gpu.n_sm))
    return {"t": waves * max(t_comp, t_mem) + kernels * Fraction(gpu.launch), "ctas": ctas,
            "waves": waves, "bound": ["memory", "compute"][t_comp > t_mem],
            "util": Fraction(active, gpu.n_sm), "t_comp": t_comp, "t_mem": t_mem}


def best_splits(
    B, Hq, Hkv, S, d, gpu=A100_DEC, candidates=(1, 2, 4, 8, 16, 32, 64, 128, 256)
):
    most = max(1, 4 * gpu.n_sm // (B * Hkv))
    times = [[n, decode_attention_time(B, Hq, Hkv, S, d, "fd", gpu, n)]
             for n in candidates if n <= min(S, most)]
    best = min(time["t"] for _, time in times)
    return min(pair for pair in times if pair[1]["t"] / best <= Fraction(101, 100))
