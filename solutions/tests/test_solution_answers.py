"""The answers to the written questions, computed again from the term's figures."""

import math

import pytest

SHAPE = ("B", "Hq", "Hkv", "S", "d")


def attention_answers(lab, N, d, M):
    standard = 4 * N * N + 4 * N * d  # standard_attention with Nk = N and dv = d
    fa1, fa2 = (lab.fa_io_formula(N, d, M, order) for order in ("fa1", "fa2"))
    powers = (2**n for n in range(40))
    return {
        "q1_fa1_elements": fa1,
        "q1_fa2_elements": fa2,
        "q2_times_less": standard / min(fa1, fa2),
        "q3_smallest_M": next(m for m in powers if lab.fa_io_formula(N, d, m, "fa1") < standard),
    }


def decoding_answers(lab, gpu, **shape):
    gpu = {"A100": lab.A100_DEC, "H100": lab.H100_DEC}[gpu]
    shape = [shape[name] for name in SHAPE]
    splits, best = lab.best_splits(*shape, gpu)
    fa2 = lab.decode_attention_time(*shape, "fa2", gpu)
    return {
        "q4_splits": splits,
        "q5_microseconds": 1e6 * best["t"],
        "q6_speedup": fa2["t"] / best["t"],
    }


def megakernel_answers(lab, context, rows_per_cta, launch_us):
    def time(kernels, mode, **params):
        ops = lab.llama_1b_ops(context, rows_per_cta, kernels)
        return lab.timeline(ops, mode, lab.TimelineParams(launch=1e-6 * launch_us, **params))

    seven = time("7", "kernels")
    # The megakernel's time grows with sync: halve the interval in which it meets the kernels'.
    low, high = 0.0, 1e-3
    while low < (middle := (low + high) / 2) < high:
        if time("7", "megakernel", sync=middle)["t"] < seven["t"]:
            low = middle
        else:
            high = middle
    return {
        "q7_bandwidth_utilisation_percent": 100 * seven["bw_util"],
        "q8_microseconds_saved": 1e6 * (time("12", "kernels")["t"] - time("7", "megakernel")["t"]),
        "q9_sync_microseconds": 1e6 * high,
    }


def assert_answers(got, expected):
    assert list(got) == list(expected)
    for key, value in expected.items():
        assert type(got[key]) is type(value)
        assert got[key] == pytest.approx(value, rel=1e-8, abs=0)


def test_the_answers_of_flash_attention_follow_from_the_term(attention, term, answers):
    expected = attention_answers(attention, **term["flash_attention"])
    assert_answers(answers("flash_attention"), expected)


def test_the_answers_of_flash_decoding_follow_from_the_term(decoding, term, answers):
    expected = decoding_answers(decoding, **term["flash_decoding"])
    assert_answers(answers("flash_decoding"), expected)


def test_the_answers_of_megakernel_follow_from_the_term(megakernel, term, answers):
    expected = megakernel_answers(megakernel, **term["megakernel"])
    assert_answers(answers("megakernel"), expected)


def test_the_standard_traffic_of_question_2_is_what_standard_attention_counts(attention):
    X = [[0.5] * 3] * 7
    assert attention.standard_attention(X, X, X)[2].total == 4 * 7 * 7 + 4 * 7 * 3


def test_the_questions_of_flash_attention_tell_the_orders_apart(attention, term):
    figures = term["flash_attention"]
    found = attention_answers(attention, **figures)
    assert not math.isclose(found["q1_fa1_elements"], found["q1_fa2_elements"], rel_tol=0.1)
    assert found["q2_times_less"] > 1.1
    assert found["q3_smallest_M"] > 1
