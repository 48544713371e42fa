"""The order in which a kernel walks its tiles: raster and group, chosen for reuse in L2.

`along_m` walks bands of `group` clusters of tile rows, down each band first; `along_n` is the same with rows and
columns exchanged (include/hopper_gemm/scheduler/tile_order.h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .problem import Problem
from .registry import Kernel

RASTERS = ("along_m", "along_n")
GROUPS = (1, 2, 4, 8, 16)
DEFAULT_GROUP = 8


@dataclass(frozen=True)
class Walk:
    """A raster and group, with the bytes the model expects to come from HBM."""

    raster: str
    group: int
    hbm_bytes: float

    @property
    def raster_index(self) -> int:
        """The value of the C++ enumeration."""
        return RASTERS.index(self.raster)


def best_walk(
    problem: Problem, kernel: Kernel, tiles_m: int, tiles_n: int, slots: int, l2_bytes: int, model: Mapping[str, Any]
) -> Walk:
    """The walk with the least traffic: first from HBM, then between L2 and the SMs of one wave."""
    options = [
        (_traffic(problem, kernel, tiles_m, tiles_n, slots, raster, group, l2_bytes, model), raster, group)
        for raster in RASTERS
        for group in GROUPS
    ]
    (hbm_bytes, _, _), raster, group = min(
        options, key=lambda o: (o[0][0], o[0][1], o[0][2], RASTERS.index(o[1]), o[2])
    )
    return Walk(raster, group, hbm_bytes)


def _traffic(
    problem: Problem,
    kernel: Kernel,
    tiles_m: int,
    tiles_n: int,
    slots: int,
    raster: str,
    group: int,
    l2_bytes: int,
    model: Mapping[str, Any],
) -> tuple[float, float, int]:
    """(bytes from HBM, distinct operand bytes of one wave, distance of the group from the default)."""
    element = problem.element_bytes
    a_bytes, b_bytes = element * problem.m * problem.k, element * problem.k * problem.n
    out_bytes = problem.bytes - a_bytes - b_bytes
    useful_l2 = min(model["l2_useful_bytes"], l2_bytes / 2)
    along_m = raster == "along_m"
    rows, columns = (tiles_m, tiles_n) if along_m else (tiles_n, tiles_m)
    kept, streamed = (a_bytes, b_bytes) if along_m else (b_bytes, a_bytes)
    band = min(group * kernel.cluster[0 if along_m else 1], rows)
    bands = -(-rows // band)
    across = min(max(1, slots // band), columns)
    rows_of_wave = min(rows, band * max(1, slots // (band * across)))
    wave_m, wave_n = (rows_of_wave, across) if along_m else (across, rows_of_wave)
    # The operand across the bands is read again for every band, unless all of it stays in L2.
    repeats = bands if streamed > useful_l2 else 1
    wave = float(element) * problem.k * (wave_m * kernel.tile[0] + wave_n * kernel.tile[1])
    return kept + repeats * streamed + out_bytes, wave, abs(group - DEFAULT_GROUP)
