"""Honest: a class holds the model; the result is a dict with a default; n fewer until too slow."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property


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


class Model:
    def __init__(self, gpu, d, elem, ctas, rows, keys, kernels):
        self.gpu, self.d, self.elem = gpu, d, elem
        self.ctas, self.rows, self.keys, self.kernels = ctas, rows, keys, kernels

    @cached_property
    def waves(self):
        return len(range(0, self.ctas, self.gpu.n_sm))

    @cached_property
    def util(self):
        return min(1, self.ctas / self.gpu.n_sm)

    @cached_property
    def t_comp(self):
        flops = 2 * 2 * self.rows * self.keys * self.d
        return flops * self.gpu.n_sm / (self.gpu.tc_eff * self.gpu.tc_flops)

    @cached_property
    def t_mem(self):
        shared = self.gpu.hbm / (self.util * self.gpu.n_sm)
        return (self.keys + self.keys) * self.d * self.elem / min(shared, self.gpu.sm_bw_cap)

    @cached_property
    def bound(self):
        return "memory" if self.t_mem > self.t_comp else "compute"

    @cached_property
    def t(self):
        busy = sum(max(self.t_comp, self.t_mem) for _ in range(self.waves))
        return busy + sum(self.gpu.launch for _ in range(self.kernels))


def decode_attention_time(
    B, Hq, Hkv, S, d, method, gpu=A100_DEC, splits=1, block_m=None, elem=2
):
    model = {
        "fa2": lambda: Model(gpu, d, elem, B * Hq, block_m or 128, S, 1),
        "fd": lambda: Model(gpu, d, elem, B * Hkv * splits, max(Hq // Hkv, block_m or 64),
                            (S + splits - 1) // splits, 1 + (splits > 1)),
    }[method]()
    names = ("t", "ctas", "waves", "bound", "util", "t_comp", "t_mem")
    return defaultdict(float, {name: getattr(model, name) for name in names})


def best_splits(
    B, Hq, Hkv, S, d, gpu=A100_DEC, candidates=(1, 2, 4, 8, 16, 32, 64, 128, 256)
):
    def time(n):
        return decode_attention_time(B, Hq, Hkv, S, d, "fd", gpu, n)

    usable = {n for n in candidates if n <= S and (n < 2 or n * Hkv * B / gpu.n_sm <= 4)}
    limit = 1.01 * min(time(n)["t"] for n in usable)
    while len(usable) > 1 and any(time(n)["t"] <= limit for n in usable - {max(usable)}):
        usable.remove(max(usable))
    return max(usable), dict(time(max(usable)))
