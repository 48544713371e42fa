"""Names of schedules."""

from __future__ import annotations

import pytest

from hopper_gemm import Schedule, errors
from hopper_gemm.schedule import parse_schedule

CUTLASS = {
    "KernelMultistage": Schedule.MULTISTAGE,
    "KernelTma": Schedule.TMA,
    "KernelTmaWarpSpecialized": Schedule.WARP_SPECIALIZED,
    "KernelTmaWarpSpecializedCooperative": Schedule.COOPERATIVE,
    "KernelTmaWarpSpecializedPingpong": Schedule.PINGPONG,
}


def test_there_are_five_in_the_order_of_the_ladder():
    assert [s.value for s in Schedule] == ["multistage", "tma", "warp_specialized", "cooperative", "pingpong"]


@pytest.mark.parametrize("name, schedule", CUTLASS.items())
def test_cutlass_names_short_names_and_members_are_accepted(name, schedule):
    assert parse_schedule(name) is schedule
    assert parse_schedule(schedule.value) is schedule
    assert parse_schedule(schedule) is schedule
    assert schedule.cutlass_name == name
    assert str(schedule) == schedule.value


def test_auto_is_no_schedule():
    assert parse_schedule("auto") is None


@pytest.mark.parametrize("name, near", [("pingpng", "pingpong"), ("steam_k", None), ("AUTO ", "auto"), ("", None)])
def test_an_unknown_name_lists_the_known_and_the_nearest(name, near):
    with pytest.raises(ValueError) as caught:
        parse_schedule(name)
    assert isinstance(caught.value, errors.ScheduleError)
    text = str(caught.value)
    assert repr(name) in text and "'auto'" in text and "'warp_specialized'" in text
    if near:
        assert f"did you mean '{near}'" in text.lower()


@pytest.mark.parametrize("value", [3, None, b"auto", ["auto"]])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError, match="Schedule"):
        parse_schedule(value)
