"""Fits the constants of hopper_gemm/model.json to sweeps (benchmarks/sweep.py).

    python benchmarks/fit_model.py sweep.json [MORE.json ...] [--write]

Least squares over the logarithms of predicted over measured time: within a shape the order of kernels counts, and most among
the fastest; how far all of them are off together counts less. Times are the sustained ones, and short ones stretched alike
for kernels that were not among the fastest; of rows without sustained times, only deep products whose K was cut into slices,
which short rounds rank the same way. `factor` is what one schedule, tile and cluster takes beyond the model, drawn towards 1,
of its own time and of the memory's; last, factors are moved a little to where the fastest kernels are chosen. Prints what the
kernels the fitted model chooses cost beyond the best; --write replaces the constants.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import least_squares, minimize

from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card, Estimate
from hopper_gemm.registry import Kernel, all_kernels
from hopper_gemm.selector import load_model

MODEL = Path(__file__).parents[1] / "hopper_gemm" / "model.json"
FITTED = [
    "power_softness", "us_per_power.tflop", "us_per_power.smem_gb", "us_per_power.l2_gb", "us_per_power.hbm_gb",
    "us_per_power.out_gb", "tflop_energy.tf32", "tflop_energy.e4m3", "promoted_per_cycle.alone", "promoted_per_cycle.shared", "promoted_per_cycle.alternating",
    "mainloop_slowdown.warp_specialized", "mainloop_slowdown.cooperative", "mainloop_slowdown.pingpong", "mainloop_slowdown.tma",
    "smem_bytes_per_cycle", "l2_bytes_per_cycle", "l2_bytes_per_us", "split_line.cost", "split_line.odd_sectors",
    "edge_row_cycles", "ragged_row_cycles", "softness", "load_latency_cycles", "step_cycles", "prologue_cycles",
    "epilogue_cycles", "store_bytes_per_cycle.tma", "store_bytes_per_cycle.rows", "store_bytes_per_cycle.direct", "narrow_panel_power", "hbm_bytes_per_us",
    "hbm_bytes_per_cycle_sm", "overlap_loss", "launch_us", "cluster_us", "slice_sum.launch_us", "slice_sum.eight_us", "slice_sum.bytes_per_us",
]  # fmt: skip
PRIOR = 0.25  # how far a constant may move in one fit, as a standard deviation of its logarithm
FACTOR_PRIOR = 0.04
ERROR = 0.03  # of a timing and the model, as a standard deviation of its logarithm
TOGETHER = 0.3  # weight of an error that all kernels of a shape share
CLOSE = 0.015  # predictions so near, as logarithms, that either kernel may be chosen
POLISH_PRIOR, POLISH_WEIGHT = 0.03, 0.02
PARTS = ("kernel", "memory")  # that have factors
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
            short = {f"{name} {slices}": us for name, slices, us in row["kernels"]}
            times = {name: us for name, us in row["sustained"].items() if name != "torch"}
            longer = statistics.median(times[name] / short[name] for name in times)
            times = {name: us * longer for name, us in short.items()} | times
            found = [(*name.split(), us) for name, us in times.items()]
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
        self.factors = [(part, name) for part in PARTS for name in sorted({t.kernel.family for shape in shapes for t in shape})]
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
        for (part, name), shift in zip(self.factors, x[len(FITTED) :]):
            model["factor"][part][name] = model["factor"][part].get(name, 1.0) * math.exp(shift)
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
        factors = x[len(FITTED) :] + np.log([self.start["factor"][part].get(name, 1.0) for part, name in self.factors])
        errors = self.weights @ self.predicted(self.model(x))
        return np.concatenate([errors, x[: len(FITTED)] / PRIOR, factors / FACTOR_PRIOR])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """By differences."""
        here = self.predicted(self.model(x))
        columns = [self.slope(x, here, np.eye(len(x))[i]) for i in range(len(FITTED))]
        priors = np.concatenate([np.full(len(FITTED), 1 / PRIOR), np.full(len(self.factors), 1 / FACTOR_PRIOR)])
        return np.vstack([self.weights @ np.array(columns + self.factor_slopes(x, here)).T, np.diag(priors)])

    def slope(self, x: np.ndarray, here: np.ndarray, shift: np.ndarray, step: float = 1e-3) -> np.ndarray:
        return (self.predicted(self.model(x + step * shift)) - here) / step

    def factor_slopes(self, x: np.ndarray, here: np.ndarray) -> list[np.ndarray]:
        """One difference a part: each time depends on one factor of it."""
        found = []
        for part in PARTS:
            of_part = np.array([p == part for p, _ in self.factors], float)
            slopes = self.slope(x, here, np.concatenate([np.zeros(len(FITTED)), of_part]))
            names = [name for p, name in self.factors if p == part]
            own = np.array([names.index(t.kernel.family) for t in self.timed])
            found += [np.where(own == i, slopes, 0.0) for i in range(len(names))]
        return found

    def solve(self, evaluations: int) -> np.ndarray:
        return least_squares(
            self.residuals, self.start_point(), jac=self.jacobian, loss="soft_l1", max_nfev=evaluations, verbose=2
        ).x

    def polish(self, start: np.ndarray, evaluations: int) -> np.ndarray:
        """Moves the factors a little to where the kernels that look fastest are: what counts in the end is which one is
        chosen, and least squares do not ask for that."""
        count, ends = len(FITTED), np.cumsum([len(shape) for shape in self.shapes])[:-1]
        costs = [np.log([t.us / min(u.us for u in shape) for t in shape]) for shape in self.shapes]

        def loss(factors: np.ndarray) -> tuple[float, np.ndarray]:
            x = np.concatenate([start[:count], factors])
            here = self.predicted(self.model(x))
            total, slopes = 0.0, []
            for shape, errors, cost in zip(self.shapes, np.split(here, ends), costs):
                times = errors + np.log([t.us for t in shape])
                chances = np.exp((times.min() - times) / CLOSE)
                chances /= chances.sum()
                total += chances @ cost
                slopes.append(-chances * (cost - chances @ cost) / CLOSE)
            moved = (factors - start[count:]) / POLISH_PRIOR
            gradient = np.array(self.factor_slopes(x, here)) @ np.concatenate(slopes) + POLISH_WEIGHT * 2 * moved / POLISH_PRIOR
            return total + POLISH_WEIGHT * moved @ moved, gradient

        found = minimize(loss, start[count:], jac=True, method="L-BFGS-B", options={"maxiter": evaluations}).x
        return np.concatenate([start[:count], found])

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
    model = rounded(fit.model(fit.polish(fit.solve(options.evaluations), 40)))
    report("after", fit.regret(model))
    if options.write:
        MODEL.write_text(json.dumps(model, indent=2) + "\n")


if __name__ == "__main__":
    main()
