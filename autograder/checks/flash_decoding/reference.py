"""
What the build freezes of flash_decoding; it never leaves the project.

Cases of the time model, the written questions' answers, and the requests that tell known mistakes
apart. No case lies near a tie of t_comp and t_mem.
"""

from __future__ import annotations

import numpy as np

from autograder.kit.calls import ArgumentsAfter, PeakMemory, Run

SHAPE = ("B", "Hq", "Hkv", "S", "d")
CANDIDATES = [2**k for k in range(9)]  # best_splits' own


def public(call, term):
    """Few cases, each of which shows another side of the model."""
    time = call.decode_attention_time
    return {
        "fa2": [
            time(1, 32, 8, 4096, 128, "fa2"),  # the CTAs share the memory; products take longer
            time(2, 6, 3, 1000, 64, "fa2", block_m=16),  # 12 CTAs: one SM can't draw its share
            time(5, 96, 1, 3001, 80, "fa2", call.H100_DEC, block_m=40),  # 480 CTAs: four waves
            time(3, 72, 9, 500, 64, "fa2", splits=4, elem=4),  # splits mean nothing to fa2
        ],
        "fd": [
            time(1, 32, 8, 4096, 128, "fd", splits=8),
            time(1, 12, 2, 1000, 64, "fd", splits=7),  # 14 CTAs of 143 keys, the last one of 142
            time(2, 200, 1, 3001, 80, "fd"),  # a group of 200 heads; one split, one kernel
            time(4, 54, 27, 2000, 128, "fd"),  # as many CTAs as SMs: one wave
            time(3, 40, 5, 2000, 128, "fd", call.H100_DEC, splits=12, block_m=16, elem=1),
            time(4, 10, 4, 999, 64, "fd", splits=10, block_m=2),  # groups of 2, not of 2.5
        ],
    }


def hidden(call, term):
    """Many cases: every argument and every figure of the GPU with every branch."""
    return {"fa2": list(_fa2(call)), "fd": list(_fd(call)), "gpus": list(_gpus(call))}


def _fa2(call):
    shapes = [(1, 20, 20, 700, 64), (1, 19, 1, 5000, 128), (4, 27, 3, 1234, 96),
              (7, 31, 31, 333, 128), (9, 24, 2, 600, 32), (10, 64, 8, 2048, 64),
              (1, 1, 1, 1, 1), (3, 44, 4, 77, 256)]
    for shape in shapes:
        for block_m in (None, 7, 24, 192):
            yield call.decode_attention_time(*shape, "fa2", block_m=block_m)
        yield call.decode_attention_time(*shape, "fa2", call.H100_DEC, 3, elem=0.5)


def _fd(call):
    shapes = [(1, 20, 20, 700, 64), (1, 38, 2, 5000, 128), (2, 27, 5, 1234, 96),
              (3, 130, 1, 333, 128), (6, 65, 9, 2048, 64), (1, 1, 1, 1, 1), (2, 150, 1, 97, 256)]
    for shape in shapes:
        for splits in (1, 2, 5, 24):
            yield call.decode_attention_time(*shape, "fd", splits=splits)
            yield call.decode_attention_time(*shape, "fd", splits=splits, block_m=3)
        yield call.decode_attention_time(*shape, "fd", call.H100_DEC, 6, 100, elem=4)
        yield call.decode_attention_time(*shape, "fd", splits=2, elem=0.5)


def _gpus(call):
    base = {"n_sm": 6, "tc_flops": 3e12, "hbm": 300e9, "tc_eff": 0.5, "sm_bw_cap": 60e9,
            "launch": 3e-6}
    others = {"n_sm": 11, "tc_flops": 2e12, "hbm": 410e9, "tc_eff": 0.85, "sm_bw_cap": 45e9,
              "launch": 4e-5}
    cards = [base, *(base | {name: value} for name, value in others.items())]
    for card in cards:
        for work in (("fa2", 1, 4), ("fd", 1, 8), ("fd", 3, 90), ("fd", 2, 3)):
            method, splits, block_m = work
            yield call.decode_attention_time(2, 8, 2, 911, 48, method,
                                             call.DecodeGPU("A100", **card), splits, block_m)


def answers(lab, term):
    """The answers to the written questions, at the term's figures."""
    gpu = getattr(lab.call, f"{term['gpu']}_DEC")
    shape = [term[name] for name in SHAPE]
    splits, best = lab.best_splits(*shape, gpu)
    fa2 = lab.decode_attention_time(*shape, "fa2", gpu)
    return {"q4_splits": (splits, 0.0), "q5_microseconds": (1e6 * best["t"], 1e-2),
            "q6_speedup": (fa2["t"] / best["t"], 1e-2)}


