"""Learns the correction of hopper_gemm/correction.py: gradient boosting of regression trees (LightGBM) with a loss of two parts.

The one is the squared error of the logarithm of a time. The other is what a choice costs: were each kernel of a shape chosen
with probability p ~ exp(-t / SOFTNESS), t the logarithm of its corrected time, the expected log(measured time / that of the
fastest), of which no kernel counts for more than 1 (the cost of a softmax policy, a list at a time as in Cao et al., "Learning
to rank: from pairwise approach to listwise approach", 2007). It pays for order among the fastest, which is all that a choice
needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np

TREES = 400
PARAMETERS: dict[str, Any] = {
    "learning_rate": 0.07, "num_leaves": 96, "max_depth": 9, "min_data_in_leaf": 8, "min_sum_hessian_in_leaf": 1e-3, "lambda_l2": 5.0,
    "bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction_bynode": 0.6, "seed": 0, "deterministic": True, "force_row_wise": True,
    "verbose": -1,
}  # fmt: skip
CHOICE = 0.3  # what the second part of the loss counts for
SOFTNESS = 0.03
CURVATURE = 0.2  # of the second part, of what a convex function of its slopes would have


def learn(features: np.ndarray, missing: np.ndarray, weights: np.ndarray, predicted: np.ndarray, times: np.ndarray, shape: np.ndarray) -> lightgbm.Booster:
    """Trees for `missing`, what to add to `predicted`, the logarithms of modelled times.

    Args:
        weights: of the squared errors.
        times: measured ones, microseconds.
        shape: a number for each row; rows of one shape are neighbours.
    """
    # As float32, so that no threshold lies between values that differ by the rounding of a sum.
    data = lightgbm.Dataset(features.astype(np.float32), label=missing, params={"verbose": -1})
    objective = loss(missing, weights, predicted, np.log(times), np.unique(shape, return_index=True, return_inverse=True)[1:])
    return lightgbm.train({**PARAMETERS, "objective": objective}, data, TREES)


def loss(
    missing: np.ndarray, weights: np.ndarray, predicted: np.ndarray, measured: np.ndarray, groups: tuple[np.ndarray, np.ndarray]
) -> Callable[[np.ndarray, Any], tuple[np.ndarray, np.ndarray]]:
    """Slopes and curvatures of both parts by what the trees add. `groups`: where each shape begins, and the shape of each row."""
    begins, own = groups
    cost = np.minimum(1.0, measured - np.minimum.reduceat(measured, begins)[own])

    def slopes(added: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        corrected = predicted + added
        chance = np.exp((np.minimum.reduceat(corrected, begins)[own] - corrected) / SOFTNESS)
        chance /= np.add.reduceat(chance, begins)[own]
        expected = np.add.reduceat(chance * cost, begins)[own]
        choosing = chance * (expected - cost) / SOFTNESS
        bend = CURVATURE * chance * (1 - chance) / SOFTNESS
        return weights * (added - missing) + CHOICE * choosing, weights + CHOICE * bend

    return slopes


def nested(booster: lightgbm.Booster) -> list[Any]:
    """The trees as hopper_gemm/correction.py reads them: [feature, threshold, up to it, above it] or a value."""

    def node(found: dict[str, Any]) -> Any:
        if "leaf_value" in found:
            return round(found["leaf_value"], 5)
        if found["decision_type"] != "<=" or found["missing_type"] != "None":
            raise ValueError(f"got a node that decides by {found['decision_type']}, missing values {found['missing_type']}; expected <= and none missing")
        sides = node(found["left_child"]), node(found["right_child"])
        return [found["split_feature"], float(f"{found['threshold']:.9g}"), *sides]

    return [node(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
