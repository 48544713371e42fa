"""Operands of every layout, as views into poisoned buffers: whatever a kernel reads outside them spoils its result."""

from __future__ import annotations

from dataclasses import dataclass

import torch

LAYOUTS = ("tn", "tt", "nn", "nt")
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
POISON = float("nan")


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


def padded(elements: int) -> int:
    """The next pitch the 16-byte rule allows, with room for poison behind every row."""
    return (elements + 7) // 8 * 8 + 8


def stored(rows: int, columns: int, fill, dtype, device, pitch: int) -> torch.Tensor:
    """A (rows, columns) view of a poisoned buffer with a poisoned row before and behind it."""
    buffer = torch.full((rows + 2, pitch), POISON, dtype=dtype, device=device)
    view = buffer[1 : rows + 1, :columns]
    view.copy_(fill((rows, columns)))
    return view


def operands(
    shape: Shape,
    layout: str,
    dtype: torch.dtype,
    *,
    device: str = "cpu",
    seed: int = 0,
    integers: bool = False,
    contiguous: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A (M, K) and B (K, N) of a layout: normal values, or integers in -2..2.

    Args:
        contiguous: rows directly behind each other (their pitch may break the 16-byte rule) instead of padded.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def fill(size):
        if integers:
            return torch.randint(-2, 3, size, generator=generator, device=device).to(dtype)
        return torch.randn(size, generator=generator, device=device).to(dtype)

    def one(outer: int, k_major: bool) -> torch.Tensor:
        rows, columns = (outer, shape.k) if k_major else (shape.k, outer)
        if contiguous:
            return fill((rows, columns))
        return stored(rows, columns, fill, dtype, device, padded(columns))

    a = one(shape.m, layout[0] == "t")
    b = one(shape.n, layout[1] == "n")
    return (a if layout[0] == "t" else a.t()), (b.t() if layout[1] == "n" else b)


def breaks_the_rule(tensor: torch.Tensor) -> bool:
    """Whether no contiguous reading of a matrix has a pitch of whole 16 bytes (one row has no pitch)."""
    for inner in (0, 1):
        rows, pitch = tensor.shape[1 - inner], tensor.stride(1 - inner)
        contiguous = tensor.stride(inner) == 1 or tensor.shape[inner] == 1
        if contiguous and (rows == 1 or (pitch * tensor.element_size() % 16 == 0 and pitch >= tensor.shape[inner])):
            return False
    return True
