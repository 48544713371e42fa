"""Cases of the kind fp8: scales, saturation, long sums, layouts. Data in {-1, 0, 1} and scales of powers of two are exact."""

from __future__ import annotations

import functools

import pytest
import torch
from support.exact import BF16, assert_exact, ints
from support.features import needs

import hopper_gemm
from hopper_gemm import errors

pytestmark = needs("e4m3", "e5m2")
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
units = functools.partial(ints, dtype=E4M3, largest=1)


def one(device: str) -> torch.Tensor:
    return torch.ones((), device=device)


@pytest.mark.parametrize("tokens", [8352, 200])
def test_c043_row_scales_with_nan_right_behind_them(tokens, device):
    m, n, k = (tokens, 1536, 1024) if device == "cuda" else (136, 72, 256)
    a, b = units(m, k, device=device), units(n, k, device=device).t()
    around_a = torch.full((m + 1024, 1), float("nan"), device=device)
    around_b = torch.full((1, n + 1024), float("nan"), device=device)
    scale_a, scale_b = around_a[:m], around_b[:, :n]
    scale_a.copy_(torch.tensor([0.5, 1.0, 2.0, 4.0]).repeat(m // 4)[:, None])
    scale_b.copy_(torch.tensor([1.0, 0.25]).repeat(n // 2)[None])
    y = hopper_gemm.scaled_matmul(a, b, scale_a, scale_b, out_dtype=BF16)
    assert torch.equal(y, ((a.double() @ b.double()) * scale_a.double() * scale_b.double()).to(BF16))


@pytest.mark.parametrize("output, largest", [(E4M3, 448.0), (E5M2, 57344.0)])
def test_c044_overflow_and_ties_of_an_fp8_output(output, largest, device):
    inf = float("inf")
    values = [1.0, 447.0, 448.0, 449.0, 463.0, 464.0, 465.0, 480.0, 500.0, 57344.0, 61440.0, 1e6, -464.0, -1e6, inf, -inf]
    values = torch.tensor([*values, float("nan"), 0.0, 1.0625, 1.1875, 2.0**-9, 2.0**-10, 3 * 2.0**-10], device=device)
    m = len(values)
    a, b = torch.zeros(m, 64, device=device), torch.zeros(32, 64, device=device)
    a[:, 0], b[:, 0] = 1, 1
    y = hopper_gemm.scaled_matmul(a.to(E4M3), b.to(E4M3).t(), values.view(m, 1), one(device), out_dtype=output)
    expected = values.clamp(-largest, largest).to(output)  # saturating: finite and infinite overflow; NaN stays NaN
    got = y.float()
    assert y.dtype == output and bool(((got == got[:, :1]) | torch.isnan(got)).all())
    assert torch.equal(torch.isnan(got[:, 0]), torch.isnan(values))
    finite = ~torch.isnan(values)
    assert torch.equal(got[finite, 0], expected.float()[finite])


def test_c048_a_scale_of_the_wrong_dtype_device_or_size(device):
    a, b = units(64, 128, device=device), units(64, 128, device=device).t()
    bad = [
        (torch.ones((), dtype=torch.float64, device=device), "float64"),
        (torch.ones((), dtype=BF16, device=device), "bfloat16"),
        (torch.ones(1, 2, 1, device=device), "(1, 2, 1)"),
        (torch.ones(63, 1, device=device), "(63, 1)"),
        (torch.ones(1, 63, device=device), "(1, 63)"),
    ]
    if device == "cuda":
        bad.append((torch.ones(()), "cpu"))
    for scale, word in bad:
        for scales in ((scale, one(device)), (one(device), scale)):
            with pytest.raises(errors.HopperGemmError) as caught:
                hopper_gemm.scaled_matmul(a, b, *scales)
            assert "scale" in str(caught.value).lower() and word in str(caught.value), str(caught.value)



def test_c049_long_sums_stay_accurate(device):
    k = 16384 if device == "cuda" else 2048
    generator = torch.Generator().manual_seed(0)
    a, b = ((torch.rand(96, k, generator=generator) * 0.5 + 0.5).to(E4M3).to(device) for _ in range(2))
    exact = a.double() @ b.t().double()
    y = hopper_gemm.scaled_matmul(a, b.t(), one(device), one(device), out_dtype=torch.float32)
    assert float(((y.double() - exact).abs() / exact).max()) < 2e-3


def test_c050_a_padded_and_a_row_major_b(device):
    a, store = units(64, 656, device=device), units(416, 1024, device=device)
    b = store[:, :656].t()
    for operand in (b, b.contiguous(), store[:, 1:657].t()):
        y = hopper_gemm.scaled_matmul(a, operand, one(device), one(device), out_dtype=BF16)
        assert_exact(y, a, operand)


@pytest.mark.parametrize("m", [5743, 1, 17])
def test_c051_any_number_of_tokens(m, device):
    m = min(m, 143) if device == "cpu" else m
    a, b = units(m, 64, device=device), units(96, 64, device=device).t()
    assert_exact(hopper_gemm.scaled_matmul(a, b, one(device), one(device), out_dtype=BF16), a, b)


@pytest.mark.parametrize("a_type", [E4M3, E5M2])
@pytest.mark.parametrize("b_type", [E4M3, E5M2])
@pytest.mark.parametrize("fast", [False, True])
def test_c049_all_four_pairs(a_type, b_type, fast, device):
    a, b = ints(40, 512, device=device, dtype=a_type), ints(72, 512, device=device, dtype=b_type).t()
    y = hopper_gemm.scaled_matmul(a, b, one(device), one(device), out_dtype=torch.float32, use_fast_accum=fast)
    assert_exact(y, a, b)
