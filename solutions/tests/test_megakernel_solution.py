"""The solution of megakernel against the golden numbers and the contract."""

import pytest

PARTS = {
    "weights",
    "bandwidth_loss",
    "launch",
    "ramp",
    "tail",
    "small_kernels",
    "sync_overhead",
}


def golden_inputs(megakernel, case):
    given = case["in"]
    ops = megakernel.llama_1b_ops(given["context"], given["rows_per_cta"], given["kernels"])
    return ops, megakernel.TimelineParams(**given["params"])


def assert_adds_up(time):
    assert set(time) == {"t", "ideal", "bw_util", "parts"}
    assert set(time["parts"]) <= PARTS
    assert sum(time["parts"].values()) == pytest.approx(time["t"], rel=1e-12, abs=0)
    assert time["bw_util"] == pytest.approx(time["ideal"] / time["t"], rel=1e-12, abs=0)


def test_llama_1b_ops_equals_the_golden_numbers(megakernel, golden):
    for case in golden("timeline"):
        ops, _ = golden_inputs(megakernel, case)
        rows = [[op.name, op.bytes, op.ctas] for op in ops]
        assert len(ops) == case["n_ops"]
        assert sum(op.bytes for op in ops) == case["bytes"]
        assert sum(op.ctas for op in ops) == case["ctas"]
        assert rows[: len(case["first_ops"])] == case["first_ops"]
        assert rows[-len(case["last_ops"]) :] == case["last_ops"]


@pytest.mark.parametrize("mode", ["kernels", "megakernel"])
def test_timeline_equals_the_golden_numbers(megakernel, golden, mode):
    for case in golden("timeline"):
        time, expected = megakernel.timeline(*with_mode(megakernel, case, mode)), case[mode]
        assert_adds_up(time)
        for key in ("t", "ideal", "bw_util"):
            assert time[key] == pytest.approx(expected[key], rel=1e-12, abs=0)
        for part, seconds in expected["parts"].items():
            got = time["parts"].get(part, 0.0)
            assert got == pytest.approx(seconds, rel=0, abs=1e-12 * expected["t"])


def with_mode(megakernel, case, mode):
    ops, p = golden_inputs(megakernel, case)
    return ops, mode, p


def test_the_layers_of_llama_follow_each_other(megakernel):
    for kernels, n in (("7", 7), ("12", 12), ("fused", 5)):
        ops = megakernel.llama_1b_ops(kernels=kernels)
        assert ops[: 16 * n] == 16 * ops[:n]
        assert len(ops) == 16 * n + (1 if kernels == "fused" else 2)


def test_a_projection_has_at_least_one_cta(megakernel):
    ops = megakernel.llama_1b_ops(rows_per_cta=10**6)
    assert {op.ctas for op in ops} == {0, 1, 32}


def test_a_small_kernel_costs_launch_and_small_and_its_bytes_only_the_ideal(megakernel):
    p = megakernel.TimelineParams()
    for size in (0, 10**6):
        time = megakernel.timeline([megakernel.Op("norm", size, 0)], "kernels", p)
        assert_adds_up(time)
        assert time["t"] == pytest.approx(p.launch + p.small)
        assert time["ideal"] == size / p.hbm


def test_a_last_wave_that_does_not_fill_the_sms_shows_as_tail(megakernel):
    p = megakernel.TimelineParams(n_sm=10)

    def tail(ctas):
        time = megakernel.timeline([megakernel.Op("qkv", 10**8, ctas)], "kernels", p)
        assert_adds_up(time)
        return time["parts"]["tail"] / (10**8 / (p.hbm * p.eff))

    assert tail(10) == pytest.approx(0, abs=1e-12)
    assert tail(20) == pytest.approx(0, abs=1e-12)
    assert tail(11) == pytest.approx(2 * 10 / 11 - 1)
    assert tail(5) == pytest.approx(1)


# A GPU on which one SM reads 100 bytes a second; sync and overhead of 1 and 0.5 s.
SLOW = {"n_sm": 2, "hbm": 400.0, "eff": 0.5, "sync": 1.0, "instr_overhead": 0.5}


def test_an_instruction_reads_ahead_while_it_waits(megakernel):
    # 200 bytes an SM: 100 in the second of waiting, the other 100 after it.
    p = megakernel.TimelineParams(**SLOW)
    time = megakernel.timeline([megakernel.Op("qkv", 400, 7)], "megakernel", p)
    assert_adds_up(time)
    assert time["t"] == pytest.approx(1 + 1 + 0.5)
    assert time["ideal"] == 1.0
    assert time["parts"]["bandwidth_loss"] == pytest.approx(1.0)
    assert time["parts"]["sync_overhead"] == pytest.approx(0.5)


def test_an_instruction_reads_no_further_ahead_than_its_buffer_holds(megakernel):
    p = megakernel.TimelineParams(**SLOW, smem_buf=30)
    time = megakernel.timeline([megakernel.Op("qkv", 400, 7)], "megakernel", p)
    assert time["t"] == pytest.approx(1 + 1.7 + 0.5)


def test_an_instruction_that_is_read_before_it_is_ready_waits_for_the_signal(megakernel):
    p = megakernel.TimelineParams(**SLOW)
    two = 2 * [megakernel.Op("qkv", 20, 7)]
    assert megakernel.timeline(two, "megakernel", p)["t"] == pytest.approx(1.5 + 1.5)


def test_a_megakernel_takes_no_notice_of_ctas_launch_ramp_and_small(megakernel):
    plain, other = (
        megakernel.timeline(
            [megakernel.Op("norm", 400, ctas), megakernel.Op("qkv", 900, 7)],
            "megakernel",
            megakernel.TimelineParams(**SLOW, **costs),
        )
        for ctas, costs in ((0, {}), (99, {"launch": 9.0, "ramp": 9.0, "small": 9.0}))
    )
    assert plain == other


def test_timeline_takes_any_iterable_of_ops_and_default_params(megakernel):
    ops = megakernel.llama_1b_ops()
    for mode in ("kernels", "megakernel"):
        expected = megakernel.timeline(ops, mode, megakernel.TimelineParams())
        assert megakernel.timeline(iter(ops), mode) == expected


def test_ops_and_params_are_frozen(megakernel):
    for record in (megakernel.Op("qkv", 1, 1), megakernel.TimelineParams()):
        with pytest.raises(AttributeError):
            record.bytes = 2


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("llama_1b_ops", {"context": -1}, "context .* -1"),
        ("llama_1b_ops", {"rows_per_cta": 0}, "rows_per_cta .* 0"),
        ("llama_1b_ops", {"kernels": 7}, "kernels .* 7"),
        ("timeline", {"ops": [], "mode": "kernels"}, r"ops .*\[\]"),
        ("timeline", {"ops": [], "mode": "megakernel"}, r"ops .*\[\]"),
        ("timeline", {"mode": "graph"}, "mode .*'graph'"),
    ],
)
def test_a_bad_argument_is_named_with_its_value(megakernel, name, bad, message):
    ops = {"ops": megakernel.llama_1b_ops()} if name == "timeline" else {}
    with pytest.raises(ValueError, match=message):
        getattr(megakernel, name)(**{**ops, **bad})
