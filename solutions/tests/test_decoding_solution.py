"""The solution of flash_decoding against the golden numbers, a dense formula and the contract."""

import math
import tracemalloc

import numpy as np
import pytest

TIME_KEYS = {"t", "ctas", "waves", "bound", "util", "t_comp", "t_mem"}
CANDIDATES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def decode_inputs(R, S, d, dv, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return [spread * rng.normal(size=shape) for shape in ((R, d), (S, d), (S, dv))]


def dense(q, K, V, scale):
    """o and lse of attention over all keys, row by row, and the largest score."""
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    s = scale * np.einsum("rd,sd->rs", q, K)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    l = p.sum(axis=1)
    return p @ V / l[:, None], s.max(axis=1) + np.log(l), np.abs(s).max()


def assert_close(got, expected, largest_score=0.0):
    expected = np.asarray(expected, dtype=float)
    assert got.shape == expected.shape
    assert got.dtype == np.float64
    assert np.isfinite(got).all()
    bound = (1e-9 + 8 * np.finfo(float).eps * largest_score) * max(1.0, np.abs(expected).max())
    assert np.abs(got - expected).max() <= bound


def segments(K, V, parts, q, scale):
    """The lengths of the runs of keys that the parts are the attention over, in key order."""
    lengths, start = [], 0
    for o_s, lse_s in parts:
        for stop in range(start + 1, len(K) + 1):
            o, lse, largest = dense(q, K[start:stop], V[start:stop], scale)
            if np.allclose(o, o_s, rtol=0, atol=1e-9) and np.allclose(lse, lse_s, atol=1e-9):
                break
        else:
            pytest.fail(f"part {len(lengths)} is not the attention over keys {start}:...")
        lengths.append(stop - start)
        start = stop
    assert start == len(K)
    return lengths


# split_kv_decode.


def test_split_kv_decode_equals_the_golden_numbers(decoding, golden):
    for case in golden("split_kv_decode"):
        o, lse, parts = decoding.split_kv_decode(**case["in"])
        assert_close(o, case["o"])
        assert_close(lse, case["lse"])
        assert len(parts) == len(case["parts"])
        for (o_s, lse_s), expected in zip(parts, case["parts"], strict=True):
            assert_close(o_s, expected["o"])
            assert_close(lse_s, expected["lse"])


@pytest.mark.parametrize("scale", [None, 0.0, -0.7, 30.0])
@pytest.mark.parametrize("n_splits", [1, 2, 3, 7, 13, 14, 10**12])
def test_the_output_does_not_depend_on_the_splits(decoding, n_splits, scale):
    q, K, V = decode_inputs(3, 13, 4, 2)
    expected_o, expected_lse, largest = dense(q, K, V, scale)
    o, lse, _ = decoding.split_kv_decode(q, K, V, n_splits, scale)
    assert_close(o, expected_o, largest)
    assert_close(lse, expected_lse, largest)


@pytest.mark.parametrize("S", [1, 2, 5, 13])
@pytest.mark.parametrize("n_splits", [1, 2, 3, 5, 12, 40])
def test_the_parts_are_short_segments_of_all_keys_in_order(decoding, S, n_splits):
    q, K, V = decode_inputs(2, S, 3, 2)
    parts = decoding.split_kv_decode(q, K, V, n_splits)[2]
    lengths = segments(K, V, parts, q, None)
    assert len(lengths) <= min(n_splits, S)
    assert len(lengths) >= (2 if n_splits > 1 and S > 1 else 1)
    assert max(lengths) <= 2 * math.ceil(S / n_splits)


@pytest.mark.parametrize("mean", [-1e4, 1e3])
def test_decoding_bears_scores_far_from_0_everywhere(decoding, mean):
    q, K, V = decode_inputs(2, 11, 3, 2)
    q[:, 0], K[:, 0] = 10.0, mean / 10.0
    expected_o, expected_lse, largest = dense(q, K, V, 1.0)
    o, lse, _ = decoding.split_kv_decode(q, K, V, 4, 1.0)
    assert_close(o, expected_o, largest)
    assert_close(lse, expected_lse, largest)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_decoding_computes_in_float64_whatever_comes_in(decoding, dtype):
    q, K, V = (x.astype(dtype) for x in decode_inputs(2, 11, 3, 2))
    expected_o, expected_lse, _ = dense(*(x.astype(float) for x in (q, K, V)), None)
    o, lse, _ = decoding.split_kv_decode(q, K, V, 4)
    assert_close(o, expected_o)
    assert_close(lse, expected_lse)


LAYOUTS = {
    "fortran": np.asfortranarray,
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "lists": lambda x: x.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoding_takes_arrays_of_any_layout_and_changes_none(decoding, layout):
    exact = decode_inputs(2, 11, 3, 2)
    given = [LAYOUTS[layout](x) for x in exact]
    for x in given:
        if layout != "lists":
            x.flags.writeable = False
    o, lse, _ = decoding.split_kv_decode(*given, 4)
    expected_o, expected_lse, _ = dense(*exact, None)
    assert_close(o, expected_o)
    assert_close(lse, expected_lse)


def test_no_intermediate_grows_like_all_scores(decoding):
    q, K, V = decode_inputs(64, 2048, 4, 4)
    decoding.split_kv_decode(q, K, V, 16)
    tracemalloc.start()
    try:
        kept = decoding.split_kv_decode(q, K, V, 16)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(kept[2]) == 16
    assert peak < 0.75 * 64 * 2048 * 8


# The time model.


def assert_times(got, expected):
    assert set(got) == TIME_KEYS
    for key, value in expected.items():
        if isinstance(value, float):
            assert got[key] == pytest.approx(value, rel=1e-12, abs=0)
        else:
            assert got[key] == value


def test_decode_attention_time_equals_the_golden_numbers(decoding, golden):
    for case in golden("decode_time"):
        gpu = {"A100": decoding.A100_DEC, "H100": decoding.H100_DEC}[case["in"]["gpu"]]
        shape = [case["in"][name] for name in ("B", "Hq", "Hkv", "S", "d")]
        time = decoding.decode_attention_time
        assert_times(time(*shape, "fa2", gpu), case["fa2"])
        assert_times(time(*shape, "fd", gpu, splits=4), case["fd4"])
        assert_times(time(*shape, "fd", gpu, splits=4, block_m=16), case["fd4_block_m16"])
        splits, best = decoding.best_splits(*shape, gpu)
        assert splits == case["best_splits"]
        assert_times(best, case["best"])


def test_the_rows_of_a_tile_are_block_m_or_the_group(decoding):
    def rows(*args, **options):
        t_comp = decoding.decode_attention_time(*args, **options)["t_comp"]
        keys = args[3]
        gpu = decoding.A100_DEC
        return t_comp * gpu.tc_flops / gpu.n_sm * gpu.tc_eff / (4 * keys * args[4])

    assert rows(1, 8, 2, 100, 64, "fa2") == pytest.approx(128)
    assert rows(1, 8, 2, 100, 64, "fa2", block_m=32) == pytest.approx(32)
    assert rows(1, 8, 2, 100, 64, "fd") == pytest.approx(64)
    assert rows(1, 8, 2, 100, 64, "fd", block_m=1) == pytest.approx(4)
    assert rows(1, 7, 2, 100, 64, "fd", block_m=1) == pytest.approx(3)
    assert rows(1, 256, 2, 100, 64, "fd") == pytest.approx(128)


def test_fa2_takes_no_splits_and_one_launch(decoding):
    times = [
        decoding.decode_attention_time(2, 8, 2, 999, 64, "fa2", splits=splits) for splits in (1, 8)
    ]
    assert times[0] == times[1]
    assert times[0]["t"] == max(times[0]["t_comp"], times[0]["t_mem"]) + decoding.A100_DEC.launch


def test_one_split_costs_one_launch_and_several_cost_two(decoding):
    gpu = decoding.A100_DEC
    for splits, kernels in ((1, 1), (2, 2), (7, 2)):
        time = decoding.decode_attention_time(1, 8, 2, 1000, 64, "fd", gpu, splits)
        slowest = max(time["t_comp"], time["t_mem"])
        assert time["t"] - time["waves"] * slowest == pytest.approx(kernels * gpu.launch)


def test_bytes_of_an_element_change_the_reads_only(decoding):
    two, four = (
        decoding.decode_attention_time(1, 8, 2, 1000, 64, "fd", elem=elem) for elem in (2, 4)
    )
    assert four["t_mem"] == pytest.approx(2 * two["t_mem"])
    assert four["t_comp"] == two["t_comp"]


def test_the_default_candidates_are_the_powers_of_two_up_to_256(decoding):
    for shape in ((1, 32, 8, 65536, 128), (1, 8, 1, 200, 64), (4, 16, 2, 5000, 64)):
        expected = decoding.best_splits(*shape, candidates=CANDIDATES)
        assert decoding.best_splits(*shape) == expected


def test_best_splits_takes_the_fewest_within_1_percent_of_the_fitting(decoding):
    for B, Hkv, S in ((1, 1, 200), (1, 8, 65536), (3, 4, 5000), (64, 8, 300), (1, 2, 3)):
        shape = (B, 4 * Hkv, Hkv, S, 64)
        fitting = [n for n in CANDIDATES if n <= S and (n == 1 or B * Hkv * n <= 4 * 108)]
        times = {n: decoding.decode_attention_time(*shape, "fd", splits=n) for n in fitting}
        best = min(time["t"] for time in times.values())
        n, time = decoding.best_splits(*shape)
        assert time == times[n]
        assert time["t"] <= 1.01 * best
        assert all(times[fewer]["t"] > 1.01 * best for fewer in fitting if fewer < n)


def test_best_splits_takes_candidates_in_any_order_and_from_an_iterator(decoding):
    shape = (1, 32, 8, 65536, 128)
    expected = decoding.best_splits(*shape)
    assert decoding.best_splits(*shape, candidates=CANDIDATES[::-1]) == expected
    assert decoding.best_splits(*shape, candidates=iter(CANDIDATES)) == expected


def test_the_gpus_are_frozen(decoding):
    assert decoding.H100_DEC == decoding.DecodeGPU(
        "H100", 132, 989e12, 3.35e12, tc_eff=0.7, sm_bw_cap=80e9, launch=5e-6
    )
    assert decoding.A100_DEC == decoding.DecodeGPU("A100", 108, 312e12, 1.555e12)
    with pytest.raises(AttributeError):
        decoding.A100_DEC.n_sm = 1


# Bad arguments.

X = np.ones((3, 2))
SPLIT = {"q": X, "K": X, "V": X, "n_splits": 2}
BEST = {"B": 1, "Hq": 4, "Hkv": 2, "S": 100, "d": 8}
TIME = {**BEST, "method": "fd"}
BAD_SHAPE = [
    ({"B": 0}, "B .* 0"),
    ({"Hq": 1}, "Hq .* 1"),
    ({"Hkv": 0}, "Hkv .* 0"),
    ({"S": 0}, "S .* 0"),
    ({"d": -8}, "d .* -8"),
]


@pytest.mark.parametrize(
    ("name", "good", "bad", "message"),
    [
        ("split_kv_decode", SPLIT, {"q": np.ones(2)}, r"q .*\(2,\)"),
        ("split_kv_decode", SPLIT, {"q": np.ones((0, 2))}, r"q .*\(0, 2\)"),
        ("split_kv_decode", SPLIT, {"K": np.ones((3, 5))}, r"K .*\(3, 5\)"),
        ("split_kv_decode", SPLIT, {"K": np.ones((0, 2))}, r"K .*\(0, 2\)"),
        ("split_kv_decode", SPLIT, {"V": np.ones((4, 2))}, r"V .*\(4, 2\)"),
        ("split_kv_decode", SPLIT, {"n_splits": 0}, "n_splits .* 0"),
        *[("decode_attention_time", TIME, *bad) for bad in BAD_SHAPE],
        ("decode_attention_time", TIME, {"splits": 0}, "splits .* 0"),
        ("decode_attention_time", TIME, {"block_m": 0}, "block_m .* 0"),
        ("decode_attention_time", TIME, {"elem": 0}, "elem .* 0"),
        ("decode_attention_time", TIME, {"method": "fa3"}, "method .*'fa3'"),
        *[("best_splits", BEST, *bad) for bad in BAD_SHAPE],
        ("best_splits", BEST, {"candidates": (1, 0)}, r"candidates .*\[1, 0\]"),
        ("best_splits", BEST, {"candidates": ()}, r"candidates .*\[\]"),
        ("best_splits", BEST, {"candidates": (128, 256)}, r"candidates .*\[128, 256\]"),
        ("best_splits", {**BEST, "B": 99}, {"candidates": [4]}, r"candidates .*\[4\]"),
    ],
)
def test_a_bad_argument_is_named_with_its_value(decoding, name, good, bad, message):
    function = getattr(decoding, name)
    function(**good)
    with pytest.raises(ValueError, match=message):
        function(**{**good, **bad})
