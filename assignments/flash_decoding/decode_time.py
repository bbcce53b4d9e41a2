"""
How long decode attention takes on a GPU, with and without splits of the keys: a time model.

CTAs run in waves of one per SM, and a CTA takes its products or its reads, whichever is longer.
This version leaves out caches, the reading of q, the writing of o, the work of the kernel that
combines the splits, and CTAs that share an SM.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class DecodeGPU:
    """
    What the model knows of a GPU; the defaults are assumptions.

    n_sm: SMs; tc_flops: dense fp16 flop/s of all tensor cores; hbm: bytes/s of the memory;
    tc_eff: share of tc_flops that a kernel reaches; sm_bw_cap: bytes/s that one SM can draw at
    most; launch: seconds to launch a kernel.
    """

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
) -> dict:
    """
    The time of one decode step's attention in one layer.

    "fa2" has a CTA per sequence and query head, with a tile of block_m (128 when None) rows over
    all S keys, in one kernel. "fd" has a CTA per sequence, KV head and split, whose tile holds the
    Hq // Hkv query heads of the group and at least block_m (64 when None) rows over
    ceil(S / splits) keys, in one kernel, or two if there are several splits to combine.

    A CTA reads its keys and values, 2*keys*d elements, and computes 4*rows*keys*d flops on its
    SM's share of tc_eff * tc_flops. The SMs that have work share hbm evenly, but none draws more
    than sm_bw_cap. Each wave of n_sm CTAs takes the longer of the two times; each kernel costs a
    launch.

    Args:
        B: sequences
        Hq, Hkv: query heads and KV heads
        S: keys
        d: elements of a head
        method: "fa2" or "fd"
        gpu: a DecodeGPU
        splits: splits of the keys; "fa2" has none
        block_m: rows of a tile, see above
        elem: bytes of an element

    Returns:
        dict of t (seconds), ctas, waves, bound ("compute" if the products take longer than the
        reads, else "memory"), util (share of the SMs that have work, at most 1), t_comp and t_mem
        (seconds of one CTA's products and reads)

    Raises:
        ValueError: B, S, d, Hkv, splits or block_m below 1, Hq < Hkv, elem not positive, an
            unknown method

    Source: Dao, Haziza, Massa and Sizov 2023, Flash-Decoding for long-context inference, describe
    the two methods; the model is this course's.
    """
    _check_decode(B, Hq, Hkv, S, d, method, splits, block_m, elem)
    # TODO: return t, ctas, waves, bound, util, t_comp and t_mem
    raise NotImplementedError("TODO: return t, ctas, waves, bound, util, t_comp and t_mem")


def best_splits(
    B, Hq, Hkv, S, d, gpu=A100_DEC, candidates=(1, 2, 4, 8, 16, 32, 64, 128, 256)
) -> tuple[int, dict]:
    """
    The number of splits that "fd" should use: the fewest within 1 % of the best time.

    Only candidates that fit take part: at most S, and either 1 or with no more than 4 CTAs per SM,
    B*Hkv*splits <= 4*n_sm.

    Args:
        B, Hq, Hkv, S, d, gpu: as in decode_attention_time
        candidates: numbers of splits to choose from, in any order

    Returns:
        (splits, the dict of decode_attention_time for them)

    Raises:
        ValueError: a candidate below 1, no candidate that fits, and as decode_attention_time

    Source: the model is this course's.
    """
    _check_decode(B, Hq, Hkv, S, d)
    candidates = _checked_candidates(candidates)
    # TODO: return the splits to use and their time
    raise NotImplementedError("TODO: return the splits to use and their time")


def _check_decode(B, Hq, Hkv, S, d, method="fd", splits=1, block_m=None, elem=2):
    counts = {"B": B, "Hkv": Hkv, "S": S, "d": d, "splits": splits}
    if block_m is not None:
        counts["block_m"] = block_m
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if Hq < Hkv:
        raise ValueError(f"Hq must be at least Hkv = {Hkv}, got {Hq}")
    if elem <= 0:
        raise ValueError(f"elem must be positive, got {elem}")
    if method not in ("fa2", "fd"):
        raise ValueError(f'method must be "fa2" or "fd", got {method!r}')


def _checked_candidates(candidates):
    candidates = list(candidates)
    if any(n < 1 for n in candidates):
        raise ValueError(f"candidates must be at least 1, got {candidates}")
    return candidates
