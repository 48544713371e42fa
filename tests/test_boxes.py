"""Boxes of TMA that have no more rows than an operand (core/boxes.h): the emulator makes NaNs of what they leave in a stage."""

from __future__ import annotations

import pytest
import torch
from support.reference import Reference

import hopper_gemm
from hopper_gemm import matmul
from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card, Estimate
from hopper_gemm.selector import load_model
from hopper_gemm.tiling import CLIPS

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn, "tf32": torch.float32}


def operand(rows: int, k: int, kind: str) -> torch.Tensor:
    return torch.randn(rows, k, generator=torch.Generator().manual_seed(rows)).to(TYPES[kind])


# Rows of A, columns of B and a kernel: of one tile or a last one, of CTAs that share a tile, of ones that share K, of exchanged
# operands, persistent ones whose stages hold rows of the tile before.
CASES = [
    (130, 700, "bf16_*_tn_128x128x64_c1x1_*_cooperative_tma"),
    (520, 200, "bf16_*_tn_192x128x64_c1x1_*_pingpong_tma"),
    (385, 300, "e4m3_*_tn_192x128x128_c1x1_*_cooperative_tma_p128"),
    (129, 400, "bf16_*_tn_128x128x64_c2x1_*_pingpong_tma"),
    (150, 140, "bf16_*_tn_64x128x64_c2x2_*_pingpong_tma"),
    (1, 200, "bf16_*_tn_64x128x64_c1x1_*_tma_tma"),
    (33, 130, "bf16_*_tn_64x64x128_c1x1_*_warp_specialized_tma"),
    (65, 264, "bf16_*_tn_128x128x64_c1x1_*_cooperative_tma"),
    (127, 72, "bf16_*_tn_128x192x64_c1x1_*_pingpong_tma"),
    (5, 300, "bf16_*_tn_128x128x64_c1x4_*_pingpong_tma"),
    (96, 300, "bf16_*_tn_128x128x64_c1x2_*_pingpong_tma"),
    (300, 70, "bf16_*_tn_256x128x64_c2x1_*_cooperative_tma"),
    (17, 200, "bf16_*_tn_64x32x128_c1x1_*_warp_specialized_tma_column"),
    (50, 90, "bf16_*_tn_64x96x64_c4x1_*_warp_specialized_tma_column"),
    (40, 40, "bf16_*_tn_64x64x128_c1x1_*_warp_specialized_direct_k2_column"),
    (3, 200, "bf16_*_nn_128x128x64_c1x1_*_pingpong_tma"),
    (200, 9, "bf16_*_nt_64x64x64_c1x1_*_warp_specialized_tma"),
    (70, 200, "e4m3_*_tn_128x224x128_c1x1_*_cooperative_tma_p128"),
    (66, 130, "e4m3_*_tn_128x128x128_c1x2_*_cooperative_tma_p128"),
    (20, 60, "tf32_*_tn_64x128x32_c1x1_*_tma_tma"),
]


@pytest.mark.parametrize("m, n, config", CASES)
@pytest.mark.parametrize("k", [72, 1000])
def test_no_row_that_is_not_there_is_loaded(m, n, k, config):
    kind, layout = config.split("_")[0], config.split("_")[2]
    k = k + 24 if kind == "e4m3" else k
    a = operand(m, k, kind) if layout[0] == "t" else operand(k, m, kind).t()
    b = operand(n, k, kind).t() if layout[1] == "n" else operand(k, n, kind)
    for seed, static_b in ((0, False), (1, True)):
        with hopper_gemm.emulator(seed=seed):
            precision = "tf32" if kind == "tf32" else None
            out = matmul(a, b, config=config, precision=precision, out_dtype=torch.float32, static_b=static_b)
        assert Reference(a, b).problem_with(out) == ""


def test_what_the_model_counts():
    def zero_rows(m: int, n: int, glob: str, clips: int = CLIPS) -> tuple[float, float]:
        """In every tile, and in the last of several."""
        kernel = hopper_gemm.kernels(glob)[0]
        e = Estimate(Case(m, n, 4096).problem().for_output(kernel.output), kernel, Card(), load_model(), clips=clips)
        return e.rows_beyond, e.rows_ragged

    whole, shared = "bf16_*_tn_128x128x64_c1x1_*_cooperative_tma", "bf16_*_tn_128x128x64_c1x2_*_pingpong_tma"
    assert zero_rows(96, 4096, whole) == zero_rows(160, 4096, whole) == (0, 0)
    assert zero_rows(96, 4096, whole, clips=0) == (32, 0) and zero_rows(96, 4096, whole, clips=1) == (0, 0)
    assert zero_rows(160, 4096, whole, clips=0) == zero_rows(160, 4096, whole, clips=1) == (0, 96 / 2)
    assert zero_rows(33, 4096, shared) == ((48 - 33) / 2, 0) and zero_rows(161, 4096, shared) == (0, (48 - 33) / 2 / 2)
    assert zero_rows(128, 4096, shared) == (0, 0)
    assert zero_rows(3, 4096, "bf16_*_tn_64x16x128_c1x1_s4_*_tma_column") == (13, 0)  # boxes of 16 rows stay whole
    assert zero_rows(96, 4096, "bf16_*_nn_128x128x64_c1x1_*_pingpong_tma") == (32, 0)  # rows of K; what is beyond lies within them


def test_either_operand_may_be_static_at_the_edge():
    for glob, m, n in (("bf16_*_tn_128x128x64_c1x1_*_cooperative_tma", 100, 100), ("bf16_*_tn_128x128x64_c2x1_*_pingpong_tma", 129, 100)):
        assert hopper_gemm.check(hopper_gemm.kernels(glob)[0].name, m, n, 200, seeds=6).ok
