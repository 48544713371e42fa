"""Every kernel of the build once on the emulator: a tile and a ragged edge, exact integers."""

from __future__ import annotations

import pytest
import torch
from support.guards import Guarded
from support.operands import Shape, operands
from support.reference import Reference

import hopper_gemm
from hopper_gemm import Schedule, matmul
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
        dtype = torch.bfloat16 if kernel.input == "bf16" else torch.float16
        a, b = operands(shape, kernel.operand_layout, dtype, seed=seed, integers=True)
        guarded = Guarded(shape.m, shape.n, dtype, "cpu", aligned=seed % 2 == 0)
        with hopper_gemm.emulator(seed=seed):
            matmul(a, b, out=guarded.view, config=kernel.name)
        assert Reference(a, b).inexact_integers(guarded.view) == "", kernel.name
        assert guarded.damage() == "", kernel.name
