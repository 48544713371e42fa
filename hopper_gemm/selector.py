"""Which kernel for which problem: sorts candidates by the analytic model of cost.py and its learned correction.

Pure Python and deterministic: the same problem on the same card always gets the same kernel.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .correction import load_correction, log_factor
from .cost import Card, Estimate
from .problem import Problem
from .registry import Kernel
from .schedule import Schedule
from .walk import Walk, slicings

__all__ = ["Card", "Prediction", "load_model", "predict", "rank"]


@dataclass(frozen=True)
class Prediction:
    """The modelled time of one kernel on one problem, what is packed and copied for it included, with what `explain` says of it."""

    kernel: Kernel
    problem: Problem  # as this kernel sees it: operands exchanged for a column-major kernel
    walk: Walk
    us: float
    tiles: int
    waves: float  # tiles per resident CTA, before rounding up
    fill: float  # useful part of the computed tile area and of the last wave
    bound: str  # "tensor core", "shared memory", "L2", "HBM" or "power"
    estimate: Estimate = field(repr=False, compare=False)

    @property
    def parts(self) -> int:
        """Chains that a sum is cut into: slices of K in memory, times those within a cluster."""
        return self.walk.slices * self.kernel.cluster_k

    @property
    def reason(self) -> str:
        return (
            f"{self.us:.1f} us predicted: {self.tiles} tiles in {self.waves:.2f} waves, "
            f"{100 * self.fill:.0f}% of the computed area and slots useful, bound by {self.bound}"
        )


# Times the fastest prediction: slower ones stay as the model has them, which spares them the trees.
CORRECTED = 1.5


@functools.cache
def load_model(path: Path | None = None) -> Mapping[str, Any]:
    """The constants: the shipped ones, or those of another file."""
    text = (path or Path(__file__).with_name("model.json")).read_text(encoding="utf-8")
    model: Mapping[str, Any] = json.loads(text)
    return model


def rank(
    problem: Problem, kernels: Iterable[Kernel], card: Card, model: Mapping[str, Any], static_b: bool = False
) -> list[Prediction]:
    """Predictions of all kernels, fastest first; ties fall to the earlier kernel of the registry.

    Args:
        static_b: nothing still writes the right operand: a kernel counts by what its launch adds to a chain of such products.
    """

    def us(p: Prediction) -> float:
        return p.us - (static_gain_us(p, card, model) if static_b else 0.0)

    ways = [in_slices(problem.for_output(kernel.output), kernel, card, model) for kernel in kernels]
    reach = CORRECTED * min((p.us for of_kernel in ways for p in of_kernel), default=0.0)
    wanted = wanted_parts(problem, card)
    best = [fastest([corrected(p) if p.us <= reach else p for p in of_kernel], wanted) for of_kernel in ways]
    return sorted(best, key=lambda p: (p.parts < wanted, round(us(p), 3), p.kernel.id))


def wanted_parts(problem: Problem, card: Card) -> int:
    """Into how many chains a long sum is cut whatever is fastest, where its float32 result shows what a chain loses: 16-bit
    inputs, and so few tiles that torch cuts K as well (into 2, 4 and 8 parts of 4096, 16384 and 65536; docs/accuracy.md)."""
    few = problem.m * problem.n * problem.batches <= 64 * 64 * card.sm_count
    if problem.output != "f32" or problem.element_bytes != 2 or not few:
        return 1
    return max(1, int(math.sqrt(problem.k) / 32))


def corrected(prediction: Prediction) -> Prediction:
    """With the errors that the model made on shapes like this one taken out (correction.py)."""
    return replace(prediction, us=prediction.us * math.exp(log_factor(prediction.estimate, load_correction())))


def static_gain_us(prediction: Prediction, card: Card, model: Mapping[str, Any]) -> float:
    """What a kernel saves in a chain of products whose right operands are static: its rings are filled while the kernel before
    still runs. Where CTAs share an SM or are not all resident at once, those of the kernel after it come in between, which
    costs more than that saves (docs/notes/small_and_decode.md). A kernel of one tile a CTA that shares K with no other saved 0.35 us
    where a persistent one saved 0.81 (16 x 6144 x 4096, benchmarks/results/static_weights.json); slices, which are summed by a
    launch in between, were not measured.
    """
    kernel, constants = prediction.kernel, model["static"]
    packed = prediction.problem.packs[0 if prediction.problem.swapped else 1]
    if kernel.schedule is Schedule.MULTISTAGE or packed or prediction.walk.slices > 1:
        return 0.0
    resident = prediction.tiles / prediction.waves
    if not kernel.schedule.is_persistent and (prediction.waves > 1 or resident > card.sm_count):
        return -float(constants["crowded"]) * (prediction.us - prediction.estimate.packing_us)
    ctas = prediction.tiles / max(prediction.waves, 1.0)
    rows = kernel.tile[0 if prediction.problem.swapped else 1]
    prefetched = ctas * kernel.stages * rows * kernel.tile[2] * prediction.problem.element_bytes
    saved = float(min(constants["overlap_us"], prefetched / model["hbm_bytes_per_us"]))
    return saved if kernel.schedule.is_persistent or kernel.cluster_k > 1 else float(constants["one_tile"]) * saved


def predict(problem: Problem, kernel: Kernel, card: Card, model: Mapping[str, Any]) -> Prediction:
    """The modelled time of `kernel` on `problem`, given as the kernel sees it, with the best number of slices of K."""
    return fastest(in_slices(problem, kernel, card, model), wanted_parts(problem, card))


def fastest(predictions: Iterable[Prediction], wanted: int) -> Prediction:
    """Of a kernel's numbers of slices: those that make `wanted` parts first, few rather than many. The same whether an operand
    is static, for a kernel gives the same bits then."""
    return min(predictions, key=lambda p: (p.parts < wanted, round(p.us, 3), p.walk.slices))


def in_slices(problem: Problem, kernel: Kernel, card: Card, model: Mapping[str, Any]) -> list[Prediction]:
    """The modelled times of `kernel` on `problem`, given as the kernel sees it, with K whole and in numbers of slices."""
    whole = Estimate(problem, kernel, card, model)
    numbers = slicings(problem, kernel, whole.tiles, whole.sms)
    return [_prediction(whole if slices == 1 else replace(whole, slices=slices)) for slices in numbers]


def _prediction(estimate: Estimate) -> Prediction:
    return Prediction(
        kernel=estimate.kernel,
        problem=estimate.problem,
        walk=estimate.walk,
        us=estimate.us,
        tiles=estimate.tiles,
        waves=estimate.tiles / estimate.resident_ctas,
        fill=estimate.useful_area * estimate.tiles / (estimate.sms * estimate.tiles_per_sm),
        bound=estimate.bound,
        estimate=estimate,
    )
