"""How a kernel walks its tiles: raster and group, chosen for reuse in L2, and slices of K where tiles are few.

`along_m` walks bands of `group` clusters of tile rows, down each band first; `along_n` is the same with rows and
columns exchanged (include/hopper_gemm/scheduler/tile_order.h). `apart` walks like `along_m`, and a kernel that
turns_when_told begins the sums of its tiles at different k-blocks (include/hopper_gemm/mainloop/k_order.h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .operands import ALIGNMENT_BYTES
from .problem import Problem
from .registry import Kernel

RASTERS = ("along_m", "along_n")
APART = "apart"
ORDERS = (*RASTERS, APART)  # the C++ enumeration
GROUPS = (1, 2, 4, 8, 16)
DEFAULT_GROUP = 8
MAX_SLICES = 64
MIN_SLICE_BYTES = 512  # of K
LINE_BYTES, SECTOR_BYTES = 128, 32  # of memory: what L2 answers whole, and the least it fetches


@dataclass(frozen=True)
class Walk:
    """A raster and group, into how many slices K is cut, and the bytes the model expects to come from HBM."""

    raster: str
    group: int
    hbm_bytes: float
    slices: int = 1

    @property
    def raster_index(self) -> int:
        """The value of the C++ enumeration."""
        return ORDERS.index(self.raster)

    def describe(self) -> str:
        return "one row of tiles, whose sums begin apart" if self.raster == APART else f"{self.raster}, groups of {self.group} clusters"

    def in_slices(self, slices: int) -> Walk:
        """With K in so many: then all tiles begin with the first block."""
        return self if slices == self.slices else replace(self.for_any_m, slices=slices)

    @property
    def for_any_m(self) -> Walk:
        """The same without what depends on the number of rows and changes bits: slices, and where sums begin."""
        return replace(self, slices=1, raster="along_m" if self.raster == APART else self.raster)


def slicings(problem: Problem, kernel: Kernel, tiles: int, sms: int) -> list[int]:
    """Numbers of slices of K worth a prediction: none, or as many as bring the tiles near half the SMs, all of them, or
    twice as many. Slices are equal, and whole 16 bytes of a row (csrc/dispatch/split_k.cpp). Of those that begin within rows, also
    the nearest of whole lines and of whole sectors of memory, off which L2 is slower."""
    least = MIN_SLICE_BYTES // kernel.element_bytes
    if problem.batches > 1 or kernel.accumulator != "f32" or 3 * tiles > 2 * sms or problem.k < 2 * least:
        return [1]
    row_bytes = problem.k * kernel.element_bytes

    def legal(bytes_: int) -> list[int]:
        return [s for s in range(2, MAX_SLICES + 1) if row_bytes % (s * bytes_) == 0 and problem.k // s >= least]

    reads_rows = kernel.layout[0] == "t" or kernel.layout[1] == "n"
    kinds = [found for bytes_ in ((LINE_BYTES, SECTOR_BYTES) if reads_rows else ()) + (ALIGNMENT_BYTES,) if (found := legal(bytes_))]
    nearest = {min(found, key=lambda s: (abs(s * tiles - slots), s)) for found in kinds for slots in (sms // 2, sms, 2 * sms)}
    return [1, *sorted(nearest)]


def best_walk(
    problem: Problem, kernel: Kernel, tiles_m: int, tiles_n: int, slots: int, l2_bytes: int, model: Mapping[str, Any]
) -> Walk:
    """The walk with the least traffic: first from HBM, then between L2 and the SMs of one wave. A single row of tiles with a CTA
    for each begins apart, where the kernel can: 0 to 7% faster (docs/notes/small_and_decode.md)."""
    options = [
        (_traffic(problem, kernel, tiles_m, tiles_n, slots, raster, group, l2_bytes, model), raster, group)
        for raster in RASTERS
        for group in GROUPS
    ]
    (hbm_bytes, _, _), raster, group = min(options, key=lambda o: (o[0][0], o[0][1], o[0][2], RASTERS.index(o[1]), o[2]))
    one_row = tiles_m == 1 and kernel.cluster[1] < tiles_n <= slots and problem.batches == 1 and not problem.swapped
    return Walk(APART if one_row and kernel.turns_when_told else raster, group, hbm_bytes)


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
