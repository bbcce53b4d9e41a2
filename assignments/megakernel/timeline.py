"""
Where the time of a decode step goes, as many kernels and as one megakernel: a time model.

All that counts is reading the weights, and what keeps the SMs from it. This version leaves out
computing, L2, and differences between SMs; it follows one SM, or all of them as one.
"""

import math

from llama_ops import Op, TimelineParams


def timeline(ops, mode, p=TimelineParams()) -> dict:  # noqa: B008, TimelineParams is frozen
    """
    The time of a list of operations, and where it goes.

    Args:
        ops: list of Op, in order
        mode: "kernels" (each op is a kernel of its own) or "megakernel" (each op is an instruction
            of one kernel that never stops)
        p: TimelineParams

    Returns:
        dict of t (seconds), ideal (seconds to read the bytes of all ops at hbm), bw_util
        (ideal / t) and parts, a dict of seconds that add up to t: weights, bandwidth_loss, launch,
        ramp, tail, small_kernels, sync_overhead; a part that is 0 may be left out

    Raises:
        ValueError: ops is empty, an unknown mode

    Source: Hazy Research 2025, Look Ma, No Bubbles! Designing a Low-Latency Megakernel for
    Llama-1B, names the losses; the model is this course's.
    """
    ops = list(ops)
    if not ops:
        raise ValueError(f"ops must hold an operation, got {ops}")
    if mode not in ("kernels", "megakernel"):
        raise ValueError(f'mode must be "kernels" or "megakernel", got {mode!r}')
    parts = _kernels(ops, p) if mode == "kernels" else _megakernel(ops, p)
    t = math.fsum(parts.values())  # rounded once, so the same in every Python
    ideal = sum(op.bytes for op in ops) / p.hbm
    return {"t": t, "ideal": ideal, "bw_util": ideal / t, "parts": parts}


def _kernels(ops: list[Op], p: TimelineParams) -> dict:
    """
    The parts of the timeline with mode "kernels".

    Every op costs a launch, the first and the small ones too. A small one (ctas = 0) then costs
    small and nothing else, whatever its bytes. Any other costs a ramp and waves of n_sm CTAs, each
    of which reads its equal share of the op's bytes at the bandwidth of one SM, hbm*eff / n_sm.

    Args:
        ops: list of Op, in order, at least one
        p: TimelineParams

    Returns:
        dict of seconds: launch; small_kernels; ramp; weights, the bytes at hbm; bandwidth_loss,
        what reading them at hbm*eff adds; tail, what the waves take beyond that, because the last
        one need not fill the SMs

    Source: Hazy Research 2025, Look Ma, No Bubbles!, on kernel boundaries; the model is this
    course's.
    """
    # TODO: return the seconds of each part when every op is a kernel
    raise NotImplementedError("TODO: return the seconds of each part when every op is a kernel")


def _megakernel(ops: list[Op], p: TimelineParams) -> dict:
    """
    The parts of the timeline with mode "megakernel".

    All SMs are alike, so one is followed: it reads bytes / n_sm of each op, small or not, at the
    bandwidth hbm*eff / n_sm. An op is ready sync after the previous one ended on all SMs (the
    first one sync after the start); it begins when it is ready and the SM has read what comes
    before it. From the end of the reading before it until it is ready, the SM already reads its
    weights, as far as they fit into smem_buf; the rest it reads after it begins. Each op ends
    instr_overhead after its weights are read. ctas, launch, ramp and small play no part.

    Args:
        ops: list of Op, in order, at least one
        p: TimelineParams

    Returns:
        dict of seconds: weights, all bytes at hbm; bandwidth_loss, what reading them at hbm*eff
        adds; sync_overhead, the rest of the time at which the last op ends

    Source: Hazy Research 2025, Look Ma, No Bubbles!, on shared-memory paging and on
    synchronization; the model is this course's.
    """
    # TODO: return the seconds of each part when every op is an instruction
    raise NotImplementedError(
        "TODO: return the seconds of each part when every op is an instruction"
    )
