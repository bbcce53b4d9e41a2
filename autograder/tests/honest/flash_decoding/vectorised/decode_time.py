"""Honest: best_splits computes all candidates at once with arrays and asks for one dict only."""
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


def work(B, Hq, Hkv, S, d, method, splits, block_m):
    heads, tile, pieces = (Hkv, 64, splits) if method == "fd" else (Hq, 128, 1)
    rows = block_m or tile
    return B * heads * pieces, max(rows, Hq // Hkv) if method == "fd" else rows, -(-S // pieces)


def decode_attention_time(
    B, Hq, Hkv, S, d, method, gpu=A100_DEC, splits=1, block_m=None, elem=2
):
    ctas, rows, keys = work(B, Hq, Hkv, S, d, method, splits, block_m)
    waves, left = divmod(ctas, gpu.n_sm)
    waves += left > 0
    busy = gpu.n_sm if waves > 1 else ctas
    t_comp = 4 * rows * keys * d / (gpu.tc_eff * gpu.tc_flops) * gpu.n_sm
    t_mem = max(busy / gpu.hbm, 1 / gpu.sm_bw_cap) * 2 * keys * d * elem
    bound, longer = max(("memory", t_mem), ("compute", t_comp), key=lambda pair: pair[1])
    t = waves * longer + gpu.launch * (1 + (ctas > B * Hkv and method == "fd"))
    return dict(t=t, ctas=ctas, waves=waves, bound=bound, util=busy / gpu.n_sm, t_comp=t_comp,
                t_mem=t_mem)


def best_splits(
    B, Hq, Hkv, S, d, gpu=A100_DEC, candidates=(1, 2, 4, 8, 16, 32, 64, 128, 256)
):
    n = np.array(sorted(set(candidates)))
    n = n[(n <= S) & np.logical_or(n == 1, n * B * Hkv <= 4 * gpu.n_sm)]
    ctas, keys, rows = B * Hkv * n, -(-S // n), max(Hq // Hkv, 64)
    bandwidth = np.minimum(gpu.sm_bw_cap, gpu.hbm / np.minimum(ctas, gpu.n_sm))
    t_comp = 4 * rows * keys * d / (gpu.tc_flops / gpu.n_sm * gpu.tc_eff)
    t = np.maximum(t_comp, 4 * keys * d / bandwidth) * -(-ctas // gpu.n_sm)
    t += np.where(n > 1, 2, 1) * gpu.launch
    splits = int(n[t <= t.min() * 1.01].min())
    return splits, decode_attention_time(B, Hq, Hkv, S, d, "fd", gpu, splits)
