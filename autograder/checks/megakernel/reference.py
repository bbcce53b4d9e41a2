"""
What the build freezes of megakernel; it never leaves the project.

Cases of both timelines, the written questions' answers, and the requests that tell known mistakes
apart.
"""

from __future__ import annotations

from autograder.kit.calls import Run

# A GPU of round figures: an SM reads 80 KB in a microsecond.
ROUND = {"n_sm": 10, "hbm": 1e12, "eff": 0.8, "launch": 2e-6, "ramp": 1.5e-6, "small": 3e-6,
         "sync": 4e-6, "instr_overhead": 1e-6, "smem_buf": 500_000}
OTHER = {"n_sm": 7, "hbm": 1.7e12, "eff": 0.6, "launch": 5e-6, "ramp": 4e-6, "small": 7e-6,
         "sync": 9e-6, "instr_overhead": 3e-6, "smem_buf": 30_000}
NOTHING = {"eff": 1.0, "launch": 0.0, "ramp": 0.0, "small": 0.0, "sync": 0.0,
           "instr_overhead": 0.0, "smem_buf": 0}
LAYER = [("rmsnorm", 8192, 0), ("qkv", 12582912, 192), ("attention", 327680, 32),
         ("o_proj", 8388608, 128)]


def public(call, term):
    """Few cases of few ops, each of which shows another side of the models."""
    def kernels(*ops, **params):
        return timeline(call, ops, "kernels", params)

    def megakernel(*ops, **params):
        return timeline(call, ops, "megakernel", params)

    norm, qkv, attention, o_proj = LAYER
    return {
        "kernels": [
            kernels(norm, qkv, ("rope", 0, 0), attention),
            kernels(("down", 33554432, 132)),  # exactly one wave
            kernels(("up", 4_000_000, 25), ("add", 300_000, 0), ("down", 3_000_000, 7), **ROUND),
            kernels(("gate", 1_000_000, 265), ("nothing", 0, 5)),  # no bytes, and yet not small
        ],
        "kernels_llama": [call.timeline(call.llama_1b_ops(), "kernels"),
                          call.timeline(call.llama_1b_ops(2048, 24, "12"), "kernels")],
        "megakernel_one": [
            megakernel(qkv),
            megakernel(("up", 4_000_000, 25), **ROUND),
            megakernel(("few", 20_000, 25), **ROUND),  # all read before it is ready
        ],
        "megakernel_several": [
            megakernel(qkv, o_proj),
            megakernel(("up", 4_000_000, 25), ("down", 4_500_000, 25), ("head", 6_000_000, 40),
                       **ROUND),
        ],
        "megakernel_buffer": [
            megakernel(qkv, smem_buf=20_000),
            megakernel(qkv, o_proj, sync=2e-5),
            megakernel(("up", 4_000_000, 25), ("down", 3_000_000, 25), **ROUND | {"smem_buf": 0}),
        ],
        "megakernel_little": [
            megakernel(attention, o_proj, sync=4e-6),
            megakernel(("none", 0, 10), ("up", 4_000_000, 25), **ROUND),
        ],
        "megakernel_alike": [
            megakernel(("up", 4_000_000, 0), ("down", 4_500_000, 1), **ROUND),
            megakernel(("up", 4_000_000, 25), ("down", 4_500_000, 25),
                       **ROUND | {"launch": 9e-6, "ramp": 8e-6, "small": 7e-6}),
        ],
        "megakernel_llama": [call.timeline(call.llama_1b_ops(), "megakernel"),
                             call.timeline(call.llama_1b_ops(2048, 24, "fused"), "megakernel")],
    }


def hidden(call, term):
    """Many cases: lists of ops of every make, every figure changed, other decode steps."""
    cases = {}
    for mode in ("kernels", "megakernel"):
        cases[mode] = [timeline(call, ops, mode, params)
                       for ops in _lists() for params in ({}, ROUND, {"smem_buf": 9000})]
        cases[f"{mode}_params"] = [timeline(call, ops, mode, params)
                                   for ops in _lists()[:3] for params in _params()]
        cases[f"{mode}_llama"] = [
            call.timeline(call.llama_1b_ops(context, rows_per_cta, kernels), mode)
            for context, rows_per_cta in ((1, 16), (700, 10), (8000, 33))
            for kernels in ("7", "12", "fused")]
    return cases


