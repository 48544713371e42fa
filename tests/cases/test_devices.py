"""Cases of the kind multi-gpu: the device of the tensors counts, not the current one."""

from __future__ import annotations

import pytest
import torch
from support.exact import ones, schedules

from hopper_gemm import errors, matmul

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]


@pytest.fixture(autouse=True)
def first_device():
    torch.cuda.set_device(0)


@pytest.mark.parametrize("schedule", schedules())
def test_c128_tensors_on_another_than_the_current_device(schedule):
    y = matmul(ones(256, 384, device="cuda:1"), ones(384, 128, device="cuda:1"), schedule=schedule)
    assert torch.cuda.current_device() == 0
    assert y.device == torch.device("cuda:1") and bool((y == 384).all())


def test_c128_a_backward_on_another_than_the_current_device():
    a, b = ones(256, 384, device="cuda:1").requires_grad_(), ones(384, 128, device="cuda:1")
    matmul(a, b).sum().backward()
    assert torch.cuda.current_device() == 0 and bool((a.grad == 128).all())


@pytest.mark.parametrize("schedule", schedules())
def test_c129_the_largest_kernels_on_every_device_in_turn(schedule):
    for device in ("cuda:0", "cuda:1", "cuda:0"):
        x = ones(2048, 2048, device=device)
        assert bool((matmul(x, x, schedule=schedule) == 2048).all()), device


def test_c131_tensors_on_different_devices():
    a, b = ones(64, 64, device="cuda:0"), ones(64, 64, device="cuda:1")
    out = torch.full((64, 64), 7.0, device="cuda:1", dtype=a.dtype)
    for arguments, kwargs in (((a, b), {}), ((b, a), {}), ((a, a), {"out": out})):
        with pytest.raises(errors.DeviceError) as caught:
            matmul(*arguments, **kwargs)
        assert "cuda:0" in str(caught.value) and "cuda:1" in str(caught.value)
    assert bool((out == 7).all())
