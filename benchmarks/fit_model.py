"""Fits the constants of hopper_gemm/model.json to sweeps (benchmarks/sweep.py).

    python benchmarks/fit_model.py sweep.json [MORE.json ...] [--write]

Least squares over the logarithms of predicted over measured time: within a shape the order of kernels counts, and most among
the fastest; how far all of them are off together counts less. The sustained times are used where a row has them. `factor`
is what one schedule, tile and cluster takes beyond the model, drawn towards 1. Prints what the kernels the fitted model
chooses cost beyond the best; --write replaces the constants.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card, Estimate, factor_name
from hopper_gemm.registry import Kernel, all_kernels
from hopper_gemm.selector import load_model

MODEL = Path(__file__).parents[1] / "hopper_gemm" / "model.json"
FITTED = [
    "power_softness", "us_per_power.tflop", "us_per_power.smem_gb", "us_per_power.l2_gb", "us_per_power.hbm_gb",
    "us_per_power.out_gb", "tflop_energy.tf32", "tflop_energy.e4m3", "promoted_per_cycle.alone", "promoted_per_cycle.shared",
    "mainloop_slowdown.warp_specialized", "mainloop_slowdown.cooperative", "mainloop_slowdown.pingpong", "mainloop_slowdown.tma",
    "smem_bytes_per_cycle", "l2_bytes_per_cycle", "l2_bytes_per_us", "split_line.cost", "split_line.odd_sectors",
    "edge_row_cycles", "ragged_row_cycles", "softness", "load_latency_cycles", "step_cycles", "prologue_cycles",
    "epilogue_cycles", "store_bytes_per_cycle.tma", "store_bytes_per_cycle.direct", "narrow_panel_power", "hbm_bytes_per_us",
    "hbm_bytes_per_cycle_sm", "overlap_loss", "launch_us", "cluster_us", "slice_sum.launch_us", "slice_sum.bytes_per_us",
]  # fmt: skip
PRIOR = 0.25  # how far a constant may move in one fit, as a standard deviation of its logarithm
FACTOR_PRIOR = 0.03
TOGETHER = 0.3  # weight of an error that all kernels of a shape share
FASTEST = 12  # of the times without sustained ones


@dataclass(frozen=True)
class Timed:
    """A kernel with K in slices, on a case, with the time it took."""

    case: Case
    kernel: Kernel
    slices: int
    us: float


def timings(path: Path, kernels: dict[str, Kernel]) -> list[list[Timed]]:
    """Of every shape, those of kernels in this build."""
    shapes = []
    for row in json.loads(path.read_text())["rows"]:
        case = Case(row["m"], row["n"], row["k"], row.get("dtype", "bf16"), row.get("layout", "tn"))
        prefix = "" if "dtype" in row else "bf16_bf16_f32_"
        if "sustained" in row and "dtype" in row:
            found = [(*name.split(), us) for name, us in row["sustained"].items() if name != "torch"]
        else:
            found = [tuple(entry) for entry in row["kernels"][:FASTEST]]
        timed = [Timed(case, kernels[prefix + name], int(s), us) for name, s, us in found if prefix + name in kernels]
        if len(timed) > 1:
            shapes.append(timed)
    return shapes


def get(model: dict[str, Any], path: str) -> float:
    for part in path.split("."):
        model = model[part]
    return float(model)


def put(model: dict[str, Any], path: str, value: float) -> None:
    *parts, last = path.split(".")
    for part in parts:
        model = model[part]
    model[last] = value


class Fit:
    """The problem of least squares; unknowns are logarithms of what constants and factors are multiplied by."""

    def __init__(self, shapes: list[list[Timed]]) -> None:
        self.shapes, self.start = shapes, copy.deepcopy(dict(load_model()))
        self.start.setdefault("factor", {})
        self.factors = sorted({factor_name(t.kernel) for shape in shapes for t in shape})
        self.card = Card()

    def model(self, x: np.ndarray) -> dict[str, Any]:
        model = copy.deepcopy(self.start)
        for path, shift in zip(FITTED, x):
            put(model, path, get(self.start, path) * math.exp(shift))
        for name, shift in zip(self.factors, x[len(FITTED) :]):
            model["factor"][name] = model["factor"].get(name, 1.0) * math.exp(shift)
        return model

    def predicted(self, model: dict[str, Any]) -> list[np.ndarray]:
        """Of every shape, the logarithms of predicted over measured times."""
        return [
            np.array([
                math.log(Estimate(t.case.problem().for_output(t.kernel.output), t.kernel, self.card, model, t.slices).us / t.us)
                for t in shape
            ])
            for shape in self.shapes
        ]  # fmt: skip

    def residuals(self, x: np.ndarray) -> np.ndarray:
        parts = []
        for shape, errors in zip(self.shapes, self.predicted(self.model(x))):
            times = np.array([t.us for t in shape])
            weights = (times.min() / times) ** 4
            mean = np.average(errors, weights=weights)
            parts += [weights * (errors - mean) / 0.03, [TOGETHER * mean / 0.03 * math.sqrt(weights.sum())]]
        factors = x[len(FITTED) :] + np.log([self.start["factor"].get(name, 1.0) for name in self.factors])
        return np.concatenate([*parts, x[: len(FITTED)] / PRIOR, factors / FACTOR_PRIOR])

    def solve(self, evaluations: int) -> np.ndarray:
        x = np.zeros(len(FITTED) + len(self.factors))
        return least_squares(self.residuals, x, loss="soft_l1", max_nfev=evaluations, verbose=2, diff_step=1e-3).x

    def regret(self, model: dict[str, Any]) -> list[tuple[float, Timed, Timed]]:
        """Of every shape, the time of the chosen of the timed kernels over that of the fastest; worst first."""
        found = []
        for shape, errors in zip(self.shapes, self.predicted(model)):
            chosen = min(zip(shape, errors), key=lambda e: math.log(e[0].us) + e[1])[0]
            best = min(shape, key=lambda t: t.us)
            found.append((chosen.us / best.us, chosen, best))
        return sorted(found, key=lambda e: -e[0])


def report(title: str, regrets: list[tuple[float, Timed, Timed]]) -> None:
    mean = math.exp(sum(math.log(r) for r, _, _ in regrets) / len(regrets))
    print(f"{title}: {len(regrets)} shapes, chosen / best {mean:.4f} on average, worst {regrets[0][0]:.3f}")
    for ratio, chosen, best in regrets[:12]:
        names = [f"{t.kernel.name} /{t.slices}" for t in (chosen, best)]
        print(f"  {str(chosen.case):>28} {ratio:.3f}  {names[0]} instead of {names[1]}")


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweeps", type=Path, nargs="+")
    parser.add_argument("--evaluations", type=int, default=12)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    kernels = {kernel.name: kernel for kernel in all_kernels()}
    fit = Fit([shape for path in options.sweeps for shape in timings(path, kernels)])
    report("before", fit.regret(fit.model(np.zeros(len(FITTED) + len(fit.factors)))))
    model = rounded(fit.model(fit.solve(options.evaluations)))
    report("after", fit.regret(model))
    if options.write:
        MODEL.write_text(json.dumps(model, indent=2) + "\n")


if __name__ == "__main__":
    main()