def _lists() -> list[list[tuple]]:
    """Lists of ops: small ones first and last, few and many CTAs, bytes from none to many."""
    norm, qkv, attention, o_proj = LAYER
    tiny, wide = ("tiny", 300, 1), ("wide", 90_000_001, 5001)
    return [
        [norm, qkv, attention, ("rope", 0, 0), o_proj, ("residual", 70_000, 0)],
        [wide, tiny, attention, tiny, wide, o_proj],
        [("none", 0, 132), o_proj, ("none", 0, 3), attention, qkv],
        [norm], [("none", 0, 0)], [qkv], [tiny], [("even", 13_200_000, 264)],
        [norm, norm, norm], [tiny, tiny, qkv], [attention, norm, wide, norm],
        [("part", 5_000_000, ctas) for ctas in (1, 9, 10, 11, 131, 132, 133, 263, 265)],
        [("part", size, 140) for size in (10**7, 10**5, 10**6, 3 * 10**6, 10**4, 10**8)],
    ]


def _params() -> list[dict]:
    """The round figures with each of them changed, once to another value and once to nothing."""
    changed = [ROUND | {name: value} for name, value in (*OTHER.items(), *NOTHING.items())]
    return [*changed, OTHER, ROUND | NOTHING]


def timeline(call, ops, mode, params):
    """The call for ops given as (name, bytes, ctas); default figures when there are no params."""
    given = [call.Op(*op) for op in ops]
    more = (call.TimelineParams(**params),) if params else ()
    return call.timeline(given, mode, *more)


def answers(lab, term):
    """The answers to the written questions, at the term's figures."""
    def step(kernels, mode, **params):
        ops = lab.call.llama_1b_ops(term["context"], term["rows_per_cta"], kernels)
        launch = 1e-6 * term["launch_us"]
        return lab.timeline(ops, mode, lab.call.TimelineParams(launch=launch, **params))

    seven, mega = step("7", "kernels"), step("7", "megakernel")
    saved = step("12", "kernels")["t"] - mega["t"]
    low, high = 0.0, 1e-3  # the megakernel is faster at low, slower at high
    for _ in range(60):
        sync = (low + high) / 2
        slower = step("7", "megakernel", sync=sync)["t"] > seven["t"]
        low, high = (low, sync) if slower else (sync, high)
    return {"q7_bandwidth_utilisation_percent": (100 * seven["bw_util"], 1e-2),
            "q8_microseconds_saved": (1e6 * saved, 1e-2),
            "q9_sync_microseconds": (1e6 * high, 1e-2)}


def doubts(lab, term):
    """Why a question would be ambiguous or trivial at the term's figures; none when it is fine."""
    right = {key: value for key, (value, _) in answers(lab, term).items()}
    said = {
        "question 7: nothing is lost": right["q7_bandwidth_utilisation_percent"] > 85,
        "question 8: the megakernel saves next to nothing": right["q8_microseconds_saved"] < 1,
        "question 9: no sync cost makes them equal": not 0.1 < right["q9_sync_microseconds"] < 900,
    }
    return [doubt for doubt, holds in said.items() if holds]


def diagnostics(call):
    """Requests on which known mistakes differ."""
    lists = [LAYER, _lists()[2], [("up", 4_000_000, 25), ("down", 3_500_000, 25)], [LAYER[1]],
             [LAYER[0], ("even", 13_200_000, 10)]]
    params = [{}, ROUND, OTHER, ROUND | {"sync": 1e-8, "instr_overhead": 2e-8}]
    return {f"timeline_{mode}": [Run((timeline(call, ops, mode, figures),))
                                 for ops in lists for figures in params]
            for mode in ("kernels", "megakernel")}
