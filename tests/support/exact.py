"""Small integers: every product and sum is exact in fp32, so the one right result is the exact one, rounded once."""

from __future__ import annotations

import torch

from . import features

BF16 = torch.bfloat16


def ints(*shape: int, device: str, dtype: torch.dtype = BF16, largest: int = 2, seed: int = 0) -> torch.Tensor:
    """Integers in -largest..largest."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randint(-largest, largest + 1, shape, generator=generator).to(dtype).to(device)


def ones(*shape: int, device: str, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.ones(shape, device=device).to(dtype)


def assert_exact(y: torch.Tensor, a: torch.Tensor, b: torch.Tensor, plus: object = 0) -> None:
    """y is the rounded a @ b + plus, bit for bit."""
    exact = a.double() @ b.double() + plus
    assert y.shape == exact.shape, (y.shape, exact.shape)
    wrong = y.double() != exact.to(y.dtype).double()
    assert not wrong.any(), f"{int(wrong.sum())} wrong, the first at {wrong.nonzero()[0].tolist()}"


def schedules(dtype: str = "bf16") -> list[str]:
    """"auto" and every schedule that has kernels for an input type here."""
    named = {k.schedule.value for k in features.usable_kernels() if k.input == features.KERNEL_INPUTS[dtype]}
    return ["auto", *sorted(named)]
