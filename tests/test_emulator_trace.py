"""Each schedule is itself, read from the emulator's timed trace: who loads, who computes, what overlaps."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from support.operands import Shape, operands

import hopper_gemm
from hopper_gemm import Schedule, matmul

LOAD, MAINLOOP, EPILOGUE = 1, 2, 3  # arch::Activity


@dataclass(frozen=True)
class Event:
    begin: int
    end: int
    cta: int
    warpgroup: int
    tile: int
    activity: int

    def shared(self, other: Event) -> int:
        """Cycles both take part in."""
        return max(0, min(self.end, other.end) - max(self.begin, other.begin))


SHAPE = Shape(512, 512, 320)
CONFIG = {  # no cluster: one CTA an SM
    Schedule.PINGPONG: "bf16_*_tn_128x128x64_c1x1_s6_pingpong_tma",
    Schedule.COOPERATIVE: "bf16_*_tn_128x256x64_c1x1_s4_cooperative_tma",
}


def trace(schedule: Schedule, shape: Shape = SHAPE, sm_count: int = 2) -> list[Event]:
    a, b = operands(shape, "tn", torch.bfloat16, integers=True)
    with hopper_gemm.emulator(timed=True, trace=True, sm_count=sm_count) as emulator:
        y = matmul(a, b, schedule=schedule, config=CONFIG.get(schedule))
    assert torch.equal(y, (a.double() @ b.double()).bfloat16())
    return [Event(**event) for event in emulator.reports[-1]["trace"]]


def hidden_fraction(events: list[Event]) -> float:
    """Part of the epilogue cycles spent under the mainloop of another tile by another warpgroup of the same CTA."""
    epilogues = [e for e in events if e.activity == EPILOGUE]
    hidden = sum(
        e.shared(m)
        for e in epilogues
        for m in events
        if m.activity == MAINLOOP and m.cta == e.cta and m.warpgroup != e.warpgroup and m.tile != e.tile
    )
    return hidden / sum(e.end - e.begin for e in epilogues)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_only_pingpong_hides_epilogues_under_mainloops(schedule):
    hidden = hidden_fraction(trace(schedule))
    if schedule is Schedule.PINGPONG:
        assert hidden > 0.8  # all but the last of each CTA
    elif schedule is Schedule.COOPERATIVE:
        assert hidden < 0.1  # only as far as the warpgroups of one tile drift apart
    else:
        assert hidden == 0


def test_pingpong_mainloops_take_turns():
    loops = [e for e in trace(Schedule.PINGPONG) if e.activity == MAINLOOP]
    tiles = {e.tile for e in loops}
    assert len(tiles) > 4
    for first in loops:
        for second in loops:
            if first.cta == second.cta and first.warpgroup < second.warpgroup:
                # A turn ends when the last wgmma is issued, before it has finished.
                assert first.shared(second) < 0.5 * min(first.end - first.begin, second.end - second.begin)


@pytest.mark.parametrize("schedule", [Schedule.WARP_SPECIALIZED, Schedule.COOPERATIVE, Schedule.PINGPONG])
def test_a_producer_warpgroup_only_loads(schedule):
    events = trace(schedule)
    loading = {e.warpgroup for e in events if e.activity == LOAD}
    computing = {e.warpgroup for e in events if e.activity == MAINLOOP}
    assert loading and computing and not loading & computing


@pytest.mark.parametrize("schedule", [Schedule.MULTISTAGE, Schedule.TMA])
def test_without_a_producer_every_warpgroup_computes(schedule):
    events = trace(schedule)
    assert {e.warpgroup for e in events} == {e.warpgroup for e in events if e.activity == MAINLOOP}


@pytest.mark.parametrize("schedule", list(Schedule))
def test_persistent_ctas_do_several_tiles_others_one(schedule):
    events = [e for e in trace(schedule) if e.activity == EPILOGUE]
    per_cta = {cta: len({e.tile for e in events if e.cta == cta}) for cta in {e.cta for e in events}}
    if schedule.is_persistent:
        assert len(per_cta) <= 2 and min(per_cta.values()) > 1
    else:
        assert set(per_cta.values()) == {1}


def test_cooperative_warpgroups_share_their_tiles():
    events = [e for e in trace(Schedule.COOPERATIVE) if e.activity == MAINLOOP]
    warpgroups = {tile: {e.warpgroup for e in events if e.tile == tile} for tile in {e.tile for e in events}}
    assert all(len(w) >= 2 for w in warpgroups.values())
    events = [e for e in trace(Schedule.PINGPONG) if e.activity == MAINLOOP]
    warpgroups = {tile: {e.warpgroup for e in events if e.tile == tile} for tile in {e.tile for e in events}}
    assert all(len(w) == 1 for w in warpgroups.values())
