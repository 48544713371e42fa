"""benchmarks/fit_model.py on a few shapes of a recorded sweep, and benchmarks/ceiling.py's kernel as far as nvcc goes."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.programs import load_program

from hopper_gemm import correction
from hopper_gemm.bench.suites import Case
from hopper_gemm.correction import log_factor
from hopper_gemm.cost import Card, Estimate
from hopper_gemm.registry import all_kernels
from hopper_gemm.selector import load_model

pytest.importorskip("lightgbm")  # what fits the trees; the package itself does without
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


@pytest.fixture(scope="module")
def program():
    return load_program("fit_model")


@pytest.fixture(scope="module")
def fit(program, tmp_path_factory):
    sweep = json.loads((RESULTS / "sweep_peers.json").read_text())
    sweep["rows"] = sweep["rows"][3:6]
    path = tmp_path_factory.mktemp("fit") / "sweep.json"
    path.write_text(json.dumps(sweep))
    shapes = program.timings(path, {kernel.name: kernel for kernel in all_kernels()})
    assert len(shapes) == 3 and all(len(shape) >= 5 for shape in shapes)
    return program.Fit(shapes)


def test_earlier_results_of_the_selector_are_timings_too(program):
    shapes = program.timings(RESULTS / "selector_9.json", {kernel.name: kernel for kernel in all_kernels()})
    packed = [shape for shape in shapes if any(shape[0].case.problem().packs)]
    assert len(shapes) == 37 and len(packed) == 1, "of 60: 7 might have run in slices, of which that file says nothing, 16 copied short rows"
    assert all(t.clips == 0 for shape in shapes for t in shape), "rows beyond the edge were loaded then"
    assert all(t.slices == 1 for shape in shapes for t in shape)
    assert all([t.us for t in shape] == sorted(t.us for t in shape) for shape in shapes)
    one = next(shape for shape in shapes if (shape[0].case.m, shape[0].case.n, shape[0].case.k) == (89, 64, 64))
    assert one[0].kernel.name == "bf16_bf16_f32_tn_64x8x128_c1x1_s6_warp_specialized_tma_column" and one[0].us == 1.37 and one[0].slices == 1


def test_rows_of_types_that_the_build_lacks_are_left_out(program):
    kernels = {kernel.name: kernel for kernel in all_kernels() if kernel.input == "bf16"}
    assert not program.timings(RESULTS / "sweep_types.json", kernels)
    assert len(program.timings(RESULTS / "sweep_peers.json", kernels)) > 30


def test_slopes_are_those_of_the_residuals(fit):
    x = np.random.default_rng(0).normal(0, 0.02, len(fit.start_point()))
    slopes, step = fit.jacobian(x), 1e-4
    for i in (0, 5, len(x) - 1):
        moved = x.copy()
        moved[i] += step
        expected = (fit.residuals(moved) - fit.residuals(x)) / step
        assert np.allclose(slopes[:, i], expected, rtol=0.05, atol=0.05)


def test_a_fit_improves_and_judges_itself(fit):
    zero = fit.start_point()
    x = fit.solve(8)
    assert np.square(fit.residuals(x)).sum() < np.square(fit.residuals(zero)).sum()
    regrets = fit.regret(fit.predicted(fit.model(x)))
    assert [r for r, _, _ in regrets] == sorted((r for r, _, _ in regrets), reverse=True) and regrets[-1][0] >= 1


def test_trees_take_out_what_the_model_missed(program):
    kernels = {kernel.name: kernel for kernel in all_kernels()}
    fit = program.Fit(program.timings(RESULTS / "sweep_shapes.json", kernels)[:40])
    model = fit.model(fit.start_point())
    found = program.Correction(fit, model)
    assert found.unseen(2).shape == found.errors.shape == (sum(map(len, fit.shapes)),)
    trees = found.trees()
    learned = found.learn(np.full(len(found.missing), True)).predict(found.features)
    kinds = frozenset(correction.kind_of(t.kernel) for t in fit.timed)
    ours = [log_factor(fit.estimate(t, model), correction.Correction(kinds, tuple(trees))) for t in fit.timed]
    same = np.isclose(ours, learned, atol=1e-3)  # learned from features as float32, which tips a few over a threshold
    assert same.mean() > 0.97, "the package walks the trees as LightGBM does"
    left = np.average((found.missing - ours) ** 2, weights=found.weights)
    assert left < 0.5 * np.average(found.missing**2, weights=found.weights)


def test_the_slopes_of_choosing_are_those_of_what_a_choice_costs():
    """By differences, for two shapes; and a row of another shape has no part in it."""
    boosting = load_program("boosting")
    draw = np.random.default_rng(3)
    measured, predicted, added = np.log(draw.uniform(2, 2.2, 7)), np.log(draw.uniform(2, 2.2, 7)), draw.normal(0, 0.01, 7)
    missing, weights, begins, own = draw.normal(0, 0.1, 7), draw.uniform(0, 1, 7), np.array([0, 3]), np.array([0, 0, 0, 1, 1, 1, 1])
    slopes = boosting.loss(missing, weights, predicted, measured, (begins, own))

    def total(x):
        cost = 0.5 * (weights * (x - missing) ** 2).sum()
        for rows in (slice(0, 3), slice(3, 7)):
            chance = np.exp(-(predicted + x)[rows] / boosting.SOFTNESS)
            cost += boosting.CHOICE * (chance * (measured[rows] - measured[rows].min())).sum() / chance.sum()
        return cost

    found, curvature = slopes(added, None)
    by_differences = [(total(added + step) - total(added - step)) / 2e-6 for step in 1e-6 * np.eye(7)]
    assert np.allclose(found, by_differences, rtol=1e-4, atol=1e-6) and (curvature >= weights).all()


def test_the_shipped_trees_are_of_these_features():
    shipped = json.loads((Path(correction.__file__).with_name("correction.json")).read_text())
    assert tuple(shipped["features"]) == correction.FEATURES
    means, page = shipped["chosen_over_best"], (RESULTS.parents[1] / "docs" / "performance.md").read_text(encoding="utf-8")
    changes = (RESULTS.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"learned from {shipped['shapes']} measured shapes" in changes
    told = f"fitted to {shipped['shapes']} measured shapes", f"took {means['corrected']:.3f} times", f"without trees {means['constants']:.3f}"
    assert all(text in page for text in told), told
    case, kernel = Case(333, 444, 200), next(k for k in all_kernels() if k.input == "bf16" and k.layout == "tn")
    values = correction.features(Estimate(case.problem(), kernel, Card(), load_model()))
    assert len(values) == len(correction.FEATURES) and all(math.isfinite(v) for v in values)
    odd = replace(Case(1, 3, 1).problem(), copies_out=True, batches=7, workspace_bytes=40)
    for problem in (Case(333, 444, 201).problem(), odd):
        values = correction.features(Estimate(problem, kernel, Card(), load_model()))
        assert values[correction.FEATURES.index("packing_us")] > 0 and all(math.isfinite(v) for v in values)
    shipped = correction.load_correction()
    assert abs(log_factor(Estimate(case.problem(), kernel, Card(), load_model()), shipped)) <= correction.LARGEST
    unmeasured = next(k for k in all_kernels() if k.input == "s8")
    problem = Case(333, 448, 256, "int8").problem()
    assert log_factor(Estimate(problem, unmeasured, Card(), load_model()), shipped) == 0


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_the_ceiling_kernel_compiles_and_counts_its_work(tmp_path):
    library = load_program("ceiling").build(tmp_path)
    assert library.ceiling_operand_bytes() == 4 * (128 + 256) * 64 * 2
    assert library.ceiling_flops(132, 10) == 2 * 128 * 256 * 64 * 10 * 132
    assert isinstance(library, ctypes.CDLL)


def test_results_since_boxes_end_at_the_edge_say_so(program):
    kernels = {kernel.name: kernel for kernel in all_kernels()}
    for name, clips in (("sweep_shapes_205", 0), ("sweep_packed_209", 1), ("sweep_shapes_210", 2)):
        shapes = program.timings(RESULTS / f"{name}.json", kernels)
        assert {t.clips for shape in shapes for t in shape} == {clips}
    for name, sums in (("sweep_shapes_211", 0), ("sweep_shapes_215", 1)):
        assert {t.sums for shape in program.timings(RESULTS / f"{name}.json", kernels) for t in shape} == {sums}
    short = program.timings(RESULTS / "sweep_packed_203.json", kernels)
    assert any(shape[0].case.k < 16 for shape in short), "today's copies"
