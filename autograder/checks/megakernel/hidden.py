"""
Hidden checks of megakernel: many frozen cases of the timelines, and the written questions.
"""

from __future__ import annotations

from autograder.checks.megakernel import public
from autograder.checks.megakernel.public import expect_consistent, expect_parts, expect_time
from autograder.kit.check import check
from autograder.kit.frozen import answered
from autograder.kit.questions import expect_answer

PARTS = ("weights", "bandwidth_loss", "launch", "ramp", "tail", "small_kernels", "sync_overhead")


def expect_timelines(lab, cases):
    """Every entry of every timeline."""
    for case, got in answered(lab, cases):
        expect_parts(got, case.value, *PARTS)
        expect_time(got, case.value)
        expect_consistent(got, case.value)


@check(points=1, part="timeline_kernels",
       after=public.test_a_decode_step_of_many_kernels_takes_its_time)
def test_the_kernels_timeline_is_right_for_other_lists_of_ops(lab, frozen):
    """the kernels' timeline is right for lists of ops that you have not seen"""
    expect_timelines(lab, frozen.cases("kernels"))


@check(points=1, part="timeline_kernels",
       after=public.test_a_decode_step_of_many_kernels_takes_its_time)
def test_every_figure_plays_its_part_in_the_kernels_timeline(lab, frozen):
    """every figure of TimelineParams plays its part in the kernels' timeline"""
    expect_timelines(lab, frozen.cases("kernels_params"))


@check(points=0.5, part="timeline_kernels",
       after=public.test_a_decode_step_of_many_kernels_takes_its_time)
def test_the_kernels_timeline_is_right_for_other_decode_steps(lab, frozen):
    """the kernels' timeline is right for other decode steps"""
    expect_timelines(lab, frozen.cases("kernels_llama"))


@check(points=1, part="timeline_megakernel",
       after=public.test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_the_megakernel_timeline_is_right_for_other_lists_of_ops(lab, frozen):
    """the megakernel's timeline is right for lists of ops that you have not seen"""
    expect_timelines(lab, frozen.cases("megakernel"))


@check(points=1, part="timeline_megakernel",
       after=public.test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_every_figure_plays_its_part_in_the_megakernel_timeline(lab, frozen):
    """every figure of TimelineParams plays its part in the megakernel's timeline"""
    expect_timelines(lab, frozen.cases("megakernel_params"))


@check(points=0.5, part="timeline_megakernel",
       after=public.test_each_op_is_ready_sync_after_the_previous_one_ended)
def test_the_megakernel_timeline_is_right_for_other_decode_steps(lab, frozen):
    """the megakernel's timeline is right for other decode steps"""
    expect_timelines(lab, frozen.cases("megakernel_llama"))


@check(points=1, part="questions")
def test_question_7_is_answered(lab, frozen):
    """question 7: the bandwidth utilisation of 7 kernels a layer"""
    expect_answer(lab, frozen, "q7_bandwidth_utilisation_percent")


@check(points=1, part="questions")
def test_question_8_is_answered(lab, frozen):
    """question 8: the microseconds that the megakernel saves"""
    expect_answer(lab, frozen, "q8_microseconds_saved")


@check(points=1, part="questions")
def test_question_9_is_answered(lab, frozen):
    """question 9: the sync at which the megakernel is as slow as 7 kernels a layer"""
    expect_answer(lab, frozen, "q9_sync_microseconds")
