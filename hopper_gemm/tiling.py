"""How a problem falls into the tiles of a kernel on a card: what the model of cost.py counts. No times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .operands import aligned_row_bytes
from .problem import Problem
from .registry import Kernel
from .schedule import Schedule
from .walk import LINE_BYTES

SM_SHARED_BYTES = 228 * 1024  # of one SM; every resident CTA takes 1 KB more than it asks for
SM_THREADS = 2048
SM_REGISTERS = 65536
CLIPS = 2  # boxes of TMA at the edge, as results record it: 0 in those of before any were clipped, 1 where single tiles alone were
SUMS = 1  # how slices are summed, the same: 0 where those that rounds of eight leave over came one by one
SLICES_AT_ONCE = (4, 8, 16)  # kSlicesAtOnce of include/hopper_gemm/core/slice_sum.h
WHOLE_TILE_ROWS, ATOM_ROWS = 16, 8  # kWholeTileRows and kAtomRows of include/hopper_gemm/core/boxes.h


@dataclass(frozen=True)
class Card:
    """The properties of a GPU the model uses."""

    name: str = "NVIDIA H200"
    sm_count: int = 132
    l2_bytes: int = 60 << 20


@dataclass(frozen=True)
class _OperandRows:
    """The rows of an operand in the tiles along it, those that only fill up a cluster included; of a CTA, on average over tiles."""

    tiles: int
    rows: int
    tile: int
    sharers: int  # CTAs that load a slice each
    clips: int
    k_major: bool

    @property
    def existing(self) -> float:
        return self.rows / self.tiles / self.sharers

    @property
    def zeros(self) -> float:
        """Rows that TMA fills with zeros. Where boxes end at the edge: those that fill up the slices of sharers, and the tiles
        beyond the edge (include/hopper_gemm/core/boxes.h)."""
        left = self.rows % self.tile
        loaded = self.tiles * self.tile
        if left and self.k_major and self.tile > WHOLE_TILE_ROWS and self.clips >= (1 if self.rows < self.tile else 2):
            atom = self.sharers * (ATOM_ROWS if self.sharers > 1 else 1)
            box = min(self.tile, -(-left // atom) * atom)
            loaded = self.rows - left + (self.tiles - self.rows // self.tile) * box
        return (loaded - self.rows) / self.tiles / self.sharers


@dataclass(frozen=True)
class Tiling:
    """A kernel on a problem, as the kernel sees it, on a card."""

    problem: Problem
    kernel: Kernel
    card: Card
    model: Mapping[str, Any]
    slices: int = 1  # of K, in memory
    clips: int = CLIPS
    sums: int = SUMS

    @cached_property
    def tiles_m(self) -> int:
        return _padded_tiles(self.problem.m, self.kernel.tile[0], self.kernel.cluster[0])

    @cached_property
    def tiles_n(self) -> int:
        return _padded_tiles(self.problem.n, self.kernel.tile[1], self.kernel.cluster[1])

    @property
    def tiles(self) -> int:
        """Tiles, or parts of tiles if the K extent is split."""
        return self.tiles_m * self.tiles_n * self.kernel.cluster_k * self.slices * self.problem.batches

    @cached_property
    def sms(self) -> int:
        """SMs that clusters of this size can cover (66 clusters of 2 but only 30 of 4 were resident on 132 SMs)."""
        size = self.kernel.cluster_size
        fill = self.model["clusters_of_4_fill"] if size >= 4 else 1.0
        return max(size, int(self.card.sm_count * fill) // size * size)

    @cached_property
    def ctas_per_sm(self) -> int:
        """CTAs one SM holds at once, from shared memory, threads and registers."""
        kernel = self.kernel
        registers = min(255, SM_REGISTERS // kernel.threads // 8 * 8)
        if not kernel.schedule.is_persistent:
            per_register = 2 if kernel.accumulator == "f16" else 1
            sets = 2 if kernel.promote_k else 1
            accumulators = sets * kernel.tile[0] * kernel.tile[1] // (kernel.consumers * 128 * per_register)
            registers = min(registers, accumulators + 56)
        by_shared = SM_SHARED_BYTES // (kernel.shared_bytes + 1024)
        return max(1, min(by_shared, SM_THREADS // kernel.threads, SM_REGISTERS // (registers * kernel.threads)))

    @property
    def resident_ctas(self) -> int:
        return self.sms * self.ctas_per_sm

    @property
    def tiles_per_sm(self) -> int:
        return -(-self.tiles // self.sms)

    @property
    def slice_k(self) -> int:
        """K of one slice."""
        return self.problem.k // self.slices

    @cached_property
    def row_alignments(self) -> tuple[int, int]:
        """The bytes of which the places in memory where a CTA's rows of A and of B begin are multiples, up to a line of 128, if
        the operands are dense and begin with a line. Slices of K begin inside the rows of K."""
        problem, size, letters = self.problem, self.kernel.element_bytes, self.kernel.layout
        begin = self.slice_k * size if self.slices > 1 else 0

        def alignment(is_k_major: bool, extent: int) -> int:
            row_bytes = aligned_row_bytes(problem.k if is_k_major else extent, size)
            return math.gcd(LINE_BYTES, row_bytes, begin if is_k_major else 0)

        return alignment(letters[0] == "t", problem.m), alignment(letters[1] == "n", problem.n)

    @property
    def k_blocks(self) -> int:
        """Of one CTA on one tile."""
        return max(1, -(-self.slice_k // (self.kernel.tile[2] * self.kernel.cluster_k)))

    @property
    def useful_area(self) -> float:
        """Part of the computed tiles that lies inside the output."""
        tile_m, tile_n, _ = self.kernel.tile
        return self.problem.m * self.problem.n / (self.tiles_m * self.tiles_n * tile_m * tile_n)

    # --- rows that a CTA fetches, and how its tiles leave

    @cached_property
    def fetched_rows(self) -> tuple[float, float]:
        """Rows of K of A and of B that a CTA fetches: those inside the operands, and its share of a multicast."""
        (tile_m, tile_n, _), (cluster_m, cluster_n) = self.kernel.tile, self.kernel.cluster
        return min(tile_m, self.problem.m) / cluster_n, min(tile_n, self.problem.n) / cluster_m

    @cached_property
    def _operands(self) -> tuple[_OperandRows, _OperandRows]:
        """A and B."""
        (tile_m, tile_n, _), (cluster_m, cluster_n), layout = self.kernel.tile, self.kernel.cluster, self.kernel.layout
        return (
            _OperandRows(self.tiles_m, self.problem.m, tile_m, cluster_n, self.clips, layout[0] == "t"),
            _OperandRows(self.tiles_n, self.problem.n, tile_n, cluster_m, self.clips, layout[1] == "n"),
        )

    @property
    def rows_beyond(self) -> float:
        """Rows that are zero-filled in every tile: slower than rows that exist."""
        return sum(of.zeros for of in self._operands if of.rows < of.tile)

    @property
    def rows_ragged(self) -> float:
        """The same in the last tiles of several, on average over all tiles."""
        return sum(of.zeros for of in self._operands if of.rows >= of.tile)

    @property
    def zero_rows(self) -> float:
        """Rows that TMA fills with zeros, in whole or, in the last block of K, in part, on average over all tiles and blocks.
        They cost L2 more than rows that exist (docs/notes/limits.md)."""
        if self.kernel.schedule is Schedule.MULTISTAGE:
            return 0.0
        tile_k = self.kernel.tile[2]
        blocks = max(1, -(-self.slice_k // tile_k))
        tail = (blocks * tile_k - self.slice_k) / tile_k / blocks
        existing = sum(of.existing for of in self._operands)
        return self.rows_beyond + self.rows_ragged + self.model["zero_tail"] * tail * existing

    @property
    def stored_columns(self) -> int:
        """Of the output as it lies in memory."""
        return self.problem.n if self.kernel.output == "row_major" else self.problem.m

    @property
    def store(self) -> str:
        """How tiles leave the kernel: "tma" or "rows", both through panels in shared memory, or from registers, "direct", and as
        "singles" where not even two 16-bit elements can be written at once. Slices of K are f32, in rows of whole 16 bytes."""
        if self.slices > 1 or self.problem.output_bytes != 2:
            return "direct"
        if self.kernel.store == "tma" and (self.stored_columns % 8 == 0 or self.kernel.consumers < 4):
            return "rows" if self.stored_columns % 8 else "tma"
        return "singles" if self.stored_columns % 2 and not self.problem.copies_out else "direct"


def _padded_tiles(extent: int, tile: int, cluster: int) -> int:
    """Tiles along an extent, rounded up to whole clusters."""
    tiles = -(-extent // tile)
    return -(-tiles // cluster) * cluster
