"""
Public checks of megakernel: they go to students as they are.

Each looks at one part of the time of a few short lists of operations; the right values are frozen
from the solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.kit.check import check
from autograder.kit.expect import as_number, expect_fields, expect_keys, expect_number
from autograder.kit.frozen import answered


def expect_parts(got: Any, expected: Mapping[str, Any], *names: str):
    """These parts of a timeline, to 1e-9 of its time; one that is 0 may be left out."""
    tolerance = 1e-9 * expected["t"]
    right = {name: expected["parts"].get(name, 0.0) for name in names}
    expect_keys(got, ["parts"], "timeline(...)")
    expect_keys(got["parts"], [n for n in names if abs(right[n]) > tolerance], "parts")
    for name in names:
        expect_number(got["parts"].get(name, 0.0), right[name], f'parts["{name}"]', rtol=0.0,
                      atol=tolerance)


def expect_consistent(got: Any, expected: Mapping[str, Any]):
    """Parts that add up to the time, and the share of the bandwidth that the time comes to."""
    expect_fields(got, expected, ["ideal"], "timeline(...)")
    expect_keys(got, ["t", "bw_util", "parts"], "timeline(...)")
    expect_keys(got["parts"], [], "parts")
    t = as_number(got["t"], "t")
    total = sum(as_number(seconds, f'parts["{name}"]') for name, seconds in got["parts"].items())
    expect_number(total, t, "the sum of the parts")
    expect_number(as_number(got["bw_util"], "bw_util") * t, expected["ideal"], "bw_util * t")


def expect_time(got: Any, expected: Mapping[str, Any]):
    """The time."""
    expect_fields(got, expected, ["t"], "timeline(...)")


# --- mode "kernels" -------------------------------------------------------------------------------


@check(points=1, part="timeline_kernels")
def test_every_kernel_costs_a_launch(lab, frozen):
    """every kernel costs a launch, the first one and small ones too"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_parts(got, case.value, "launch")


@check(points=0.5, part="timeline_kernels")
def test_a_small_kernel_costs_its_fixed_time(lab, frozen):
    """a small kernel costs its fixed time, however many bytes it has"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_parts(got, case.value, "small_kernels")


@check(points=0.5, part="timeline_kernels")
def test_every_other_kernel_ramps_up_once(lab, frozen):
    """every other kernel ramps up once"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_parts(got, case.value, "ramp")


@check(points=1, part="timeline_kernels")
def test_kernels_read_their_bytes_at_the_bandwidth_that_is_reached(lab, frozen):
    """kernels read their bytes at hbm (weights) and lose what hbm*eff adds (bandwidth_loss)"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_parts(got, case.value, "weights", "bandwidth_loss")


@check(points=1, part="timeline_kernels")
def test_the_tail_is_what_whole_waves_take_beyond_busy_sms(lab, frozen):
    """the tail is what whole waves of CTAs take beyond SMs that are all busy"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_parts(got, case.value, "tail")


@check(points=0.5, part="timeline_kernels")
def test_the_parts_of_the_kernels_timeline_add_up_to_its_time(lab, frozen):
    """the parts of the kernels' timeline add up to its time, and bw_util is ideal / t"""
    for case, got in answered(lab, frozen.cases("kernels")):
        expect_consistent(got, case.value)


@check(points=1, part="timeline_kernels",
       after=test_the_tail_is_what_whole_waves_take_beyond_busy_sms)
def test_a_decode_step_of_many_kernels_takes_its_time(lab, frozen):
    """a decode step of many kernels takes its time"""
    for case, got in answered(lab, frozen.cases("kernels_llama")):
        expect_time(got, case.value)


# --- mode "megakernel" ----------------------------------------------------------------------------


@check(points=1, part="timeline_megakernel")
def test_the_megakernel_reads_all_bytes_at_the_bandwidth_that_is_reached(lab, frozen):
    """the megakernel reads all bytes at hbm (weights) and loses what hbm*eff adds"""
    for case, got in answered(lab, frozen.cases("megakernel_several")):
        expect_parts(got, case.value, "weights", "bandwidth_loss")


@check(points=1, part="timeline_megakernel")
def test_one_op_reads_ahead_until_it_is_ready_and_the_rest_after(lab, frozen):
    """a single op reads ahead until it is ready, and the rest after"""
    for case, got in answered(lab, frozen.cases("megakernel_one")):
        expect_time(got, case.value)


@check(points=1, part="timeline_megakernel",
       after=test_one_op_reads_ahead_until_it_is_ready_and_the_rest_after)
def test_each_op_is_ready_sync_after_the_previous_one_ended(lab, frozen):
    """each op is ready sync after the previous one ended, and reads ahead until then"""
    for case, got in answered(lab, frozen.cases("megakernel_several")):
        expect_time(got, case.value)


@check(points=1, part="timeline_megakernel",
       after=test_one_op_reads_ahead_until_it_is_ready_and_the_rest_after)
def test_no_more_is_read_ahead_than_fits_in_the_buffer(lab, frozen):
    """no more is read ahead than fits in the buffer"""
    for case, got in answered(lab, frozen.cases("megakernel_buffer")):
        expect_time(got, case.value)


@check(points=0.5, part="timeline_megakernel",
       after=test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_nothing_of_the_next_op_is_read_ahead_before_this_one_begins(lab, frozen):
    """nothing of the next op is read ahead before this one begins"""
    for case, got in answered(lab, frozen.cases("megakernel_little")):
        expect_time(got, case.value)


@check(points=0.5, part="timeline_megakernel",
       after=test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_ctas_and_what_kernels_cost_play_no_part_in_the_megakernel(lab, frozen):
    """ctas, launch, ramp and small play no part in the megakernel"""
    for case, got in answered(lab, frozen.cases("megakernel_alike")):
        expect_time(got, case.value)


@check(points=0.5, part="timeline_megakernel")
def test_the_parts_of_the_megakernel_timeline_add_up_to_its_time(lab, frozen):
    """the parts of the megakernel's timeline add up to its time, and bw_util is ideal / t"""
    for case, got in answered(lab, frozen.cases("megakernel_several")):
        expect_consistent(got, case.value)


@check(points=1, part="timeline_megakernel",
       after=test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_a_decode_step_of_the_megakernel_takes_its_time(lab, frozen):
    """a decode step of the megakernel takes its time"""
    for case, got in answered(lab, frozen.cases("megakernel_llama")):
        expect_time(got, case.value)
