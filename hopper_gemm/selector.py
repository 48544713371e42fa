"""Which kernel for which problem: an analytic model of a kernel's time, its constants in model.json.

Pure Python and deterministic: the same problem on the same card always gets the same kernel. `predict` is the model of
one kernel, `rank` sorts candidates, and every term is kept so that `explain` can print it.

    time = launch + max(HBM floor, tiles of the busiest SM x cycles of a tile + what is exposed at both ends)
    cycles of a tile = k-blocks x max(tensor core, shared memory, L2, load latency / stages) + exposed epilogue
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .problem import Problem
from .registry import Kernel
from .schedule import Schedule
from .walk import Walk, best_walk

SM_SHARED_BYTES = 228 * 1024  # of one SM; every resident CTA takes 1 KB more than it asks for
SM_THREADS = 2048
SM_REGISTERS = 65536


@dataclass(frozen=True)
class Card:
    """The properties of a GPU the model uses."""

    name: str = "NVIDIA H200"
    sm_count: int = 132
    l2_bytes: int = 60 << 20


@dataclass(frozen=True)
class Prediction:
    """The modelled time of one kernel on one problem, with its terms."""

    kernel: Kernel
    problem: Problem  # as this kernel sees it: operands exchanged for a column-major kernel
    walk: Walk
    us: float
    tiles: int
    waves: float  # tiles per slot, before rounding up
    fill: float  # useful part of the computed tile area and of the last wave
    bound: str  # the largest term: "tensor core", "shared memory", "L2", "HBM"

    @property
    def reason(self) -> str:
        return (
            f"{self.us:.1f} us predicted: {self.tiles} tiles in {self.waves:.2f} waves, "
            f"{100 * self.fill:.0f}% of the computed area and slots useful, bound by {self.bound}"
        )


@functools.cache
def load_model(path: Path | None = None) -> Mapping[str, Any]:
    """The constants: the shipped ones, or those of another file."""
    text = (path or Path(__file__).with_name("model.json")).read_text(encoding="utf-8")
    model: Mapping[str, Any] = json.loads(text)
    return model


def rank(problem: Problem, kernels: Iterable[Kernel], card: Card, model: Mapping[str, Any]) -> list[Prediction]:
    """Predictions of all kernels, fastest first; ties fall to the earlier kernel of the registry."""
    predictions = [predict(problem.for_output(kernel.output), kernel, card, model) for kernel in kernels]
    return sorted(predictions, key=lambda p: (round(p.us, 3), p.kernel.id))


def predict(problem: Problem, kernel: Kernel, card: Card, model: Mapping[str, Any]) -> Prediction:
    """The modelled time of `kernel` on `problem`, given as the kernel sees it."""
    tiles_m = _padded_tiles(problem.m, kernel.tile[0], kernel.cluster[0])
    tiles_n = _padded_tiles(problem.n, kernel.tile[1], kernel.cluster[1])
    tiles = tiles_m * tiles_n * kernel.cluster_k  # parts of tiles, if K is split
    slots = resident_ctas(kernel, card, model)
    per_sm = max(1, slots // _usable_sms(kernel, card, model))
    k_blocks = max(1, -(-problem.k // (kernel.tile[2] * kernel.cluster_k)))
    terms = _block_terms(problem, kernel, model)
    bound, block = max(terms.items(), key=lambda item: item[1])
    block = max(block, terms["tensor core"] * model["mainloop_slowdown"][kernel.schedule.value])
    block_alone = max(block, float(model["step_cycles"]), model["load_latency_cycles"] / max(1, kernel.stages - 1))

    sms = _usable_sms(kernel, card, model)
    tiles_per_sm = -(-tiles // sms)
    epilogue = _epilogue_cycles(kernel, problem, model)
    prologue = float(model["prologue_cycles"])
    if kernel.schedule is Schedule.PINGPONG:
        busy = prologue + tiles_per_sm * max(k_blocks * block_alone, epilogue) + epilogue
    elif kernel.schedule is Schedule.COOPERATIVE:
        busy = prologue + tiles_per_sm * (k_blocks * block_alone + epilogue)
    else:  # CTAs of one SM hide each other's latency; each pays it alone at least once
        alone = prologue + k_blocks * block_alone + epilogue
        busy = max(prologue + tiles_per_sm * k_blocks * block + epilogue, -(-tiles_per_sm // per_sm) * alone)

    walk = best_walk(problem, kernel, tiles_m, tiles_n, slots, card.l2_bytes, model)
    busy_us = busy / (model["clock_ghz"] * 1e3)
    hbm_us = max(walk.hbm_bytes / _hbm_rate(problem, kernel, tiles, per_sm, sms, model), 0.0)
    if hbm_us > busy_us:
        bound = "HBM"
    area = problem.m * problem.n * kernel.cluster_k / (tiles * kernel.tile[0] * kernel.tile[1])
    return Prediction(
        kernel=kernel,
        problem=problem,
        walk=walk,
        us=model["launch_us"] + max(busy_us, hbm_us) + 0.15 * min(busy_us, hbm_us),
        tiles=tiles,
        waves=tiles / slots,
        fill=area * tiles / (sms * tiles_per_sm),
        bound=bound,
    )


def resident_ctas(kernel: Kernel, card: Card, model: Mapping[str, Any]) -> int:
    """CTAs the card holds at once, from shared memory, threads and registers; whole clusters."""
    by_shared = SM_SHARED_BYTES // (kernel.shared_bytes + 1024)
    registers = min(255, SM_REGISTERS // kernel.threads // 8 * 8)
    if kernel.schedule in (Schedule.MULTISTAGE, Schedule.TMA, Schedule.WARP_SPECIALIZED):
        registers = min(registers, _accumulator_registers(kernel) + 56)
    by_registers = SM_REGISTERS // (registers * kernel.threads)
    per_sm = max(1, min(by_shared, SM_THREADS // kernel.threads, by_registers))
    return _usable_sms(kernel, card, model) * per_sm


def _usable_sms(kernel: Kernel, card: Card, model: Mapping[str, Any]) -> int:
    """SMs that clusters of this size can cover (66 clusters of 2 but only 30 of 4 were resident on 132 SMs)."""
    size = kernel.cluster_size
    fill = model["clusters_of_4_fill"] if size >= 4 else 1.0
    return max(size, int(card.sm_count * fill) // size * size)


def _padded_tiles(extent: int, tile: int, cluster: int) -> int:
    tiles = -(-extent // tile)
    return -(-tiles // cluster) * cluster


def _accumulator_registers(kernel: Kernel) -> int:
    per_register = 2 if kernel.accumulator == "f16" else 1
    return kernel.tile[0] * kernel.tile[1] // (kernel.consumers * 128 * per_register)


def _block_terms(problem: Problem, kernel: Kernel, model: Mapping[str, Any]) -> dict[str, float]:
    """Cycles of one k-block of one CTA, by the throughput that could limit it."""
    tile_m, tile_n, tile_k = kernel.tile
    # Each 64-row wgmma reads its rows of A, each warpgroup all of B from shared memory.
    smem_reads = 2 * tile_k * (tile_m + tile_n * max(1, tile_m // 128))
    # Rows beyond the edge are zero-filled without a read; with multicast a CTA fetches its slice of what is shared.
    l2_rows = min(tile_m, problem.m) / kernel.cluster[1] + min(tile_n, problem.n) / kernel.cluster[0]
    return {
        "tensor core": 2 * tile_m * tile_n * tile_k / model["mma_flop_per_cycle"],
        "shared memory": smem_reads / model["smem_bytes_per_cycle"],
        "L2": 2 * tile_k * l2_rows / model["l2_bytes_per_cycle"],
    }


def _epilogue_cycles(kernel: Kernel, problem: Problem, model: Mapping[str, Any]) -> float:
    store = kernel.store if problem.output != "f32" and problem.n % 8 == 0 else "direct"
    out_bytes = kernel.tile[0] * kernel.tile[1] * (4 if problem.output == "f32" else 2)
    return float(model["epilogue_cycles"] + out_bytes / model["store_bytes_per_cycle"][store])


def _hbm_rate(problem: Problem, kernel: Kernel, tiles: int, per_sm: int, sms: int, model: Mapping[str, Any]) -> float:
    """Bytes per microsecond: the memory's own limit, or what the CTAs that exist can ask for."""
    resident = min(tiles, sms * per_sm)
    stage_bytes = 2 * kernel.tile[2] * (min(kernel.tile[0], problem.m) + min(kernel.tile[1], problem.n))
    in_flight = resident * stage_bytes * max(1, kernel.stages - 1)
    by_latency = in_flight / model["load_latency_cycles"]
    by_sm = min(resident, sms) * model["hbm_bytes_per_cycle_sm"]
    return float(min(model["hbm_bytes_per_us"], 1e3 * model["clock_ghz"] * min(by_latency, by_sm)))
