"""Every kernel of the build once on the emulator: a tile and a ragged edge, exact integers."""

from __future__ import annotations

import pytest
from support.guards import Guarded
from support.operands import Shape, kernel_arguments, kernel_dtypes, operands
from support.reference import Reference

import hopper_gemm
from hopper_gemm import Schedule, matmul
from hopper_gemm.problem import default_output
from hopper_gemm.registry import all_kernels


def groups() -> list[tuple[str, str, int, int]]:
    return sorted({(k.schedule.value, k.layout, *k.tile[:2]) for k in all_kernels() if k.emulated})


@pytest.mark.parametrize("schedule, layout, tile_m, tile_n", groups())
def test_every_kernel(schedule, layout, tile_m, tile_n):
    kernels = [
        k
        for k in all_kernels()
        if k.emulated and (k.schedule, k.layout, *k.tile[:2]) == (Schedule(schedule), layout, tile_m, tile_n)
    ]
    for seed, kernel in enumerate(kernels):
        shape = Shape(max(8, tile_m - 24), tile_n + (8 if tile_n < 128 else -8), 72)
        a, b = operands(shape, kernel.operand_layout, kernel_dtypes(kernel), seed=seed, integers=True)
        guarded = Guarded(shape.m, shape.n, default_output(a.dtype), "cpu", aligned=seed % 2 == 0)
        with hopper_gemm.emulator(seed=seed):
            matmul(a, b, out=guarded.view, **kernel_arguments(kernel))
        assert Reference(a, b).inexact_integers(guarded.view) == "", kernel.name
        assert guarded.damage() == "", kernel.name
