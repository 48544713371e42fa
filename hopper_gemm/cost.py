"""The analytic model of one kernel's time on one problem. Constants come from model.json; units are in the names.

time = launch + max(kernel, memory) + a part of the smaller + the sum of the slices of a split K + what is packed and copied
kernel = soft maximum of (busiest SM at full clock, all work at the card's power limit)
memory = soft maximum of (HBM, L2 to all SMs)
busiest SM = tiles x k-blocks x cycles of a k-block + prologue + exposed epilogues
k-block = soft maximum of (tensor core, shared memory, L2), or load latency / stages
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .manifest import majors as kernel_majors
from .schedule import Schedule
from .tiling import SLICES_AT_ONCE, Card, Tiling
from .walk import Walk, best_walk

__all__ = ["Card", "Estimate"]


@dataclass(frozen=True)
class Estimate(Tiling):
    """A kernel on a problem, as the kernel sees it, on a card: every term of the model by name."""

    # --- one k-block of one CTA

    @property
    def l2_bytes(self) -> float:
        return self.kernel.element_bytes * self.kernel.tile[2] * sum(self.fetched_rows)

    @cached_property
    def l2_requests(self) -> float:
        """Bytes, more where a 128-byte row of a tile lies in two lines of memory."""
        weighted = sum(
            rows * (1 + _split_lines(alignment, self.model["split_line"]))
            for rows, alignment in zip(self.fetched_rows, self.row_alignments)
        )
        return self.kernel.element_bytes * self.kernel.tile[2] * weighted

    def shared_bytes(self, write_weight: float) -> float:
        """Each 64-row wgmma reads its rows of A and all of B from shared memory; TMA writes compete in part."""
        tile_m, tile_n, tile_k = self.kernel.tile
        return self.kernel.element_bytes * tile_k * (tile_m + tile_n * (tile_m // 64) + write_weight * (tile_m + tile_n))

    @cached_property
    def block_terms(self) -> dict[str, float]:
        """Cycles by the throughput that could limit them."""
        tile_m, tile_n, tile_k = self.kernel.tile
        model = self.model
        # A wgmma takes 32 bytes of K in the same time for every type.
        mma = 2 * tile_m * tile_n * tile_k * self.kernel.element_bytes / 2 / model["mma_flop_per_cycle"]
        return {
            "tensor core": mma * model["mainloop_slowdown"][self.kernel.schedule.value] + self.promotion_cycles,
            "shared memory": self.shared_bytes(model["smem_write_weight"]) / model["smem_bytes_per_cycle"],
            "L2": self.l2_requests / model["l2_bytes_per_cycle"]
            + self.rows_beyond * model["edge_row_cycles"]
            + self.rows_ragged * model["ragged_row_cycles"],
        }

    @property
    def promotion_cycles(self) -> float:
        """That the tensor core waits while sums are added up outside it: hardly, where a warpgroup multiplies into two sets
        in turn, little where another warpgroup of the tile fills the gap."""
        kernel = self.kernel
        if not kernel.promote_k:
            return 0.0
        elements = kernel.tile[0] * kernel.tile[1] * kernel.tile[2] / kernel.promote_k
        alone = kernel.schedule is Schedule.PINGPONG or kernel.consumers == 1
        way = "alternating" if kernel.alternates else "alone" if alone else "shared"
        return float(elements / self.model["promoted_per_cycle"][way])

    @cached_property
    def block_cycles(self) -> float:
        """A soft maximum: units near their limit slow each other down."""
        power = self.model["softness"]
        return float(sum(cycles**power for cycles in self.block_terms.values()) ** (1 / power))

    @property
    def block_cycles_alone(self) -> float:
        """The same if no other CTA of the SM hides the latency of the loads."""
        latency = self.model["load_latency_cycles"] / max(1, self.kernel.stages - 1)
        return float(max(self.block_cycles, self.model["step_cycles"], latency))

    # --- the whole kernel

    @cached_property
    def epilogue_cycles(self) -> float:
        element = 4 if self.slices > 1 else self.problem.output_bytes
        tile_m, tile_n, _ = self.kernel.tile
        if self.store != "tma":  # what lies outside is skipped
            tile_m, tile_n = min(tile_m, self.problem.m), min(tile_n, self.problem.n)
        out_bytes = tile_m * tile_n * element
        rate = self.model["store_bytes_per_cycle"][self.store]
        if self.store in ("tma", "rows") and self.kernel.output == "row_major":
            rate *= (math.gcd(self.kernel.tile[1], 64) / 64) ** self.model["narrow_panel_power"]
        through_rows = self.model["rows_cycles"] if self.store == "rows" else 0.0
        return float(self.model["epilogue_cycles"] + through_rows + out_bytes / rate)

    @property
    def busy_cycles(self) -> float:
        """Of the SM with the most tiles."""
        prologue, epilogue, tiles = float(self.model["prologue_cycles"][self.kernel.schedule.value]), self.epilogue_cycles, self.tiles_per_sm
        mainloop = self.k_blocks * self.block_cycles_alone
        if self.kernel.schedule is Schedule.PINGPONG:
            return prologue + tiles * max(mainloop, epilogue) + epilogue
        if self.kernel.schedule is Schedule.COOPERATIVE:
            return prologue + tiles * (mainloop + epilogue)
        # One tile per CTA: CTAs of an SM hide each other's latency, but each round of them pays it once.
        shared = prologue + tiles * self.k_blocks * self.block_cycles + epilogue
        return max(shared, -(-tiles // self.ctas_per_sm) * (prologue + mainloop + epilogue))

    @cached_property
    def walk(self) -> Walk:
        walk = best_walk(
            self.problem, self.kernel, self.tiles_m, self.tiles_n, self.resident_ctas, self.card.l2_bytes, self.model
        )
        return walk.in_slices(self.slices)

    @property
    def memory_us(self) -> float:
        """HBM, and what L2 hands to all SMs together."""
        zeros = self.kernel.element_bytes * self.kernel.tile[2] * self.zero_rows * self.model["l2_zeros"]
        l2_us = (self.l2_requests + zeros) * self.tiles * self.k_blocks / self.model["l2_bytes_per_us"]
        return float((self.hbm_us**4 + l2_us**4) ** 0.25)

    @property
    def sum_us(self) -> float:
        """The launch that adds up the slices, in rounds that are loaded together (include/hopper_gemm/core/slice_sum.h); in older
        results in rounds of eight, and what they left over one by one."""
        if self.slices == 1:
            return 0.0
        model, written = self.model["slice_sum"], 4 * self.slices * self.problem.m * self.problem.n
        at_once = next((n for n in SLICES_AT_ONCE if self.slices <= n), SLICES_AT_ONCE[-1])
        rounds, singles = divmod(self.slices, 8) if self.sums == 0 else (-(-self.slices // at_once), 0)
        waits = model["round_us"] * rounds + model["single_us"] * singles
        return float(model["launch_us"] + waits + written / model["bytes_per_us"])

    @property
    def packing_us(self) -> float:
        """What goes through workspaces: one launch before the kernel, one after it. Rows that become columns take longer."""
        problem, model = self.problem, self.model
        copied = 2 * problem.workspace_bytes
        for turns, size in zip(self.turns, (problem.m * problem.k, problem.k * problem.n)):
            if turns:
                copied += 2 * size * problem.batches * problem.element_bytes * (model["pack_transposed_factor"] - 1)
        launches = any(problem.packs) + problem.copies_out
        return float(launches * model["pack_launch_us"] + copied / model["pack_bytes_per_us"])

    @property
    def turns(self) -> tuple[bool, bool]:
        """Of which operands, A and B, rows become columns when they are packed."""
        problem, (a_major, b_major) = self.problem, kernel_majors(self.kernel.layout)
        return problem.packs[0] and a_major != problem.a_majors[0], problem.packs[1] and b_major != problem.b_majors[0]

    @property
    def hbm_us(self) -> float:
        """The memory's own limit, or what the CTAs of each round of tiles can ask for."""
        model, kernel, problem = self.model, self.kernel, self.problem
        stage_bytes = kernel.element_bytes * kernel.tile[2] * (min(kernel.tile[0], problem.m) + min(kernel.tile[1], problem.n))

        def bytes_per_us(ctas: int) -> float:  # near the memory's limit both slow each other
            by_latency = ctas * stage_bytes * max(1, kernel.stages - 1) / model["load_latency_cycles"]
            asked = 1e3 * model["clock_ghz"] * min(by_latency, min(ctas, self.sms) * model["hbm_bytes_per_cycle_sm"])
            return float((model["hbm_bytes_per_us"] ** -2 + asked**-2) ** -0.5)

        rounds, rest = divmod(self.tiles, resident := self.resident_ctas)
        tile_bytes = problem.batches * self.walk.hbm_bytes / self.tiles
        return tile_bytes * sum(n * ctas / bytes_per_us(ctas) for n, ctas in ((rounds, resident), (1, rest)) if n * ctas)

    @property
    def power_us(self) -> float:
        """Time the work takes at the power limit: what moves and multiplies costs energy, idle SMs do not.
        The limit is taken to grow with the card."""
        energy, blocks = self.model["us_per_power"], self.useful_area * self.tiles * self.k_blocks
        work = (
            energy["tflop"] * self.model["tflop_energy"][self.kernel.a_type] * self.problem.flops * 1e-12
            + energy["smem_gb"] * self.shared_bytes(1.0) * blocks * 1e-9
            + energy["l2_gb"] * self.l2_bytes * blocks * 1e-9
            + energy["hbm_gb"] * self.problem.batches * self.walk.hbm_bytes * 1e-9
            + energy["out_gb"] * self.problem.batches * self.problem.output_bytes * self.problem.m * self.problem.n * 1e-9
        )
        return float(work * self.model["sms"] / self.card.sm_count)

    @property
    def busy_us(self) -> float:
        return float(self.busy_cycles / (self.model["clock_ghz"] * 1e3))

    def factor(self, part: str) -> float:
        """What this schedule, tile and cluster was measured to take beyond the rest of the model: "kernel" or "memory"."""
        return float(self.model["factor"][part].get(self.kernel.family, 1.0))

    @cached_property
    def us(self) -> float:
        """The modelled time."""
        power = self.model["power_softness"]
        kernel_us = self.factor("kernel") * (self.busy_us**power + self.power_us**power) ** (1 / power)
        memory_us = self.factor("memory") * self.memory_us
        launch_us = self.model["launch_us"] + self.model["cluster_us"] * (self.kernel.cluster_size > 1)
        slower, faster = max(kernel_us, memory_us), min(kernel_us, memory_us)
        return float(launch_us + slower + self.model["overlap_loss"] * faster + self.sum_us + self.packing_us)

    @property
    def bound(self) -> str:
        """What limits it most: a unit of the SM, "power" or "HBM"."""
        unit = max(self.block_terms, key=self.block_terms.__getitem__)
        limits = {unit: self.busy_us, "power": self.power_us, "HBM": self.hbm_us}
        return max(limits, key=limits.__getitem__)


def _split_lines(alignment: int, model: Mapping[str, float]) -> float:
    """What rows cost that do not all begin a line of memory: the part of them in two lines, times the fitted price."""
    part = {128: 0.0, 64: 0.5, 32: 0.75, 16: 0.875}[alignment]
    return part * model["cost"] * (model["odd_sectors"] if alignment == 16 else 1.0)
