"""Cases of the kind grouped, kept for the day there is `grouped_matmul(a, b, ends)`: one product per group of rows (b of
three dimensions) or of columns of K (b of two), the groups given by where each ends. Until then they skip.
"""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones
from support.features import needs

import hopper_gemm
from hopper_gemm import matmul

pytestmark = needs("grouped_matmul")


def ends_of(sizes: list[int], device: str) -> torch.Tensor:
    return torch.tensor(sizes).cumsum(0).to(device, torch.int32)


def assert_groups(y: torch.Tensor, a: torch.Tensor, w: torch.Tensor, sizes: list[int]) -> None:
    begin = 0
    for group, size in enumerate(sizes):
        assert_exact(y[begin : begin + size], a[begin : begin + size], w[group])
        begin += size


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([162, 0, 257, 46, 0, 83], id="c089_empty_groups"),
        pytest.param([256, 384, 256, 129, 1], id="c097_no_tile_is_dropped"),
        pytest.param([8, 16, 32, 1, 0, 63, 64, 65, 7] * 4, id="c098_fewer_than_64_rows"),
    ],
)
def test_groups_of_rows(sizes, device):
    total = sum(sizes)
    a, w = ints(total, 128, device=device), ints(len(sizes), 128, 96, device=device)
    out = torch.full((total, 96), float("nan"), device=device, dtype=BF16)
    hopper_gemm.grouped_matmul(a, w, ends_of(sizes, device), out=out)
    assert not bool(torch.isnan(out).any())
    assert_groups(out, a, w, sizes)


def test_c089_weight_gradients_of_empty_groups_are_zero(device):
    sizes = [162, 0, 257, 46, 0, 83]
    a, grad = ints(sum(sizes), 64, device=device), ints(sum(sizes), 96, device=device)
    weights = hopper_gemm.grouped_matmul(a.t(), grad, ends_of(sizes, device))
    begin = 0
    for group, size in enumerate(sizes):
        assert_exact(weights[group], a[begin : begin + size].t(), grad[begin : begin + size])
        begin += size
    assert bool((weights[1] == 0).all()) and bool((weights[4] == 0).all())


def test_c091_no_tokens_at_all(device):
    ends = torch.zeros(4, device=device, dtype=torch.int32)
    y = hopper_gemm.grouped_matmul(torch.empty(0, 64, device=device, dtype=BF16), ones(4, 64, 32, device=device), ends)
    empty = [torch.empty(*shape, device=device, dtype=BF16) for shape in ((64, 0), (0, 32))]
    weights = hopper_gemm.grouped_matmul(*empty, ends)
    assert tuple(y.shape) == (0, 32) and tuple(weights.shape) == (4, 64, 32) and bool((weights == 0).all())
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


def test_c092_an_empty_group_in_the_backward(device):
    ends = torch.tensor([8, 8, 24, 24], device=device, dtype=torch.int32)
    a, w = ones(24, 64, device=device).requires_grad_(), ones(4, 64, 32, device=device).requires_grad_()
    hopper_gemm.grouped_matmul(a, w, ends).sum().backward()
    assert [float(g[0, 0]) for g in w.grad] == [8, 0, 16, 0] and bool((a.grad == 32).all())


@pytest.mark.gpu
def test_c094_one_token_in_one_group():
    ends = torch.tensor([1], device="cuda", dtype=torch.int32)
    y = hopper_gemm.grouped_matmul(ones(1, 1536, device="cuda"), ones(1, 1536, 24576, device="cuda"), ends)
    assert bool((y == 1536).all())


def test_c095_groups_of_k(device):
    sizes, edge = ([384, 256], 1408) if device == "cuda" else ([96, 64], 352)
    a, b = ints(edge, sum(sizes), device=device), ints(sum(sizes), edge, device=device)
    y = hopper_gemm.grouped_matmul(a, b, ends_of(sizes, device))
    assert_exact(y[0], a[:, : sizes[0]], b[: sizes[0]])
    assert_exact(y[1], a[:, sizes[0] :], b[sizes[0] :])


@pytest.mark.parametrize("ends", [[20, 40], [20.0, 40.0, 64.0]])
def test_c099_ends_that_cannot_be_meant(ends, device):
    with pytest.raises(hopper_gemm.HopperGemmError, match="ends"):
        hopper_gemm.grouped_matmul(ints(64, 64, device=device), ints(3, 64, 32, device=device), torch.tensor(ends, device=device))
