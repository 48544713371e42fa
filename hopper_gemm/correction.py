"""What the model of cost.py does not know: a correction of its times, learned from the errors it made on measured shapes
and from what choosing by it cost there.

A sum of regression trees (gradient boosting: Friedman, "Greedy function approximation", 2001; benchmarks/boosting.py) over how a problem falls
into a kernel's tiles and over the terms of the model. Kernels of a kind that was not measured (integers, 3xTF32) are left as
the model has them. `benchmarks/fit_model.py` writes correction.json.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from .cost import Estimate
from .registry import Kernel
from .schedule import Schedule

__all__ = ["FEATURES", "LARGEST", "Correction", "features", "kind_of", "load_correction", "log_factor"]

LARGEST = 0.4  # logarithm: the most that a time is changed by

FEATURES = (
    "m", "n", "k", "tile_m", "tile_n", "tile_k", "stages", "cluster_m", "cluster_n", "cluster_k", "schedule", "row_major",
    "ctas_per_sm", "tiles", "tiles_per_sm", "waves", "fill", "k_blocks", "slices", "busy_us", "memory_us", "power_us", "us",
    "zero_rows", "useful_area", "store", "row_alignment", "k_tail", "m_tail", "n_tail", "element_bytes", "promotes", "a_is_k_major",
    "b_is_k_major", "packs_a", "packs_b", "copies_out", "packing_us",
    "packing_part", "memory_over_busy", "hbm_us", "block_cycles", "epilogue_cycles", "l2_requests", "rounds_filled", "k_blocks_per_stage",
    "tiles_n", "rows_ragged", "turns_a", "turns_b",
)  # fmt: skip
_SCHEDULES, _STORES = list(Schedule), ("tma", "rows", "direct", "singles")
Node = Union[float, "list[Any]"]  # a value, or [feature, threshold, node up to the threshold, node above it]


def features(e: Estimate) -> list[float]:
    """What the trees look at, in the order of FEATURES: extents and times as logarithms of base 2."""
    kernel, problem = e.kernel, e.problem
    extents = (problem.m, problem.n, problem.k)
    m_tail, n_tail, k_tail = (extent % tile / tile for extent, tile in zip((problem.m, problem.n, e.slice_k), kernel.tile))
    return [
        *(math.log2(max(1, extent)) for extent in extents), *map(math.log2, kernel.tile), kernel.stages, *map(math.log2, (*kernel.cluster, kernel.cluster_k)),
        _SCHEDULES.index(kernel.schedule), kernel.output == "row_major",
        e.ctas_per_sm, math.log2(e.tiles), e.tiles_per_sm, e.tiles / e.resident_ctas, e.tiles / (e.sms * e.tiles_per_sm),
        math.log2(e.k_blocks), math.log2(e.slices), *_logs(e.busy_us, e.memory_us, e.power_us, e.us),
        math.log2(e.zero_rows + 1), e.useful_area, _STORES.index(e.store), math.log2(min(e.row_alignments)),
        k_tail, m_tail, n_tail, problem.element_bytes, kernel.promote_k > 0, kernel.layout[0] == "t", kernel.layout[1] == "n",
        *problem.packs, problem.copies_out, *_logs(e.packing_us, e.packing_us / e.us, e.memory_us / e.busy_us, e.hbm_us, e.block_cycles,
        e.epilogue_cycles, e.l2_requests), e.tiles / (-(-e.tiles // e.resident_ctas) * e.resident_ctas), math.log2(e.k_blocks / kernel.stages),
        e.tiles_n, e.rows_ragged, *e.turns,
    ]  # fmt: skip


def _logs(*values: float) -> Iterator[float]:
    return (math.log2(max(value, 1e-3)) for value in values)


def kind_of(kernel: Kernel) -> str:
    """The arithmetic of a kernel, as far as its time goes: all pairs of fp8 types take the same."""
    types = "fp8" if kernel.a_type in ("e4m3", "e5m2") else kernel.input
    return f"{types}, promoted" if kernel.promote_k else types


@dataclass(frozen=True)
class Correction:
    """Trees, and the kinds of kernels (`kind_of`) whose errors they were learned from."""

    kinds: frozenset[str]
    trees: tuple[Node, ...]


@functools.cache
def load_correction(path: Path | None = None) -> Correction:
    """The shipped one, or that of another file."""
    found = json.loads((path or Path(__file__).with_name("correction.json")).read_text(encoding="utf-8"))
    return Correction(frozenset(found["kinds"]), tuple(found["trees"]))


def log_factor(e: Estimate, correction: Correction) -> float:
    """The logarithm of what the modelled time is to be multiplied by, from -LARGEST to LARGEST."""
    if kind_of(e.kernel) not in correction.kinds:
        return 0.0
    values, total = features(e), 0.0
    for node in correction.trees:
        while isinstance(node, list):
            node = node[2] if values[node[0]] <= node[1] else node[3]
        total += node
    return max(-LARGEST, min(LARGEST, total))
