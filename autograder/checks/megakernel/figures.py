"""The figures in megakernel's handout that follow from a term and the models. Never shipped."""

from __future__ import annotations

from typing import Any

from autograder.kit.lab import Lab
from autograder.worker.limits import CALL_SECONDS


def figures(lab: Lab, term: dict) -> dict[str, Any]:
    """Placeholder -> what it stands for."""
    ops = {kernels: lab.llama_1b_ops(term["context"], term["rows_per_cta"], kernels)
           for kernels in ("7", "12")}
    bytes_read = sum(op.bytes for op in ops["7"])
    p = lab.TimelineParams()
    return {
        "call_seconds": CALL_SECONDS,
        "kernels_7": len(ops["7"]),
        "kernels_12": len(ops["12"]),
        "attention_ctas": ops["7"][2].ctas,
        "weights_gb": f"{bytes_read / 1e9:.2f}",
        "ideal_us": f"{bytes_read / p.hbm * 1e6:.0f}",
        "n_sm": p.n_sm,
        "hbm_gbs": p.hbm / 1e9,
        "eff": p.eff,
        "default_launch_us": p.launch * 1e6,
        "ramp_us": p.ramp * 1e6,
        "small_us": p.small * 1e6,
        "sync_us": p.sync * 1e6,
        "instr_us": p.instr_overhead * 1e6,
        "buffer_kib": p.smem_buf / 1024,
    }
