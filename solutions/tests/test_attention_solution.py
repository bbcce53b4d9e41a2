"""The solution of flash_attention against the golden numbers, a dense formula and the contract."""

import functools
import itertools
import math
import tracemalloc

import numpy as np
import pytest

ORDERS = ("fa1", "fa2")
INF = np.inf

# N, Nk, d, dv, Br, Bc: blocks that do not divide, larger than the rows, of one row; one row of all.
SHAPES = [
    (9, 30, 3, 4, 4, 5),
    (30, 9, 3, 4, 4, 5),
    (13, 13, 5, 2, 3, 7),
    (7, 7, 4, 1, 1, 1),
    (1, 11, 2, 3, 4, 4),
    (11, 1, 2, 3, 3, 4),
    (1, 1, 1, 1, 1, 1),
    (20, 3, 2, 2, 6, 16),
    (8, 24, 4, 4, 16, 32),
]
SCALES = [None, 0.0, -0.7, 40.0]


def normal(*shapes, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return [spread * rng.normal(size=shape) for shape in shapes]


def attention_inputs(N, Nk, d, dv, seed=0, spread=1.0):
    return normal((N, d), (Nk, d), (Nk, dv), (N, dv), seed=seed, spread=spread)


def dense(Q, K, V, dO, causal, scale):
    """O, L, dQ, dK, dV row by row from the definition, and the largest score for the tolerance."""
    (N, d), Nk = Q.shape, len(K)
    scale = 1 / math.sqrt(d) if scale is None else scale
    O, L = np.zeros((N, V.shape[1])), np.full(N, -INF)
    dQ, dK, dV = np.zeros(Q.shape), np.zeros(K.shape), np.zeros(V.shape)
    largest = 0.0
    for i in range(N):
        n = min(Nk, max(0, Nk - N + i + 1)) if causal else Nk
        if n == 0:
            continue
        s = scale * (K[:n] @ Q[i])
        largest = max(largest, np.abs(s).max())
        p = np.exp(s - s.max())
        L[i] = s.max() + np.log(p.sum())
        p /= p.sum()
        O[i] = p @ V[:n]
        ds = p * (V[:n] @ dO[i] - dO[i] @ O[i])
        dQ[i] = scale * ds @ K[:n]
        dK[:n] += scale * np.outer(ds, Q[i])
        dV[:n] += np.outer(p, dO[i])
    return (O, L, dQ, dK, dV), largest


def live_tiles(N, Nk, Br, Bc, causal):
    """(i0, br, j0, bc) of the tiles in which some query sees some key, entry by entry."""
    for i0, j0 in itertools.product(range(0, N, Br), range(0, Nk, Bc)):
        queries, keys = range(i0, min(i0 + Br, N)), range(j0, min(j0 + Bc, Nk))
        if not causal or any(j <= Nk - N + i for i in queries for j in keys):
            yield i0, len(queries), j0, len(keys)


def assert_close(got, expected, largest_score=0.0):
    expected = np.asarray(expected, dtype=float)
    assert got.shape == expected.shape
    assert got.dtype == np.float64
    assert not np.isnan(got).any()
    finite = np.isfinite(expected)
    assert np.array_equal(got[~finite], expected[~finite])
    bound = 1e-9 + 8 * np.finfo(float).eps * largest_score
    size = max(1.0, np.abs(expected[finite]).max(initial=0.0))
    assert np.abs(got[finite] - expected[finite]).max(initial=0.0) <= bound * size


def counts(io):
    assert io.total == io.read + io.write
    assert all(type(n) is int for n in (io.read, io.write, io.flops))
    return {"read": io.read, "write": io.write, "flops": io.flops}


def no_nulls(m):
    return np.array([-INF if x is None else x for x in m])


# The golden numbers.


def test_softmax_equals_the_golden_numbers(attention, golden):
    for case in golden("softmax"):
        y, sweeps = attention.softmax_3pass(case["in"]["x"])
        assert_close(y, case["softmax"])
        assert sweeps == case["passes_3pass"]
        y, sweeps = attention.softmax_online(case["in"]["x"], case["in"]["block"])
        assert_close(y, case["softmax"])
        assert sweeps == case["passes_online"]


def test_merge_states_equals_the_golden_numbers(attention, golden):
    for case in golden("merge_states"):
        a, b = ((no_nulls(s["m"]), s["l"], s["o"]) for s in (case["in"]["a"], case["in"]["b"]))
        m, l, o = attention.merge_states(a, b)
        assert_close(m, no_nulls(case["merged"]["m"]))
        assert_close(l, case["merged"]["l"])
        if case["merged"]["o"] is None:
            assert o is None
        else:
            assert_close(o, case["merged"]["o"])


def test_standard_attention_equals_the_golden_numbers(attention, golden):
    for case in golden("attention"):
        given, expected = case["in"], case["standard"]
        args = [np.array(given[name]) for name in "QKV"]
        O, P, io = attention.standard_attention(*args, given["causal"], given["scale"])
        assert_close(O, expected["O"])
        assert counts(io) == expected["io"]
        *grads, io = attention.standard_attention_bwd(*args, P, given["dO"], given["scale"])
        for name, grad in zip(("dQ", "dK", "dV"), grads, strict=True):
            assert_close(grad, expected[name])
        assert counts(io) == expected["io_bwd"]


@pytest.mark.parametrize("order", ORDERS)
def test_flash_fwd_equals_the_golden_numbers(attention, golden, order):
    for case in golden("attention"):
        given, expected = case["in"], case[order]
        options = {name: given[name] for name in ("Br", "Bc", "causal", "scale")}
        O, L, io = attention.flash_fwd(*(given[name] for name in "QKV"), **options, order=order)
        assert_close(O, expected["O"])
        assert_close(L, no_nulls(expected["L"]))
        assert counts(io) == expected["io"]


def test_flash_bwd_equals_the_golden_numbers(attention, golden):
    for case in golden("attention"):
        given, expected = case["in"], case["bwd"]
        options = {name: given[name] for name in ("Br", "Bc", "causal", "scale")}
        O, L = case["fa2"]["O"], no_nulls(case["fa2"]["L"])
        *grads, io = attention.flash_bwd(
            *(given[name] for name in "QKV"), O, given["dO"], L, **options
        )
        for name, grad in zip(("dQ", "dK", "dV"), grads, strict=True):
            assert_close(grad, expected[name])
        assert counts(io) == expected["io"]


def test_block_sizes_and_fa_io_formula_equal_the_golden_numbers(attention, golden):
    for case in golden("io_formula"):
        N, d, M = (case["in"][name] for name in ("N", "d", "M"))
        assert attention.block_sizes(M, d) == (case["Br"], case["Bc"])
        assert attention.fa_io_formula(N, d, M, "fa1") == case["fa1_total"]
        assert attention.fa_io_formula(N, d, M, "fa2") == case["fa2_total"]


# Softmax and its state.


@pytest.mark.parametrize("block", [1, 2, 3, 5, 128])
def test_softmax_is_0_in_a_row_that_is_all_minus_infinity(attention, block):
    x = np.array([[-INF] * 5, [-INF, -INF, -INF, 1.0, 1.0]])
    expected = [[0.0] * 5, [0.0, 0.0, 0.0, 0.5, 0.5]]
    assert_close(attention.softmax_3pass(x)[0], expected)
    assert_close(attention.softmax_online(x, block)[0], expected)


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_softmax_bears_scores_that_overflow_exp(attention, shift):
    x = np.array([1.0, 2.0, 4.0])
    expected = np.exp(x) / np.exp(x).sum()
    assert_close(attention.softmax_3pass(x + shift)[0], expected, 1e4)
    assert_close(attention.softmax_online(x + shift, 2)[0], expected, 1e4)


def test_partial_state_of_nothing_visible_is_empty(attention):
    m, l, o = attention.partial_state(np.full((2, 3), -INF), np.ones((3, 4)))
    assert np.array_equal(m, [-INF, -INF])
    assert np.array_equal(l, [0.0, 0.0])
    assert np.array_equal(o, np.zeros((2, 4)))


def test_partial_state_without_values_has_no_output(attention):
    m, l, o = attention.partial_state([0.0, 0.0])
    assert (m, l, o) == (0.0, 2.0, None)


@pytest.mark.parametrize("rows", [(), (1,), (3,), (2, 3)])
@pytest.mark.parametrize("cut", [1, 4, 6])
def test_merging_two_segments_gives_the_state_of_the_whole_row(attention, rows, cut):
    x, v = normal(rows + (7,), (7, 2), spread=20.0)
    a = attention.partial_state(x[..., :cut], v[:cut])
    b = attention.partial_state(x[..., cut:], v[cut:])
    for got, expected in zip(
        attention.merge_states(a, b), attention.partial_state(x, v), strict=True
    ):
        assert_close(np.asarray(got), expected)


def test_merging_is_associative_and_commutative(attention):
    x, v = normal((3, 9), (9, 2), spread=30.0)
    x[0, :6] = -INF
    x[1] = -INF
    states = [attention.partial_state(x[:, i : i + 3], v[i : i + 3]) for i in (0, 3, 6)]
    whole = attention.partial_state(x, v)
    for order in itertools.permutations(states):
        merged = functools.reduce(attention.merge_states, order)
        right = attention.merge_states(order[0], attention.merge_states(order[1], order[2]))
        for got, other, expected in zip(merged, right, whole, strict=True):
            assert_close(got, expected)
            assert_close(other, expected)


@pytest.mark.parametrize("o", [None, np.array([1.0, -2.0])])
def test_an_empty_segment_changes_nothing(attention, o):
    state = (0.5, 1.25, o)
    empty = (-INF, 0.0, None if o is None else np.zeros(2))
    for merged in (attention.merge_states(state, empty), attention.merge_states(empty, state)):
        assert merged[:2] == state[:2]
        assert o is None and merged[2] is None or np.array_equal(merged[2], o)
    m, l, o = attention.merge_states(empty, empty)
    assert (m, l) == (-INF, 0.0)
    assert o is None or np.array_equal(o, [0.0, 0.0])


def test_merging_float32_states_computes_in_float64(attention):
    a = tuple(np.array(x, np.float32) for x in ([1.0], [3.0], [[1.0]]))
    b = tuple(np.array(x, np.float32) for x in ([0.0], [1e-4], [[1e-6]]))
    m, l, o = attention.merge_states(a, b)
    assert_close(m, [1.0])
    assert_close(l, [3.0 + float(b[1][0]) / math.e])
    assert_close(o, [[1.0 + float(b[2][0, 0]) / math.e]])


# The flash functions against a dense formula and the count of the tiles.


def check_flash(attention, inputs, Br, Bc, causal, scale, exact=None):
    """flash_fwd in both orders, then flash_bwd, on inputs; exact holds their float64 values."""
    Q, K, V, dO = inputs
    (O, L, *grads), largest = dense(*(exact or inputs), causal, scale)
    for order in ORDERS:
        got_O, got_L, _ = attention.flash_fwd(Q, K, V, Br, Bc, causal, scale, order)
        assert_close(got_O, O, largest)
        assert_close(got_L, L, largest)
    got = attention.flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal, scale)
    for grad, expected in zip(got, grads, strict=False):
        assert_close(grad, expected, largest)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_flash_equals_dense_attention_on_awkward_shapes(attention, shape, causal, scale):
    N, Nk, d, dv, Br, Bc = shape
    check_flash(attention, attention_inputs(N, Nk, d, dv), Br, Bc, causal, scale)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_traffic_is_the_sum_over_live_tiles(attention, shape, causal):
    N, Nk, d, dv, Br, Bc = shape
    Q, K, V, dO = attention_inputs(N, Nk, d, dv)
    tiles = list(live_tiles(N, Nk, Br, Bc, causal))
    rows, columns = sum(br for _, br, _, _ in tiles), sum(bc for *_, bc in tiles)
    entries = sum(br * bc for _, br, _, bc in tiles)

    O, L, io = attention.flash_fwd(Q, K, V, Br, Bc, causal, order="fa2")
    assert counts(io) == {
        "read": N * d + columns * (d + dv),
        "write": N * dv + N,
        "flops": 2 * entries * (d + dv),
    }
    _, _, io = attention.flash_fwd(Q, K, V, Br, Bc, causal, order="fa1")
    assert counts(io) == {
        "read": Nk * (d + dv) + rows * (d + dv + 2),
        "write": N * dv + 2 * N + rows * (dv + 2),
        "flops": 2 * entries * (d + dv),
    }
    *_, io = attention.flash_bwd(Q, K, V, O, dO, L, Br, Bc, causal)
    assert counts(io) == {
        "read": 2 * N * dv + Nk * (d + dv) + rows * (2 * d + dv + 2),
        "write": N + N * d + rows * d + Nk * (d + dv),
        "flops": 2 * entries * (3 * d + 2 * dv),
    }


