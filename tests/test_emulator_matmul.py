"""All five schedules on the emulator: types, layouts, ragged shapes, seeds, clusters, walks, outputs.

Inputs lie in NaN-poisoned buffers and outputs between guard bands, so a read or write outside shows.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from support.guards import Guarded
from support.operands import DTYPES, LAYOUTS, Shape, kernel_arguments, kernel_dtypes, operands
from support.reference import Reference, same_bits
from support.shapes import EMULATOR, EMULATOR_MANY_TILES

import hopper_gemm
from hopper_gemm import Schedule, matmul
from hopper_gemm.problem import default_output
from hopper_gemm.registry import Kernel, all_kernels

SCHEDULES = [s.value for s in Schedule]


def check(shape: Shape, layout: str, dtype: torch.dtype | tuple[torch.dtype, torch.dtype], *, seed: int = 0, sm_count: int = 4, **kwargs) -> torch.Tensor:
    """Runs one product on the emulator and compares it with float64; returns the result."""
    a, b = operands(shape, layout, dtype, seed=seed)
    guarded = Guarded(shape.m, shape.n, kwargs.pop("out_dtype", default_output(a.dtype)), "cpu", aligned=seed % 2 == 0)
    with hopper_gemm.emulator(seed=seed, sm_count=sm_count):
        y = matmul(a, b, out=guarded.view, **kwargs)
    assert y is guarded.view
    assert Reference(a, b).problem_with(y) == "", shape
    assert guarded.damage() == "", shape
    return y


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ragged_shapes(schedule, dtype, layout):
    for seed, shape in enumerate(EMULATOR):
        check(shape, layout, DTYPES[dtype], seed=seed, schedule=schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_seed_gives_the_same_bits(schedule):
    layout = LAYOUTS[SCHEDULES.index(schedule) % 4]
    a, b = operands(Shape(72, 136, 200), layout, torch.bfloat16)
    results = []
    for seed in range(6):
        with hopper_gemm.emulator(seed=seed):
            results.append(matmul(a, b, schedule=schedule))
    assert all(same_bits(results[0], other) for other in results[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_small_integers_are_exact(schedule, layout):
    a, b = operands(Shape(70, 90, 152), layout, torch.bfloat16, integers=True)
    with hopper_gemm.emulator(seed=3):
        assert Reference(a, b).inexact_integers(matmul(a, b, schedule=schedule)) == ""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("sm_count", [1, 3])
def test_more_tiles_than_ctas(schedule, sm_count):
    check(EMULATOR_MANY_TILES, "tt", torch.bfloat16, seed=sm_count, sm_count=sm_count, schedule=schedule)


@pytest.mark.parametrize("k", [1, 7, 8, 16, 24, 63, 64, 65, 320])
def test_every_k_against_the_stage(k):
    for schedule, layout in zip(SCHEDULES, itertools.cycle(LAYOUTS)):
        check(Shape(40, 48, k), layout, torch.bfloat16, seed=k, schedule=schedule)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [Shape(1, 72, 40), Shape(72, 1, 40), Shape(1, 1, 8), Shape(1, 8, 1), Shape(1, 1, 1)])
def test_rows_columns_and_contiguous_operands(shape, layout):
    a, b = operands(shape, layout, torch.bfloat16, contiguous=True, integers=True)
    with hopper_gemm.emulator():
        assert Reference(a, b).inexact_integers(matmul(a, b)) == ""


@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_output_types(schedule, out_dtype):
    check(Shape(70, 72, 96), "tn", torch.float16, schedule=schedule, out_dtype=out_dtype)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_column_major_out(schedule):
    a, b = operands(Shape(72, 41, 48), "tn", torch.bfloat16)
    guarded = Guarded(72, 41, torch.bfloat16, "cpu", column_major=True)
    with hopper_gemm.emulator():
        assert matmul(a, b, out=guarded.view, schedule=schedule) is guarded.view
    assert Reference(a, b).problem_with(guarded.view) == "" and guarded.damage() == ""


def clustered() -> list[Kernel]:
    """One kernel with fp32 sums of every schedule and cluster shape that is built."""
    found: dict[tuple[str, tuple[int, int]], Kernel] = {}
    for kernel in all_kernels():
        if kernel.cluster_size > 1 and kernel.emulated and kernel.accumulator == "f32":
            found.setdefault((kernel.schedule.value, kernel.cluster), kernel)
    return list(found.values())


@pytest.mark.parametrize("kernel", clustered(), ids=lambda k: f"{k.schedule}-c{k.cluster[0]}x{k.cluster[1]}")
def test_clusters(kernel):
    tile_m, tile_n, _ = kernel.tile
    for seed, shape in enumerate((Shape(tile_m, tile_n, 64), Shape(tile_m + 8, 2 * tile_n + 8, 136))):
        check(shape, kernel.operand_layout, kernel_dtypes(kernel), seed=seed, sm_count=4, **kernel_arguments(kernel))


@pytest.mark.parametrize("raster", ["along_m", "along_n", "apart"])
@pytest.mark.parametrize("group", [1, 2, 3, 8, 64])
def test_every_walk_visits_every_tile(raster, group, monkeypatch):
    from hopper_gemm import cost
    from hopper_gemm.walk import Walk

    monkeypatch.setattr(cost, "best_walk", lambda *args: Walk(raster, group, 0.0))
    for config in ("*_128x128x64_c1x1_*_pingpong_*", "*_128x128x64_c2x1_*_pingpong_*"):
        check(Shape(290, 300, 8), "tn", torch.bfloat16, seed=group, config=config)


def test_fp16_sums():
    a, b = operands(Shape(80, 96, 256), "tn", torch.float16)
    with hopper_gemm.emulator():
        y = matmul(a, b, accumulate="fp16")
        exact = matmul(a, b)
    reference = Reference(a, b).exact
    coarse, fine = (y.double() - reference).norm(), (exact.double() - reference).norm()
    assert fine < coarse < 40 * fine


def test_sliced_operands_of_larger_tensors():
    big = torch.randn(256, 256).bfloat16()
    pa, pb = big[:96, 64:128], big[128:192, :80]
    with hopper_gemm.emulator():
        for a, b in ((pa, pb), (pa.contiguous(), pb), (pa, pb.t().contiguous().t()), (pb.t(), pa.t())):
            assert Reference(a, b).problem_with(matmul(a, b)) == ""


def test_nan_and_inf_stay_in_their_row_and_column():
    a, b = operands(Shape(72, 88, 96), "tt", torch.bfloat16, integers=True)
    clean = a.double() @ b.double()
    a[37, 5], b[11, 60] = float("nan"), float("inf")
    touched = torch.zeros(72, 88, dtype=torch.bool)
    touched[37], touched[:, 60] = True, True
    with hopper_gemm.emulator():
        for schedule in SCHEDULES:
            y = matmul(a, b, schedule=schedule)
            assert bool(torch.isnan(y[37]).all()) and not bool(torch.isfinite(y[:, 60]).any())
            assert torch.equal(y[~touched], clean.to(y.dtype)[~touched])


@pytest.mark.parametrize("k", [0, 64])
@pytest.mark.parametrize("m, n", [(0, 32), (16, 0), (0, 0), (16, 24)])
def test_empty_products(m, n, k):
    a, b = torch.ones(m, k).bfloat16(), torch.ones(k, n).bfloat16()
    out = torch.full((m, n), float("nan")).bfloat16()
    with hopper_gemm.emulator():
        y = matmul(a, b)
        assert matmul(a, b, out=out) is out
    assert y.shape == (m, n) and y.dtype == torch.bfloat16
    assert bool((y == k).all()) and bool((out == k).all())


def test_out_counts_as_modified_in_place():
    a, out = torch.ones(16, 16).bfloat16(), torch.zeros(16, 16).bfloat16()
    weight = torch.ones(16, 16).bfloat16().requires_grad_()
    loss = (weight * out).sum()
    version = out._version
    with hopper_gemm.emulator(), torch.no_grad():
        matmul(a, a, out=out)
    assert out._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode(), hopper_gemm.emulator():
        assert float(matmul(a, a, out=torch.zeros(16, 16).bfloat16()).max()) == 16
