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
    # BEGIN SOLUTION: return the seconds of each part when every op is a kernel
    names = ("weights", "bandwidth_loss", "launch", "ramp", "tail", "small_kernels")
    parts = dict.fromkeys(names, 0.0)
    bw = p.hbm * p.eff / p.n_sm  # bytes/s of one SM
    for op in ops:
        parts["launch"] += p.launch
        if op.ctas == 0:
            parts["small_kernels"] += p.small
            continue
        parts["ramp"] += p.ramp
        # As fast as the memory could be, as fast as it is with all SMs busy, as it comes out.
        ideal = op.bytes / p.hbm
        full = op.bytes / (p.n_sm * bw)
        waves = -(-op.ctas // p.n_sm)
        actual = waves * (op.bytes / op.ctas) / bw
        parts["weights"] += ideal
        parts["bandwidth_loss"] += full - ideal
        parts["tail"] += actual - full
    return parts
    # END SOLUTION


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
    # BEGIN SOLUTION: return the seconds of each part when every op is an instruction
    bw = p.hbm * p.eff / p.n_sm  # bytes/s of one SM
    loaded = 0.0  # this SM's weights are read up to here
    done = 0.0  # the previous op ended on all SMs
    for op in ops:
        share = op.bytes / p.n_sm
        ready = done + p.sync
        # While the SM waits, it reads ahead into its buffer.
        prefetched = min(share, p.smem_buf, max(0.0, ready - loaded) * bw)
        # The rest comes after the op begins; no read is faster than the bandwidth.
        begin = max(ready, loaded)
        loaded = max(loaded + share / bw, begin + (share - prefetched) / bw)
        done = max(loaded, begin) + p.instr_overhead

    ideal = sum(op.bytes for op in ops) / p.hbm
    return {
        "weights": ideal,
        "bandwidth_loss": ideal / p.eff - ideal,
        "sync_overhead": done - ideal / p.eff,
    }
    # END SOLUTION
