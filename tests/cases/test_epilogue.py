"""Cases of the kinds alpha-beta and epilogue: everything in fp32 before the one rounding, and nothing read that counts zero."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, schedules

import hopper_gemm
from hopper_gemm import matmul

HALF = torch.float16


@pytest.mark.parametrize("schedule", schedules())
def test_c028_nan_left_in_out_does_not_reach_the_result(schedule, device):
    a, b = ints(96, 64, device=device), ints(64, 80, device=device)
    out = torch.full((96, 80), float("nan"), device=device, dtype=BF16)
    assert matmul(a, b, out=out, schedule=schedule) is out
    assert_exact(out, a, b)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_c029_beta_0_does_not_read_c(value, device):
    a, b = ints(96, 64, device=device), ints(64, 80, device=device)
    c = torch.full((96, 80), value, device=device, dtype=BF16)
    assert_exact(matmul(a, b, c=c, beta=0.0), a, b)
    assert_exact(matmul(a, b, c=c, beta=0), a, b)


def test_c029_also_under_torchs_names(device):
    a, b = ints(16, 64, device=device), ints(64, 24, device=device)
    c = torch.full((16, 24), float("nan"), device=device, dtype=BF16)
    assert_exact(hopper_gemm.addmm(c, a, b, beta=0), a, b)
    assert_exact(hopper_gemm.baddbmm(c[None], a[None], b[None], beta=0), a[None], b[None])


def test_c031_alpha_is_not_rounded_to_the_operand_type(device):
    a, b = torch.full((32, 16), 100.0, device=device, dtype=HALF), torch.full((16, 32), 10.0, device=device, dtype=HALF)
    assert bool((matmul(a, b, alpha=1.0004) == 16008).all())
    a, b = torch.full((32, 10), 5.0, device=device, dtype=BF16), torch.full((10, 32), 5.0, device=device, dtype=BF16)
    assert bool((matmul(a, b, alpha=1.003) == 251).all())


def test_c032_scaling_happens_before_the_range_check_of_fp16(device):
    a, b = torch.full((32, 16), 100.0, device=device, dtype=HALF), torch.full((16, 32), 100.0, device=device, dtype=HALF)
    assert bool((matmul(a, b, alpha=0.25) == 40000).all())
    assert bool(torch.isinf(matmul(a, b)).all())


@pytest.mark.parametrize("which", ["a", "b", "a transposed"])
def test_c033_c_is_an_operand(which, device):
    a, b = ints(256, 256, device=device), ints(256, 256, device=device, seed=1)
    before = a.clone(), b.clone()
    c = {"a": a, "b": b, "a transposed": a.t()}[which]
    assert_exact(matmul(a, b, c=c, beta=1.0), a, b, c.double())
    assert torch.equal(a, before[0]) and torch.equal(b, before[1])


@pytest.mark.parametrize("first", [0, 1, 3])
def test_c075_a_bias_that_starts_anywhere(first, device):
    a, b = ints(64, 64, device=device), ints(64, 256, device=device)
    bias = ints(300, device=device)[first : first + 256]
    assert_exact(matmul(a, b, bias=bias), a, b, bias.double())


def test_c076_the_bias_runs_along_n_whatever_the_layout_of_out(device):
    a, b = ints(128, 128, device=device), ints(128, 128, device=device, seed=1)
    bias = torch.arange(128, device=device).to(BF16)
    out = torch.empty(128, 128, device=device, dtype=BF16).t()
    assert_exact(matmul(a, b, bias=bias), a, b, bias.double())
    assert matmul(a, b, bias=bias, out=out) is out
    assert_exact(out, a, b, bias.double())
    column = bias[:, None]
    assert_exact(matmul(a, b, bias=column), a, b, column.double())
    assert_exact(matmul(a, b, bias=column, out=out), a, b, column.double())


def test_c078_a_bias_of_any_stride_and_shape(device):
    a, b = ints(96, 64, device=device), ints(64, 80, device=device)
    f = ints(240, device=device)
    for bias in (f[::3], f[:1].expand(80), f[:80].view(1, 80), f[:96].view(96, 1), f[:192:2].view(96, 1)):
        assert_exact(matmul(a, b, bias=bias), a, b, bias.double())


@pytest.mark.parametrize("schedule", schedules())
def test_c081_a_float32_bias_is_added_in_float32(schedule, device):
    a, b = torch.zeros(64, 64, device=device, dtype=BF16), torch.zeros(64, 64, device=device, dtype=BF16)
    a[:, 0], b[0] = 256, 1
    bias = torch.full((64,), 1.0 + 2.0**-10, device=device)
    assert bool((matmul(a, b, bias=bias, schedule=schedule) == 258).all())


@pytest.mark.parametrize("schedule", schedules())
def test_c081_everything_at_once_is_rounded_once(schedule, device):
    a, b = ints(72, 64, device=device), ints(64, 104, device=device)
    c, bias, residual = ints(72, 104, device=device), ints(104, device=device).float(), ints(72, 104, device=device, seed=9)
    exact = (2 * (a.double() @ b.double()) - 0.5 * c.double() + bias.double()).relu() + residual.double()
    options = {"alpha": 2.0, "beta": -0.5, "c": c, "bias": bias, "activation": "relu", "residual": residual}
    for output in (BF16, HALF, torch.float32):
        y = matmul(a, b, **options, out_dtype=output, schedule=schedule)
        assert torch.equal(y, exact.to(output))