@pytest.mark.parametrize("order", ORDERS)
def test_fa_io_formula_is_what_flash_fwd_counts(attention, order):
    for N, d, M in itertools.product((1, 13, 40), (1, 3, 8), (1, 50, 300, 5000)):
        Q, K, V, _ = attention_inputs(N, N, d, d)
        io = attention.flash_fwd(Q, K, V, *attention.block_sizes(M, d), order=order)[2]
        assert attention.fa_io_formula(N, d, M, order) == io.total


@pytest.mark.parametrize("mean", [-1e4, -1e3, 1e3])
def test_flash_bears_scores_far_from_0_everywhere(attention, mean):
    Q, K, V, dO = attention_inputs(9, 14, 3, 2)
    Q[:, 0], K[:, 0] = 10.0, mean / 10.0
    check_flash(attention, (Q, K, V, dO), 4, 5, True, 1.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_flash_computes_in_float64_whatever_comes_in(attention, dtype):
    inputs = [x.astype(dtype) for x in attention_inputs(9, 14, 3, 2)]
    exact = [x.astype(np.float64) for x in inputs]
    check_flash(attention, inputs, 4, 5, True, None, exact)


LAYOUTS = {
    "fortran": np.asfortranarray,
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "lists": lambda x: x.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_flash_takes_arrays_of_any_layout(attention, layout):
    exact = attention_inputs(9, 14, 3, 2)
    check_flash(attention, [LAYOUTS[layout](x) for x in exact], 4, 5, True, None, exact)


def test_no_function_changes_its_inputs(attention):
    Q, K, V, dO = inputs = attention_inputs(9, 14, 3, 2)
    O, L, _ = attention.flash_fwd(Q, K, V, 4, 5)
    P = attention.standard_attention(Q, K, V)[1]
    a, b = (attention.partial_state(Q @ k.T, v) for k, v in ((K[:5], V[:5]), (K[5:], V[5:])))
    for x in (*inputs, O, L, P, *a, *b):
        x.flags.writeable = False
    for order in ORDERS:
        attention.flash_fwd(Q, K, V, 4, 5, True, order=order)
    attention.flash_bwd(Q, K, V, O, dO, L, 4, 5)
    attention.standard_attention(Q, K, V, True)
    attention.standard_attention_bwd(Q, K, V, P, dO)
    attention.softmax_3pass(Q)
    attention.softmax_online(Q, 2)
    attention.partial_state(P, V)
    attention.merge_states(a, b)


def test_queries_that_see_no_key_get_nothing_and_give_nothing(attention):
    Q, K, V, dO = attention_inputs(12, 3, 2, 4)
    for Br in (1, 2, 5, 12):
        for order in ORDERS:
            O, L, _ = attention.flash_fwd(Q, K, V, Br, 2, True, order=order)
            assert np.array_equal(O[:9], np.zeros((9, 4)))
            assert np.array_equal(L[:9], np.full(9, -INF))
        dQ, dK, dV, _ = attention.flash_bwd(Q, K, V, O, dO, L, Br, 2, True)
        alone = attention.flash_bwd(Q[9:], K, V, O[9:], dO[9:], L[9:], Br, 2, True)
        assert np.array_equal(dQ[:9], np.zeros((9, 2)))
        assert_close(dQ[9:], alone[0])
        assert_close(dK, alone[1])
        assert_close(dV, alone[2])


def test_nan_in_dead_tiles_changes_nothing(attention):
    # With N > Nk the first 6 queries see no key: in blocks of 3 all their tiles are dead.
    Q, K, V, dO = attention_inputs(12, 6, 2, 4)
    O, L, _ = attention.flash_fwd(Q, K, V, 3, 2, True)
    grads = attention.flash_bwd(Q, K, V, O, dO, L, 3, 2, True)
    bad = [np.concatenate([np.full((6, x.shape[1]), np.nan), x[6:]]) for x in (Q, dO, O)]
    for order in ORDERS:
        got_O, got_L, _ = attention.flash_fwd(bad[0], K, V, 3, 2, True, order=order)
        assert_close(got_O, O)
        assert_close(got_L, L)
    got = attention.flash_bwd(bad[0], K, V, bad[2], bad[1], L, 3, 2, True)
    for grad, expected in zip(got[:3], grads[:3], strict=True):
        assert_close(grad, expected)


def test_nan_in_the_last_keys_reaches_only_the_queries_that_see_their_tile(attention):
    Q, K, V, dO = attention_inputs(12, 12, 2, 4)
    O, L, _ = attention.flash_fwd(Q, K, V, 3, 4, True)
    dQ = attention.flash_bwd(Q, K, V, O, dO, L, 3, 4, True)[0]
    bad_K, bad_V = K.copy(), V.copy()
    bad_K[8:], bad_V[8:] = np.nan, np.nan  # dead for the query blocks 0:3 and 3:6
    for order in ORDERS:
        got_O, got_L, _ = attention.flash_fwd(Q, bad_K, bad_V, 3, 4, True, order=order)
        assert_close(got_O[:6], O[:6])
        assert_close(got_L[:6], L[:6])
    got = attention.flash_bwd(Q, bad_K, bad_V, O, dO, L, 3, 4, True)
    assert_close(got[0][:6], dQ[:6])


def peak_memory(call):
    """Bytes that a call holds beyond what stood before, at its peak, after a warm-up call."""
    call()
    tracemalloc.start()
    try:
        kept = call()
        assert kept is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("Br", [32, 512])
@pytest.mark.parametrize("causal", [False, True])
def test_no_intermediate_grows_like_the_score_matrix(attention, Br, causal):
    Q, K, V, dO = attention_inputs(512, 512, 4, 4)
    O, L, _ = attention.flash_fwd(Q, K, V, 32, 32, causal)
    calls = [lambda o=o: attention.flash_fwd(Q, K, V, Br, 32, causal, order=o) for o in ORDERS]
    calls.append(lambda: attention.flash_bwd(Q, K, V, O, dO, L, Br, 32, causal))
    for call in calls:
        assert peak_memory(call) < 0.75 * 512 * 512 * 8


def test_memory_is_linear_in_the_rows(attention):
    def peaks(N):
        Q, K, V, dO = attention_inputs(N, N, 4, 4)
        O, L, _ = attention.flash_fwd(Q, K, V, 32, 32)
        yield from (
            peak_memory(lambda o=o: attention.flash_fwd(Q, K, V, 32, 32, order=o)) for o in ORDERS
        )
        yield peak_memory(lambda: attention.flash_bwd(Q, K, V, O, dO, L, 32, 32))

    for small, large in zip(peaks(512), peaks(1024), strict=True):
        assert large < 2.1 * small


@pytest.mark.parametrize("shape", [(4, 6), (6, 4)])
def test_gradients_are_the_finite_differences_of_the_output(attention, shape):
    Q, K, V, dO = inputs = attention_inputs(*shape, 3, 2, seed=1)
    O, L, _ = attention.flash_fwd(Q, K, V, 2, 3, True, 0.6)
    grads = attention.flash_bwd(Q, K, V, O, dO, L, 2, 3, True, 0.6)
    step = 1e-5
    for x, grad in zip(inputs, grads[:3], strict=False):
        for at in np.ndindex(x.shape):
            value, losses = x[at], []
            for moved in (value + step, value - step):
                x[at] = moved
                losses.append(np.sum(dO * attention.flash_fwd(Q, K, V, 2, 3, True, 0.6)[0]))
            x[at] = value
            assert abs((losses[0] - losses[1]) / (2 * step) - grad[at]) < 1e-8


def test_a_second_call_gives_the_same_again(attention):
    Q, K, V, dO = attention_inputs(9, 14, 3, 2)
    for order in ORDERS:
        first, second = (attention.flash_fwd(Q, K, V, 4, 5, True, order=order) for _ in range(2))
        assert np.array_equal(first[0], second[0])
        assert counts(first[2]) == counts(second[2])
    O, L, _ = first
    first, second = (attention.flash_bwd(Q, K, V, O, dO, L, 4, 5, True) for _ in range(2))
    assert np.array_equal(first[1], second[1])
    assert counts(first[3]) == counts(second[3])


# Bad arguments.

X = np.ones((3, 2))
FWD = {"Q": X, "K": X, "V": X, "Br": 1, "Bc": 1}
BWD = {**FWD, "O": X, "dO": X, "L": np.zeros(3)}
STD = {"Q": X, "K": X, "V": X}
STD_BWD = {**STD, "P": np.ones((3, 3)), "dO": X}
FORMULA = {"N": 4, "d": 4, "M": 64, "order": "fa1"}
STATE = (np.zeros(3), np.ones(3), np.zeros((3, 2)))
BAD_QKV = [
    ({"Q": np.ones(3)}, r"Q .*\(3,\)"),
    ({"Q": np.ones((0, 2))}, r"Q .*\(0, 2\)"),
    ({"Q": np.ones((3, 0)), "K": np.ones((3, 0))}, r"Q .*\(3, 0\)"),
    ({"K": np.ones((3, 4))}, r"K .*\(3, 4\)"),
    ({"K": np.ones((0, 2)), "V": np.ones((0, 2))}, r"K .*\(0, 2\)"),
    ({"V": np.ones((4, 2))}, r"V .*\(4, 2\)"),
    ({"V": np.ones((3, 2, 1))}, r"V .*\(3, 2, 1\)"),
]
BAD_BLOCKS = [({"Br": 0}, "Br .* 0"), ({"Bc": -1}, "Bc .* -1")]


@pytest.mark.parametrize(
    ("name", "good", "bad", "message"),
    [
        *[("flash_fwd", FWD, *bad) for bad in BAD_QKV + BAD_BLOCKS],
        ("flash_fwd", FWD, {"order": "fa3"}, "order .*'fa3'"),
        *[("flash_bwd", BWD, *bad) for bad in BAD_QKV + BAD_BLOCKS],
        ("flash_bwd", BWD, {"O": np.ones((3, 3))}, r"O .*\(3, 3\)"),
        ("flash_bwd", BWD, {"dO": np.ones((2, 2))}, r"dO .*\(2, 2\)"),
        ("flash_bwd", BWD, {"L": np.ones((3, 1))}, r"L .*\(3, 1\)"),
        *[("standard_attention", STD, *bad) for bad in BAD_QKV],
        *[("standard_attention_bwd", STD_BWD, *bad) for bad in BAD_QKV],
        ("standard_attention_bwd", STD_BWD, {"P": np.ones((3, 2))}, r"P .*\(3, 2\)"),
        ("standard_attention_bwd", STD_BWD, {"dO": np.ones((3, 3))}, r"dO .*\(3, 3\)"),
        ("block_sizes", {"M": 64, "d": 4}, {"M": 0}, "M .* 0"),
        ("block_sizes", {"M": 64, "d": 4}, {"d": 0}, "d .* 0"),
        ("fa_io_formula", FORMULA, {"N": 0}, "N .* 0"),
        ("fa_io_formula", FORMULA, {"d": 0}, "d .* 0"),
        ("fa_io_formula", FORMULA, {"M": -2}, "M .* -2"),
        ("fa_io_formula", FORMULA, {"order": None}, "order .*None"),
        ("softmax_3pass", {"x": X}, {"x": 1.0}, r"x .*\(\)"),
        ("softmax_3pass", {"x": X}, {"x": np.ones((3, 0))}, r"x .*\(3, 0\)"),
        ("softmax_online", {"x": X}, {"x": []}, r"x .*\(0,\)"),
        ("softmax_online", {"x": X}, {"block": 0}, "block .* 0"),
        ("partial_state", {"x": X}, {"x": np.ones((3, 0))}, r"x .*\(3, 0\)"),
        ("partial_state", {"x": X}, {"v": np.ones((3, 2))}, r"v .*\(3, 2\)"),
        ("partial_state", {"x": X}, {"v": np.ones(2)}, r"v .*\(2,\)"),
        ("merge_states", {"a": STATE, "b": STATE}, {"a": (1.0, [2.0], None)}, r"a .*l .*\(1,\)"),
        ("merge_states", {"a": STATE, "b": STATE}, {"b": (1.0, 2.0, 3.0)}, r"b .*o .*\(\)"),
        (
            "merge_states",
            {"a": STATE, "b": STATE},
            {"b": (*STATE[:2], np.ones((2, 2)))},
            r"b .*o .*\(2, 2\)",
        ),
        ("merge_states", {"a": STATE, "b": STATE}, {"b": (1.0, 2.0, None)}, r"b .*m .*\(\)"),
        ("merge_states", {"a": STATE, "b": STATE}, {"b": (*STATE[:2], None)}, "o: a"),
        ("merge_states", {"a": STATE, "b": STATE}, {"a": (*STATE[:2], None)}, "o: b"),
        (
            "merge_states",
            {"a": STATE, "b": STATE},
            {"b": (*STATE[:2], np.ones((3, 4)))},
            r"b .*o .*\(3, 4\)",
        ),
    ],
)
def test_a_bad_argument_is_named_with_its_value(attention, name, good, bad, message):
    function = getattr(attention, name)
    function(**good)
    with pytest.raises(ValueError, match=message):
        function(**{**good, **bad})
