"""Cases of the kind hang: every launch finishes, whatever the shape, the strides and the number of SMs."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones, schedules

import hopper_gemm
from hopper_gemm import matmul


@pytest.mark.parametrize("schedule", schedules())
def test_c132_a_column_or_a_row_as_result(schedule, device):
    k, sizes = (4736, (3072, 3088, 3104, 3136, 3200, 3328, 3584)) if device == "cuda" else (584, (384, 400))
    for size in sizes:
        for m, n in ((size, 1), (1, size)):
            b = ones(n, k, device=device).t()
            y = matmul(ones(m, k, device=device), b, schedule=schedule)
            assert bool((y == k).all()), (m, n)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
def test_c134_only_16_sms_available(schedule):
    contexts = pytest.importorskip("torch.cuda.green_contexts")
    try:
        context = contexts.GreenContext.create(num_sms=16)  # its streams do not keep it alive
        stream = context.Stream()
    except (AttributeError, TypeError, RuntimeError) as error:
        pytest.skip(f"no green contexts here: {error}")
    problems = [
        (ones(m, k, device="cuda"), ones(k, n, device="cuda"))
        for m, n, k in ((64, 64, 16384), (2048, 2048, 512), (3584, 8, 4736))
    ]
    torch.cuda.synchronize()
    for a, b in problems:
        with torch.cuda.stream(stream):
            y = matmul(a, b, schedule=schedule)
        stream.synchronize()
        assert bool((y == a.shape[1]).all()), a.shape


@pytest.mark.parametrize("schedule", schedules())
@pytest.mark.parametrize("sm_count", [2, 3])  # a cluster of two must be resident as a whole, as on hardware
def test_c134_fewer_sms_than_a_kernel_expects(schedule, sm_count):
    """The emulator with few resident CTAs: no CTA waits for one that cannot run."""
    with hopper_gemm.emulator(sm_count=sm_count):
        a, b = ints(200, 136, device="cpu"), ints(136, 264, device="cpu")
        assert_exact(matmul(a, b, schedule=schedule), a, b)


def test_c136_one_operand_fit_for_tma_the_other_not(device):
    m, n, k = (256, 256, 512) if device == "cuda" else (64, 72, 136)
    good_a, good_b = ints(m, k, device=device), ints(k, n, device=device)
    pad_a = torch.zeros(m, k + 5, device=device, dtype=BF16)[:, :k]
    pad_b = torch.zeros(k, n + 3, device=device, dtype=BF16)[:, :n]
    pad_a.copy_(good_a)
    pad_b.copy_(good_b)
    out = torch.zeros(m, n + 5, device=device, dtype=BF16)[:, :n]
    for a in (good_a, pad_a):
        for b in (good_b, pad_b):
            assert_exact(matmul(a, b), good_a, good_b)
            assert_exact(matmul(a, b, out=out), good_a, good_b)