def doubts(lab, term):
    """Why a question would be ambiguous or trivial at the term's figures; none when it is fine."""
    shape = [term[name] for name in SHAPE]
    gpu = getattr(lab.call, f"{term['gpu']}_DEC")
    right = {key: value for key, (value, _) in answers(lab, term).items()}
    n_sm = round(1 / lab.decode_attention_time(1, 1, 1, 1, 1, "fa2", gpu)["util"])
    fitting = [s for s in CANDIDATES if s <= term["S"] and (
        s == 1 or term["B"] * term["Hkv"] * s <= 4 * n_sm)]
    times = {s: lab.decode_attention_time(*shape, "fd", gpu, s)["t"] for s in fitting}
    near = [s for s in fitting if s != right["q4_splits"] and
            times[s] < 1.02 * times[right["q4_splits"]]]
    said = {
        f"question 4: {near} splits take as long within 2 %": bool(near),
        "question 4: one split is best": right["q4_splits"] == 1,
        "question 6: fa2 is as fast within 20 %": right["q6_speedup"] < 1.2,
    }
    return [doubt for doubt, holds in said.items() if holds]


def diagnostics(call):
    """Requests on which known mistakes differ; where keys are cut, usual ways of cutting agree."""
    return {
        "split_kv_decode": list(_decode_requests(call)),
        "decode_attention_time": [Run((case,)) for case in _telling(call)],
        "best_splits": [Run((call.best_splits(*shape, **more),)) for shape, more in (
            ((1, 32, 8, 65536, 128), {}),
            ((1, 9, 3, 50000, 96), {}),
            ((3, 24, 9, 30000, 64), {"candidates": (16, 4, 2, 8)}),
            ((1, 8, 1, 64000, 128), {"gpu": _card(call)}),
            ((1, 4, 1, 6, 65536), {"gpu": _card(call), "candidates": (1, 4, 8)}),
            ((1, 4, 1, 16, 4096), {}),
            ((11, 40, 10, 30000, 64), {}),
            ((1, 110, 110, 30000, 64), {}),
            ((1, 20, 5, 40000, 128), {"candidates": (20, 3, 7, 1, 14, 10, 21, 11)}),
            ((18, 32, 8, 9000, 64), {"candidates": (1, 2, 3)}),
            ((80, 32, 8, 4000, 128), {}),
            ((20, 10, 10, 30000, 64), {"candidates": (2,)}),
            ((1, 20, 5, 40000, 128), {"candidates": (10, 3, 20, 10, 20)}),
        )],
    }


def _decode_requests(call):
    def decode(R, S, d, dv, n_splits, lift=0.0, slope=0.0, apart=0.0, dtype=float, **more):
        rng = np.random.default_rng(5)
        q, K, V = (rng.normal(size=size) for size in ((R, d), (S, d), (S, dv)))
        along = np.linspace(-1, 1, S)[:, None]
        K += lift + slope * along
        V += apart * np.sign(along)
        return call.split_kv_decode(*(x.astype(dtype) for x in (q, K, V)), n_splits, **more)

    usual = decode(3, 12, 4, 2, 3)
    yield Run((usual,))
    yield Run((decode(2, 8, 3, 3, 2, scale=0.0, apart=1000.0),))
    yield Run((decode(2, 8, 3, 3, 2, scale=-0.6),))
    yield Run((decode(2, 8, 3, 2, 2, lift=2000.0),))
    yield Run((decode(4, 8, 3, 2, 2, slope=2000.0),))
    yield Run((decode(2, 6, 3, 2, 1),))
    yield Run((decode(2, 3, 3, 2, 5),))  # more splits than keys
    yield Run((decode(2, 7, 3, 2, 2),))  # a remainder
    yield Run((decode(1, 6, 3, 1, 3),))
    yield Run((decode(2, 6, 3, 2, 2, dtype=np.float32),))
    yield PeakMemory(decode(256, 256, 1, 1, 16), decode(8, 64, 1, 1, 4), limit=256 * 256 * 6)
    yield ArgumentsAfter(usual)
    yield Run((usual, decode(3, 12, 4, 2, 3, scale=0.3)))


def _telling(call):
    time = call.decode_attention_time
    yield time(1, 32, 8, 4096, 128, "fa2")
    yield time(2, 6, 3, 1000, 64, "fa2", block_m=16)
    yield time(5, 96, 1, 3001, 80, "fa2", call.H100_DEC, splits=3, block_m=40, elem=4)
    yield time(1, 32, 8, 4096, 128, "fd", splits=8)
    yield time(1, 12, 2, 1000, 64, "fd", splits=7)
    yield time(2, 200, 1, 3001, 80, "fd")
    yield time(4, 54, 27, 2000, 128, "fd")
    yield time(3, 40, 5, 2000, 128, "fd", _card(call), splits=12, block_m=16, elem=1)
    yield time(4, 10, 4, 999, 64, "fd", splits=10, block_m=2)
    yield time(1, 6, 2, 700, 64, "fa2", elem=0.5)


def _card(call):
    return call.DecodeGPU("card", 40, 600e12, 1608e9, sm_bw_cap=100e9, launch=2e-6)
