"""Cases of the kinds nan-inf, precision and determinism: what each element of the result is made of."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones, schedules
from support.reference import Reference, same_bits

import hopper_gemm
from hopper_gemm import matmul

SCHEDULES = schedules()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_c025_a_nan_stays_in_its_row_and_column(schedule, device):
    a, b = ints(200, 136, device=device), ints(136, 152, device=device)
    clean = (a.double() @ b.double()).to(BF16)
    a[37, 5], b[11, 99] = float("nan"), float("nan")
    y = matmul(a, b, schedule=schedule)
    touched = torch.zeros_like(y, dtype=torch.bool)
    touched[37], touched[:, 99] = True, True
    assert bool(torch.isnan(y[touched]).all()) and torch.equal(y[~touched], clean[~touched])


def test_c025_also_where_operands_are_packed(device):
    a, b = ints(50, 37, device=device), ints(37, 41, device=device)
    clean = (a.double() @ b.double()).to(BF16)
    a[7, 5], b[11, 9] = float("nan"), float("inf")
    y = matmul(a, b)
    touched = torch.zeros_like(y, dtype=torch.bool)
    touched[7], touched[:, 9] = True, True
    assert not torch.isfinite(y[touched]).any() and torch.equal(y[~touched], clean[~touched])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("k", [100, 99])
def test_c026_nan_planted_all_round_the_operands(k, schedule, device):
    around_a = torch.full((160, 256), float("nan"), device=device, dtype=BF16)
    around_b = torch.full((256, 200), float("nan"), device=device, dtype=BF16)
    a, b = around_a[16:144, 64 : 64 + k], around_b[64 : 64 + k, 32:144]
    a.copy_(ints(128, k, device=device))
    b.copy_(ints(k, 112, device=device))
    assert_exact(matmul(a, b, schedule=schedule), a, b)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_c037_partial_sums_that_cancel(schedule, device):
    k = 8192 if device == "cuda" else 1024
    a, b = ones(64, k, device=device), ones(k, 64, device=device)
    b[k // 2 :] = -1
    b[0] = 2
    assert bool((matmul(a, b, schedule=schedule) == 1).all())


@pytest.mark.parametrize("schedule", schedules("fp16"))
def test_c039_4096_ones_in_fp16(schedule, device):
    a, b = (ones(*shape, device=device, dtype=torch.float16) for shape in ((64, 4096), (4096, 64)))
    assert bool((matmul(a, b, schedule=schedule) == 4096).all())


@pytest.fixture
def tf32_switch():
    """Sets torch's switch for float32 products, and puts it back."""
    before = torch.backends.cuda.matmul.fp32_precision

    def set_to(value: str) -> None:
        torch.backends.cuda.matmul.fp32_precision = value

    yield set_to
    torch.backends.cuda.matmul.fp32_precision = before


@pytest.mark.parametrize("how", ["switch", "argument"])
def test_c040_float32_is_not_silently_tf32(how, device, tf32_switch):
    tf32_switch("ieee" if how == "switch" else "tf32")
    a, b = torch.full((64, 64), 1 + 2.0**-12, device=device), torch.eye(64, device=device).t()
    assert torch.equal(matmul(a, b, precision=None if how == "switch" else "fp32"), a)


@pytest.mark.parametrize("how", ["switch", "argument"])
def test_c040_tf32_rounds_to_nearest_where_it_is_asked_for(how, device, tf32_switch):
    tf32_switch("tf32" if how == "switch" else "ieee")
    up, down = 1 + 3 * 2.0**-12, 1 + 2.0**-12
    a, b = torch.full((64, 64), up, device=device), torch.eye(64, device=device).t()
    a[:, 1::2] = down
    y = matmul(a, b, precision=None if how == "switch" else "tf32")
    assert bool((y[:, ::2] == 1 + 2.0**-10).all()) and bool((y[:, 1::2] == 1).all())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_c042_the_error_bound_on_random_data(schedule, device):
    k = 16384 if device == "cuda" else 2048
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator).to(device, BF16) for shape in ((128, k), (k, 128)))
    assert Reference(a, b).problem_with(matmul(a, b, schedule=schedule)) == ""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_c137_identical_calls_give_identical_bits(schedule, device):
    k, times = (16384, 50) if device == "cuda" else (1024, 3)
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator).to(device, BF16) for shape in ((64, k), (k, 96)))
    first = matmul(a, b, schedule=schedule)
    for seed in range(times):  # on the emulator every seed is another interleaving
        if device == "cuda":
            again = matmul(a, b, schedule=schedule)
        else:
            with hopper_gemm.emulator(seed=seed + 1):
                again = matmul(a, b, schedule=schedule)
        assert same_bits(first, again)


def test_c137_under_deterministic_algorithms(device):
    a, b = torch.randn(40, 512).to(device, BF16), torch.randn(512, 72).to(device, BF16)
    torch.use_deterministic_algorithms(True)
    try:
        assert same_bits(matmul(a, b), matmul(a, b))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [BF16, torch.float16])
@pytest.mark.parametrize("n, k", [(96, 1024), (264, 520)])
def test_c137_rows_do_not_depend_on_how_many_there_are(n, k, dtype, device):
    rows = 1000 if device == "cuda" else 150
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator).to(device, dtype) for shape in ((rows, k), (k, n)))
    whole = matmul(a, b, batch_invariant=True)
    for m in (1, 2, 16, 63, 64, 65, 129, rows // 2):
        for begin in (0, rows - m):
            part = matmul(a[begin : begin + m], b, batch_invariant=True)
            assert same_bits(part, whole[begin : begin + m]), (m, begin)
