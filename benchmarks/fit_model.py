"""Fits the constants of hopper_gemm/model.json to sweeps (benchmarks/sweep.py).

    python benchmarks/fit_model.py benchmarks/results/sweep*.json benchmarks/results/selector_*.json [--write]

First the constants (hopper_gemm/model.json), then the correction of what they leave (correction.json). Least squares over the
logarithms of predicted over measured time: within a shape the order of kernels counts, and most among the fastest; how far
all of them are off together counts less. Times are the sustained ones, and short ones stretched alike
for kernels that were not among the fastest; of rows without sustained times, only deep products whose K was cut into slices,
which short rounds rank the same way. `factor` is what one schedule, tile and cluster takes beyond the model, drawn towards 1,
of its own time and of the memory's. The correction is a sum of regression trees over the errors that are left (boosting.py), which
learn from the slower kernels too: what looks fast and is not has to be seen.
Prints what the chosen kernels cost beyond the best, of trees that have not seen the shape; --write replaces the files.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import scipy.sparse
from scipy.optimize import least_squares

from hopper_gemm.correction import FEATURES, features, kind_of
from hopper_gemm.cost import Card, Estimate
from hopper_gemm.registry import all_kernels
from hopper_gemm.selector import load_model
from boosting import learn, nested
from timings import Timed, timings

MODEL = Path(__file__).resolve().parents[1] / "hopper_gemm" / "model.json"
FITTED = [
    "power_softness", "us_per_power.tflop", "us_per_power.smem_gb", "us_per_power.l2_gb", "us_per_power.hbm_gb",
    "us_per_power.out_gb", "tflop_energy.e4m3", "promoted_per_cycle.alone", "promoted_per_cycle.shared", "promoted_per_cycle.alternating",
    "mainloop_slowdown.warp_specialized", "mainloop_slowdown.cooperative", "mainloop_slowdown.pingpong", "mainloop_slowdown.tma",
    "smem_bytes_per_cycle", "l2_bytes_per_cycle", "l2_bytes_per_us", "split_line.cost", "split_line.odd_sectors",
    "edge_row_cycles", "ragged_row_cycles", "softness", "load_latency_cycles", "step_cycles", "l2_zeros", "zero_tail",
    "prologue_cycles.multistage", "prologue_cycles.tma", "prologue_cycles.warp_specialized", "prologue_cycles.cooperative", "prologue_cycles.pingpong",
    "epilogue_cycles", "rows_cycles", "store_bytes_per_cycle.tma", "store_bytes_per_cycle.rows", "store_bytes_per_cycle.direct", "narrow_panel_power", "hbm_bytes_per_us",
    "hbm_bytes_per_cycle_sm", "overlap_loss", "launch_us", "cluster_us", "slice_sum.launch_us", "slice_sum.round_us", "slice_sum.single_us", "slice_sum.bytes_per_us",
    "pack_launch_us", "pack_transposed_factor",
]  # fmt: skip
PRIOR = 0.25  # how far a constant may move in one fit, as a standard deviation of its logarithm
FACTOR_PRIOR = 0.04
ERROR = 0.03  # of a timing and the model, as a standard deviation of its logarithm
TOGETHER = 0.3  # weight of an error that all kernels of a shape share
PARTS = ("kernel", "memory")  # that have factors
FASTEST = 12  # of a shape are what constants are fitted to


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
        return Estimate(t.case.problem().for_output(t.kernel.output), t.kernel, self.card, model, t.slices, t.clips, t.sums)

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

    def by_shape(self, values: np.ndarray) -> list[np.ndarray]:
        return np.split(values, np.cumsum([len(shape) for shape in self.shapes])[:-1])

    def regret(self, errors: np.ndarray) -> list[tuple[float, Timed, Timed]]:
        """Of every shape, the time of the chosen of the timed kernels over that of the fastest; worst first. `errors`:
        logarithms of predicted over measured times."""
        found = []
        for shape, own in zip(self.shapes, self.by_shape(errors)):
            chosen = min(zip(shape, own), key=lambda e: math.log(e[0].us) + e[1])[0]
            best = min(shape, key=lambda t: t.us)
            found.append((chosen.us / best.us, chosen, best))
        return sorted(found, key=lambda e: -e[0])


class Correction:
    """Trees for the errors of a fitted model."""

    def __init__(self, fit: Fit, model: dict[str, Any]) -> None:
        self.fit, self.errors = fit, fit.predicted(model)
        self.features = np.array([features(fit.estimate(t, model)) for t in fit.timed], float)
        best = np.repeat([min(t.us for t in shape) for shape in fit.shapes], [len(shape) for shape in fit.shapes])
        self.weights = (best / [t.us for t in fit.timed]) ** 4
        shared = [np.full(len(e), np.average(e, weights=w)) for e, w in zip(fit.by_shape(self.errors), fit.by_shape(self.weights))]
        self.missing = np.concatenate(shared) - self.errors  # what to add; what the kernels of a shape share does not matter
        self.shape = np.repeat(np.arange(len(fit.shapes)), [len(shape) for shape in fit.shapes])

    def learn(self, rows: np.ndarray) -> lightgbm.Booster:
        times = np.array([t.us for t in self.fit.timed])
        predicted = self.errors + np.log(times)
        return learn(*(values[rows] for values in (self.features, self.missing, self.weights, predicted, times, self.shape)))

    def unseen(self, folds: int = 4) -> np.ndarray:
        """Errors with corrections learned from the other shapes."""
        part = np.random.default_rng(0).permutation(len(self.fit.shapes)) % folds
        left = self.errors.copy()
        for fold in range(folds):
            out = part[self.shape] == fold
            left[out] += self.learn(~out).predict(self.features[out])
        return left

    def trees(self) -> list[Any]:
        """As hopper_gemm/correction.py reads them."""
        return nested(self.learn(np.full(len(self.missing), True)))


def report(title: str, regrets: list[tuple[float, Timed, Timed]]) -> float:
    """Prints the mean and the worst shapes; returns the mean."""
    mean = math.exp(sum(math.log(r) for r, _, _ in regrets) / len(regrets))
    print(f"{title}: {len(regrets)} shapes, chosen / best {mean:.4f} on average, worst {regrets[0][0]:.3f}")
    for ratio, chosen, best in regrets[:12]:
        names = [f"{t.kernel.name} /{t.slices}" for t in (chosen, best)]
        print(f"  {str(chosen.case):>28} {ratio:.3f}  {names[0]} instead of {names[1]}")
    return round(mean, 4)


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
    shapes = [shape for path in options.sweeps for shape in timings(path, kernels)]
    fit = Fit([shape[:FASTEST] for shape in shapes])
    report("before", fit.regret(fit.predicted(fit.model(fit.start_point()))))
    model = rounded(fit.model(fit.solve(options.evaluations)))
    correction = Correction(Fit(shapes), model)
    means = {
        "constants": report("constants", correction.fit.regret(correction.errors)),
        "corrected": report("corrected, shapes left out", correction.fit.regret(correction.unseen())),
    }
    if options.write:
        write(model, correction, means, max(json.loads(path.read_text())["date"] for path in options.sweeps))


SOURCE = """fitted by benchmarks/fit_model.py to the {fastest} fastest kernels (tiles, clusters, schedules and slices of K) on {shapes} measured shapes
(benchmarks/results/sweep*.json and earlier results of selector.py: suites and random ones, read in place and packed; bf16, fp16, tf32,
fp8; sustained timings of the ten fastest; random normal inputs rotating over more than the L2). mainloop_slowdown.multistage,
store_bytes_per_cycle.singles (what 16-bit tiles took before they left through panels), l2_useful_bytes, clusters_of_4_fill, int8 and
3xTF32 are estimates; static is set by hand after static_chains.json, pack_bytes_per_us after the slices of any_problem.json,
tflop_energy.tf32 after the large products of suite_types.json, which no sweep has; factor is
what a schedule, tile and cluster took beyond the rest of the model, of its own time and of the memory's"""


def write(model: dict[str, Any], correction: Correction, means: dict[str, float], date: str) -> None:
    """Replaces the constants and the trees, with what the chosen kernels cost beyond the best."""
    source = " ".join(SOURCE.split()).format(fastest=FASTEST, shapes=len(correction.fit.shapes))
    MODEL.write_text(json.dumps(model | {"date": date, "source": source}, indent=2) + "\n")
    head = {
        "about": "fitted by benchmarks/fit_model.py to the errors of model.json: [feature, threshold, up to it, above it] or a value",
        "features": FEATURES,
        "kinds": sorted({kind_of(t.kernel) for t in correction.fit.timed}),
        "shapes": len(correction.fit.shapes),
        "chosen_over_best": means,
    }
    trees = ",\n".join(json.dumps(tree, separators=(",", ":")) for tree in correction.trees())
    MODEL.with_name("correction.json").write_text(json.dumps(head)[:-1] + ', "trees": [\n' + trees + "\n]}\n")


if __name__ == "__main__":
    main()
