"""The five schedules and the names they answer to."""

from __future__ import annotations

from enum import Enum

from .errors import ArgumentError, ScheduleError, did_you_mean, sentence

AUTO = "auto"


class Schedule(str, Enum):
    """How a kernel divides loading and computing among warpgroups, in the order of the ladder.

    The value is the short name; `cutlass_name` is what CUTLASS calls it. Both are accepted wherever a schedule is.
    """

    MULTISTAGE = "multistage"
    TMA = "tma"
    WARP_SPECIALIZED = "warp_specialized"
    COOPERATIVE = "cooperative"
    PINGPONG = "pingpong"

    def __str__(self) -> str:
        return self.value

    @property
    def cutlass_name(self) -> str:
        return _CUTLASS_NAMES[self]

    @property
    def is_persistent(self) -> bool:
        """True if a CTA computes several tiles (the grid is what the device can hold, not the tile count)."""
        return self in (Schedule.COOPERATIVE, Schedule.PINGPONG)


_CUTLASS_NAMES = {
    Schedule.MULTISTAGE: "KernelMultistage",
    Schedule.TMA: "KernelTma",
    Schedule.WARP_SPECIALIZED: "KernelTmaWarpSpecialized",
    Schedule.COOPERATIVE: "KernelTmaWarpSpecializedCooperative",
    Schedule.PINGPONG: "KernelTmaWarpSpecializedPingpong",
}
_BY_NAME = {s.value: s for s in Schedule} | {c: s for s, c in _CUTLASS_NAMES.items()}


def parse_schedule(value: str | Schedule) -> Schedule | None:
    """The schedule a name stands for, None for "auto".

    Raises:
        ArgumentError: `value` is not a string or a Schedule.
        ScheduleError: no schedule has this name; the text lists them and the nearest.
    """
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, str):
        raise ArgumentError(
            sentence(
                "schedule takes a string or a hopper_gemm.Schedule",
                got=f"{value!r} of type {type(value).__name__}",
                expected=f"'auto' or one of {_listed()}",
            )
        )
    if value == AUTO:
        return None
    if value in _BY_NAME:
        return _BY_NAME[value]
    raise ScheduleError(
        sentence(
            f"unknown schedule {value!r}",
            expected=f"'auto', one of {_listed()}, or CUTLASS's names ({', '.join(_CUTLASS_NAMES.values())})",
            fix=did_you_mean(value, [AUTO, *_BY_NAME]),
        )
    )


def _listed() -> str:
    return ", ".join(repr(s.value) for s in Schedule)
