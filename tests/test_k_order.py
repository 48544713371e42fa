"""Where a tile begins its sum (mainloop/k_order.h): seen in the last bits, which follow the order of a sum."""

from __future__ import annotations

import pytest
import torch
from support.reference import Reference, same_bits

import hopper_gemm
from hopper_gemm import explain, matmul
from hopper_gemm.cost import Card
from hopper_gemm.explanation import explain_problem
from hopper_gemm.plan import Request
from hopper_gemm.problem import Problem

TILE = 128
COOPERATIVE = "e4m3_e4m3_f32_tn_128x128x128_c1x1_*_cooperative_tma_p128"


def fp8(*shape: int) -> torch.Tensor:
    """(rows, K), the blocks of K of such different sizes that their sums round in float32."""
    sizes = 2.0 ** torch.tensor([-7, 5, -3, 6, -5, 2, -7, 6]).repeat_interleave(TILE)
    return (sizes * torch.randn(shape, generator=torch.Generator().manual_seed(5))).clamp(-448, 448).to(torch.float8_e4m3fn)


def twice(k: int) -> torch.Tensor:
    """B (K, 2 tiles of columns), the second tile a copy of the first."""
    return fp8(TILE, k).view(torch.uint8).repeat(2, 1).view(torch.float8_e4m3fn).t()


def tiles_agree(m: int, config: str, sm_count: int = 4, **options: bool) -> bool:
    """Whether two tiles of the same sums have the same bits; they are right either way."""
    a, b = fp8(m, 8 * TILE), twice(8 * TILE)
    with hopper_gemm.emulator(sm_count=sm_count):
        out = matmul(a, b, out_dtype=torch.float32, config=config, **options)
    assert Reference(a, b).problem_with(out) == ""
    return same_bits(out[:, :TILE], out[:, TILE:])


def test_tiles_of_one_row_begin_apart():
    assert not tiles_agree(100, COOPERATIVE)
    assert not tiles_agree(60, "e4m3_e4m3_f32_tn_64x128x128_c1x1_*_pingpong_tma_p128")


@pytest.mark.parametrize(
    "m, sm_count, options",
    [
        (130, 4, {}),  # two rows of tiles share the columns of B
        (100, 1, {}),  # one CTA for both tiles
        (100, 4, {"batch_invariant": True}),
    ],
)
def test_others_begin_with_the_first_block(m, sm_count, options):
    assert tiles_agree(m, COOPERATIVE, sm_count, **options)


def test_exchanged_products_begin_with_the_first_block():
    """There the columns of the kernel's tiles are the caller's rows, which are all summed alike."""
    a, b = twice(8 * TILE).t(), fp8(100, 8 * TILE).t()
    out = torch.zeros(100, 2 * TILE).t()
    with hopper_gemm.emulator(sm_count=4):
        matmul(a, b, out=out, out_dtype=torch.float32, config=COOPERATIVE)
    assert Reference(a, b).problem_with(out) == "" and same_bits(out[:TILE], out[TILE:])


def test_slices_and_a_single_tile_begin_with_the_first_block():
    def rasters(n: int, k: int) -> set[tuple[str, bool]]:
        problem = Problem(100, n, k, "e4m3", "bf16", ("k",), ("k",))
        walks = [p.walk for p in explain_problem(problem, Request(), Card()).candidates if p.kernel.turns_when_told]
        return {(walk.raster, walk.slices > 1) for walk in walks}

    assert ("apart", True) not in rasters(4096, 16384) and any(sliced for _, sliced in rasters(4096, 16384))
    assert {raster for raster, _ in rasters(64, 4096)} <= {"along_m", "along_n"}


def test_kernels_without_promotion_begin_with_the_first_block():
    assert tiles_agree(100, "e4m3_e4m3_f32_tn_128x128x128_c1x1_*_pingpong_tma", use_fast_accum=True)


def test_tiles_of_a_cluster_begin_together():
    config = "e4m3_e4m3_f32_tn_128x128x128_c1x2_*_cooperative_tma_p128"
    assert tiles_agree(100, config)
    a, b = fp8(100, 8 * TILE), torch.cat([twice(8 * TILE)] * 2, 1)
    with hopper_gemm.emulator(sm_count=8):
        out = matmul(a, b, out_dtype=torch.float32, config=config)
    assert not same_bits(out[:, : 2 * TILE], out[:, 2 * TILE :])


def test_what_explain_says():
    a, b = fp8(100, 8 * TILE), twice(8 * TILE)
    with hopper_gemm.emulator(sm_count=4):
        assert "one row of tiles, whose sums begin apart" in str(explain(a, b, config=COOPERATIVE))
        assert "begin apart" not in str(explain(a, b, config=COOPERATIVE, batch_invariant=True))


@pytest.mark.parametrize("m, n, apart", [(64, 16384, True), (128, 16384, True), (129, 16384, False), (2048, 2048, False)])
def test_on_an_h200(m, n, apart):
    problem = Problem(m, n, 4096, "e4m3", "bf16", ("k",), ("k",))
    predictions = [explain_problem(problem, Request(config=COOPERATIVE), Card()).plan.chosen]
    assert [p.walk.raster == "apart" for p in predictions] == [apart]
    assert all(p.walk.raster != "apart" for p in explain_problem(problem, Request(batch_invariant=True), Card()).candidates)
