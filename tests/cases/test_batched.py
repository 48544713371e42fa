"""Cases of the kind batched: torch.matmul's rules, batches of any number, and offsets beyond 2^31 elements."""

from __future__ import annotations

import warnings

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones, schedules

import hopper_gemm
from hopper_gemm import matmul


def test_c082_a_batch_broadcast_by_expand(device):
    batch = 32 if device == "cuda" else 5
    a, b = ints(1, 32, 32, device=device), ints(batch, 32, 32, device=device)
    wide = a.expand(batch, 32, 32)
    for x, y in ((wide, b), (b, wide), (wide, wide), (a, b), (a[0], b), (b, a[0])):
        assert_exact(matmul(x, y), x, y)


@pytest.mark.parametrize("schedule", schedules())
def test_c082_every_schedule(schedule, device):
    a, b = ints(3, 2, 40, 64, device=device), ints(2, 64, 72, device=device)
    assert_exact(matmul(a, b, schedule=schedule), a, b)


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [65535, 65536, 65537])
def test_c083_batches_beyond_a_grid_dimension(batch):
    y = matmul(ones(batch, 225, 4, device="cuda"), ones(batch, 4, 1, device="cuda"))
    assert tuple(y.shape) == (batch, 225, 1) and bool((y == 4).all())
    assert bool((matmul(ones(64, 64, device="cuda"), ones(64, 64, device="cuda")) == 64).all())


@pytest.mark.gpu
def test_c085_a_batch_offset_past_2_to_the_31():
    canary = torch.full((1 << 28,), 7.0, device="cuda", dtype=BF16)
    a, b = ones(8210, 512, 1, device="cuda"), ones(8210, 1, 512, device="cuda")
    a[-1], b[-2] = 2, 3
    out = torch.full((8210, 512, 512), float("nan"), device="cuda", dtype=BF16)
    assert matmul(a, b, out=out) is out
    assert bool((out[:-2] == 1).all()) and bool((out[-2] == 3).all()) and bool((out[-1] == 2).all())
    assert bool((canary == 7).all())


@pytest.mark.parametrize(
    "a, b, result",
    [((0, 4, 8), (0, 8, 16), (0, 4, 16)), ((3, 2, 0), (3, 0, 3), (3, 2, 3)), ((0, 4, 8), (8, 16), (0, 4, 16)),
     ((2, 0, 8), (8, 16), (2, 0, 16)), ((1, 4, 8), (0, 8, 16), (0, 4, 16))],
)  # fmt: skip
def test_c087_batch_0_and_k_0(a, b, result, device):
    y = matmul(ones(*a, device=device), ones(*b, device=device))
    assert tuple(y.shape) == result and bool((y == 0).all())
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


def test_c088_3_d_by_2_d_with_a_rightly_shaped_out(device):
    a, b = ints(2, 4, 24, device=device), ints(24, 40, device=device)
    out = torch.empty(2, 4, 40, device=device, dtype=BF16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert matmul(a, b, out=out) is out
    assert_exact(out, a, b)


def test_c088_torchs_names(device):
    a, b, c = ints(3, 7, 24, device=device), ints(3, 24, 9, device=device), ints(3, 7, 9, device=device)
    assert_exact(hopper_gemm.bmm(a, b), a, b)
    assert_exact(hopper_gemm.baddbmm(c, a, b, beta=2, alpha=1), a, b, 2 * c.double())
    assert_exact(hopper_gemm.baddbmm(c[:1, :1], a, b), a, b, c[:1, :1].double())
    out = torch.empty(3, 9, 7, device=device, dtype=BF16).transpose(1, 2)
    assert hopper_gemm.bmm(a, b, out=out) is out
    assert_exact(out, a, b)


@pytest.mark.parametrize("m, n", [(27, 28), (1, 5)])
def test_c087_k_0_in_batches_with_an_epilogue(m, n, device):
    a, b = torch.empty(2, m, 0, device=device, dtype=BF16), torch.empty(2, 0, n, device=device, dtype=BF16)
    c = ints(2, m, n, device=device)
    assert torch.equal(matmul(a, b, beta=0.5, c=c, activation="relu"), (0.5 * c.float()).relu().to(BF16))
