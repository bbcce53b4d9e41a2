"""The figures in flash_decoding's handout that follow from a term and the models. Never shipped."""

from __future__ import annotations

from typing import Any

from autograder.kit.border import Record
from autograder.kit.lab import Lab
from autograder.worker.limits import CALL_SECONDS

BF16 = 2  # bytes


def figures(lab: Lab, term: dict) -> dict[str, Any]:
    """Placeholder -> what it stands for."""
    gpus = {name: gpu_of(lab, f"{name.upper()}_DEC") for name in ("a100", "h100")}
    gpu, ctas = gpus[term["gpu"].lower()], term["B"] * term["Hq"]
    cache = 2 * term["B"] * term["Hkv"] * term["S"] * term["d"] * BF16
    values = {
        "call_seconds": CALL_SECONDS,
        "cache_mib": cache / 2**20,
        "fa2_ctas": ctas,
        "gpu_n_sm": gpu.n_sm,
        "idle_sms": max(0, gpu.n_sm - ctas),
    }
    for name, one in gpus.items():
        values |= {
            f"{name}_n_sm": one.n_sm,
            f"{name}_tflops": one.tc_flops / 1e12,
            f"{name}_gbs": one.hbm / 1e9,
            f"{name}_tc_eff": one.tc_eff,
            f"{name}_cap_gbs": one.sm_bw_cap / 1e9,
            f"{name}_launch_us": one.launch * 1e6,
        }
    return values


def gpu_of(lab: Lab, name: str) -> Record:
    """One of the lab's GPUs: an argument of a call, as the call leaves it."""
    gpu = getattr(lab.call, name)
    return lab.arguments_after(lab.call.decode_attention_time(1, 1, 1, 1, 1, "fd", gpu))[-1]
