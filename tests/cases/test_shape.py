"""Cases of the kinds shape, tiny, empty and big-index: every size is computed, and nothing is left unwritten."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones, schedules

from hopper_gemm import errors, matmul


@pytest.mark.parametrize("n", [8, 24, 40, 56, 72, 88, 104, 120, 136, 200, 264])
def test_c001_n_of_8_mod_16_at_several_tile_widths(n, device):
    a, b = ints(192, 128, device=device), ints(128, n, device=device)
    assert_exact(matmul(a, b), a, b)


@pytest.mark.parametrize("schedule", schedules())
def test_c002_no_output_column_is_left_unwritten(schedule, device):
    a, b = ints(16, 64, device=device), ints(64, 104, device=device)
    out = torch.full((16, 104), float("nan"), device=device, dtype=BF16)
    assert matmul(a, b, out=out, schedule=schedule) is out
    assert_exact(out, a, b)


@pytest.mark.gpu
def test_c004_m_not_a_multiple_of_16():
    a, b = ints(1752, 584, device="cuda"), ints(584, 4720, device="cuda")
    assert_exact(matmul(a, b), a, b)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
@pytest.mark.parametrize("n", [1152, 1280, 1536, 1664, 2560])
def test_c006_tile_counts_of_every_kind_with_guard_rows(n, schedule):
    a, b = ints(n, 64, device="cuda"), ints(64, n, device="cuda")
    big = torch.full((n + 32, n), 7.0, device="cuda", dtype=BF16)
    matmul(a, b, out=big[16 : 16 + n], schedule=schedule)
    assert_exact(big[16 : 16 + n], a, b)
    assert bool((big[:16] == 7).all()) and bool((big[16 + n :] == 7).all())


@pytest.mark.parametrize("m, n, k", [(1, 105, 107), (1, 1, 1), (1, 1, 3), (3, 5, 7), (105, 1, 107), (2, 33, 1)])
def test_c007_any_shape_has_no_alignment_error(m, n, k, device):
    a, b = ints(m, k, device=device), ints(k, n, device=device)
    y = matmul(a, b)
    assert y.shape == (m, n)
    assert_exact(y, a, b)


@pytest.mark.parametrize("m, n", [(192, 160), (1, 8), (3, 5)])
def test_c019_k_0_gives_zeros_not_old_memory(m, n, device):
    junk = [torch.full((m, n), float("nan"), device=device, dtype=BF16) for _ in range(8)]
    del junk
    a, b = torch.empty(m, 0, device=device, dtype=BF16), torch.empty(0, n, device=device, dtype=BF16)
    out = torch.full((m, n), float("nan"), device=device, dtype=BF16)
    y = matmul(a, b)
    assert matmul(a, b, out=out) is out
    assert y.shape == (m, n) and bool((y == 0).all()) and bool((out == 0).all())


def test_c019_k_0_with_an_epilogue_gives_the_rest_of_it(device):
    a, b = torch.empty(6, 0, device=device, dtype=BF16), torch.empty(0, 5, device=device, dtype=BF16)
    c, bias = ints(6, 5, device=device), ints(5, device=device)
    y = matmul(a, b, alpha=3.0, beta=0.5, c=c, bias=bias, activation="relu")
    assert torch.equal(y, (0.5 * c.float() + bias.float()).relu().to(BF16))


@pytest.mark.parametrize("m, n, k", [(0, 32, 64), (16, 0, 64), (0, 0, 64), (0, 0, 0)])
def test_c021_empty_results_and_a_working_library_afterwards(m, n, k, device):
    y = matmul(ones(m, k, device=device), ones(k, n, device=device))
    assert y.shape == (m, n) and y.dtype == BF16
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


@pytest.mark.gpu
def test_c022_an_operand_of_more_than_2_to_the_31_elements():
    a = ones(35784, 65136, device="cuda")
    a[-1], a[0, 0] = 2, 5
    b = torch.zeros(65136, 8, device="cuda", dtype=BF16)
    b[-1], b[0] = 1, 1
    y = matmul(a, b)
    assert bool((y[1:-1] == 2).all()) and bool((y[0] == 6).all()) and bool((y[-1] == 4).all())


@pytest.mark.gpu
def test_c023_rows_times_pitch_of_more_than_2_to_the_31():
    x = ones(16909328, 128, device="cuda")
    x[-1] = 3
    y = matmul(x[:, 64:96], ones(32, 8, device="cuda"))
    assert bool((y[:-1] == 32).all()) and bool((y[-1] == 96).all())


@pytest.mark.gpu
def test_c023_more_than_2_to_the_31_elements_that_must_be_packed():
    x = ones(16909328, 129, device="cuda")
    x[-1] = 3
    y = matmul(x[:, 65:96], ones(31, 7, device="cuda"))
    assert bool((y[:-1] == 31).all()) and bool((y[-1] == 93).all())


@pytest.mark.parametrize("schedule", schedules("fp16"))
def test_c052_fp16_subnormals_are_kept(schedule, device):
    a = torch.full((64, 64), 2.0**-24, device=device, dtype=torch.float16)
    y = matmul(a, ones(64, 64, device=device, dtype=torch.float16), schedule=schedule)
    assert bool((y == 2.0**-18).all())


@pytest.mark.parametrize("schedule", schedules())
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 8, 8), (8, 8, 8), (16, 16, 16), (129, 257, 63), (40, 8, 8)])
def test_c070_every_schedule_on_tiny_and_awkward_problems(m, n, k, schedule, device):
    run_or_refuse(m, n, k, schedule, device)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
@pytest.mark.parametrize("m, n, k", [(8, 8192, 8192), (64, 7168, 1152), (4096, 8, 8)])
def test_c070_every_schedule_on_awkward_problems_of_the_gpu(m, n, k, schedule):
    run_or_refuse(m, n, k, schedule, "cuda")


def run_or_refuse(m: int, n: int, k: int, schedule: str, device: str) -> None:
    """Right, or refused with a sentence that names the schedule; "auto" refuses nothing."""
    a, b = ones(m, k, device=device), ones(k, n, device=device)
    try:
        y = matmul(a, b, schedule=schedule)
    except errors.HopperGemmError as error:
        text = str(error)
        assert schedule in text and len(text) > 30 and "invalid argument" not in text
        assert schedule != "auto"
    else:
        assert bool((y == k).all())
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())
