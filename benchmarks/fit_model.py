"""Fits the constants of hopper_gemm/model.json to sweeps (benchmarks/sweep.py).

    python benchmarks/fit_model.py sweep.json [MORE.json ...] [--write]

Least squares over the logarithms of predicted over measured time: within a shape the order of kernels counts, and most among
the fastest; how far all of them are off together counts less. The sustained times are used; of rows without, only deep
products whose K was cut into slices, which short rounds rank the same way. `factor` is what one schedule, tile and cluster
takes beyond the model, drawn towards 1. Prints what the kernels the fitted model
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
import scipy.sparse
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
ERROR = 0.03  # of a timing and the model, as a standard deviation of its logarithm
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
        if "dtype" in row:
            found = [(*name.split(), us) for name, us in row["sustained"].items() if name != "torch"]
        else:
            found = [tuple(entry) for entry in row["kernels"][:FASTEST]]
            if all(int(slices) == 1 for _, slices, _ in found[: FASTEST // 2]):
                continue
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


def weights_of(times: np.ndarray) -> np.ndarray:
    """What the errors of the kernels of a shape are multiplied by: rows for each beside their mean, and one for the mean."""
    weights = (times.min() / times) ** 4
    mean = weights / weights.sum()
    apart = weights[:, None] * (np.eye(len(times)) - mean) / ERROR
    return np.vstack([apart, TOGETHER * math.sqrt(weights.sum()) * mean / ERROR])


class Fit:
    """The problem of least squares; unknowns are logarithms of what constants and factors are multiplied by."""

    def __init__(self, shapes: list[list[Timed]]) -> None:
        self.shapes, self.start = shapes, copy.deepcopy(dict(load_model()))
        self.start.setdefault("factor", {})
        self.factors = sorted({factor_name(t.kernel) for shape in shapes for t in shape})
        self.card = Card()
        self.timed = [t for shape in shapes for t in shape]
        self.walks = [self.estimate(t, self.start).walk for t in self.timed]
        self.weights = scipy.sparse.block_diag([weights_of(np.array([t.us for t in shape])) for shape in shapes], "csr")

    def start_point(self) -> np.ndarray:
        """The constants as they are."""
        return np.zeros(len(FITTED) + len(self.factors))

    def model(self, x: np.ndarray) -> dict[str, Any]:
        model = copy.deepcopy(self.start)
        for path, shift in zip(FITTED, x):
            put(model, path, get(self.start, path) * math.exp(shift))
        for name, shift in zip(self.factors, x[len(FITTED) :]):
            model["factor"][name] = model["factor"].get(name, 1.0) * math.exp(shift)
        model["tflop_energy"]["e5m2"] = model["tflop_energy"]["e4m3"]
        return model

    def predicted(self, model: dict[str, Any]) -> np.ndarray:
        """The logarithms of predicted over measured times, shape after shape."""
        found = []
        for timed, walk in zip(self.timed, self.walks):
            estimate = self.estimate(timed, model)
            estimate.__dict__["walk"] = walk  # what it would work out again: no fitted constant changes it
            found.append(math.log(estimate.us / timed.us))
        return np.array(found)

    def estimate(self, t: Timed, model: dict[str, Any]) -> Estimate:
        return Estimate(t.case.problem().for_output(t.kernel.output), t.kernel, self.card, model, t.slices)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        factors = x[len(FITTED) :] + np.log([self.start["factor"].get(name, 1.0) for name in self.factors])
        errors = self.weights @ self.predicted(self.model(x))
        return np.concatenate([errors, x[: len(FITTED)] / PRIOR, factors / FACTOR_PRIOR])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """By differences; of the factors by one, since each time depends on one factor."""
        step, here = 1e-3, self.predicted(self.model(x))

        def slope(shift: np.ndarray) -> np.ndarray:
            return (self.predicted(self.model(x + step * shift)) - here) / step

        columns = [slope(np.eye(len(x))[i]) for i in range(len(FITTED))]
        all_factors = slope(np.concatenate([np.zeros(len(FITTED)), np.ones(len(self.factors))]))
        own = np.array([self.factors.index(factor_name(t.kernel)) for t in self.timed])
        columns += [np.where(own == i, all_factors, 0.0) for i in range(len(self.factors))]
        priors = np.concatenate([np.full(len(FITTED), 1 / PRIOR), np.full(len(self.factors), 1 / FACTOR_PRIOR)])
        return np.vstack([self.weights @ np.array(columns).T, np.diag(priors)])

    def solve(self, evaluations: int) -> np.ndarray:
        return least_squares(
            self.residuals, self.start_point(), jac=self.jacobian, loss="soft_l1", max_nfev=evaluations, verbose=2
        ).x

    def regret(self, model: dict[str, Any]) -> list[tuple[float, Timed, Timed]]:
        """Of every shape, the time of the chosen of the timed kernels over that of the fastest; worst first."""
        found = []
        ends = np.cumsum([len(shape) for shape in self.shapes])[:-1]
        for shape, errors in zip(self.shapes, np.split(self.predicted(model), ends)):
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
    report("before", fit.regret(fit.model(fit.start_point())))
    model = rounded(fit.model(fit.solve(options.evaluations)))
    report("after", fit.regret(model))
    if options.write:
        MODEL.write_text(json.dumps(model, indent=2) + "\n")


if __name__ == "__main__":
    main()
