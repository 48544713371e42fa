"""Reads back what benchmarks/sweep.py and benchmarks/selector.py have recorded: which kernel took how long on which shape."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card, Estimate
from hopper_gemm.errors import UnsupportedProblemError
from hopper_gemm.plan import Request, candidates_for
from hopper_gemm.registry import Kernel
from hopper_gemm.selector import load_model
from hopper_gemm.tiling import CLIPS, SUMS
from hopper_gemm.walk import slicings

FASTEST = 12  # of a shape count in a row without sustained times
# What these say of copies of rows of less than 512 bytes, in or out, is of a slower kernel (kernel/pack.h of before d8a05ef).
# Copies of dense rows before 86e7a0a took up to 8% of a product longer, but for all kernels of a shape alike.
SLOW_COPIES = {*(f"sweep_packed_{seed}" for seed in (101, 102, 104, 202)), *(f"selector_{seed}" for seed in (7, 9, 13, 14, 301))}
SHORT_ROW = 256  # elements


@dataclass(frozen=True)
class Timed:
    """A kernel with K in slices, on a case, with the time it took."""

    case: Case
    kernel: Kernel
    slices: int
    us: float
    clips: int = CLIPS  # whether rows beyond the edge were loaded
    sums: int = SUMS  # how slices were summed


def timings(path: Path, kernels: dict[str, Kernel]) -> list[list[Timed]]:
    """Of every shape, those of kernels in this build that may be chosen for it."""
    shapes = []
    result = json.loads(path.read_text())
    for row in result["rows"]:
        case = Case(row["m"], row["n"], row["k"], row.get("dtype", "bf16"), row.get("layout", "tn"))
        if path.stem in SLOW_COPIES and any(case.problem().packs) and min(case.k, case.n) < SHORT_ROW:
            continue
        prefix = "" if "dtype" in row or "finalists" in row else "bf16_bf16_f32_"
        if "dtype" in row:
            short = {f"{name} {slices}": us for name, slices, us in row["kernels"]}
            times = {name: us for name, us in row["sustained"].items() if name != "torch"}
            longer = statistics.median(times[name] / short[name] for name in times)
            times = {name: us * longer for name, us in short.items()} | times
            found = sorted(((*name.split(), us) for name, us in times.items()), key=lambda entry: entry[-1])
        elif "finalists" in row:
            slices = row.get("slices", {})
            times = {name: us for name, us in named(row).items() if name in kernels}
            told = [name for name in times if name in slices or not may_be_sliced(case, kernels[name])]
            found = [(name, slices.get(name, 1), times[name]) for name in told]
        else:
            found = [tuple(entry) for entry in row["kernels"][:FASTEST]]
            if all(int(slices) == 1 for _, slices, _ in found[: FASTEST // 2]):
                continue
        versions = result.get("clips", 0), result.get("sums", 0)
        may_run = {kernel.name for kernel in _candidates(case, kernels)}
        timed = [Timed(case, kernels[prefix + name], int(s), us, *versions) for name, s, us in found if prefix + name in may_run]
        if len(timed) > 1:
            shapes.append(timed)
    return shapes


def _candidates(case: Case, kernels: dict[str, Kernel]) -> list[Kernel]:
    """None if these are all of other types."""
    try:
        return candidates_for(case.problem(), Request(), [*kernels.values()])[0]
    except UnsupportedProblemError:
        return []


def named(row: dict[str, Any]) -> dict[str, float]:
    """The times of a row of benchmarks/selector.py by the names of kernels."""
    return {row["chosen"] if name == "auto" else name: us for name, us in row["finalists"].items()}


def may_be_sliced(case: Case, kernel: Kernel) -> bool:
    """Whether the model has numbers of slices of K to choose from: results that do not say which one it took are left out."""
    whole = estimate(case, kernel)
    return slicings(whole.problem, kernel, whole.tiles, whole.sms) != [1]


def estimate(case: Case, kernel: Kernel) -> Estimate:
    return Estimate(case.problem().for_output(kernel.output), kernel, Card(), load_model())
