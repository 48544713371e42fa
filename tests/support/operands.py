"""Operands of every layout, as views into poisoned buffers: whatever a kernel reads outside them spoils its result."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hopper_gemm.problem import INPUT_NAMES
from hopper_gemm.registry import Kernel

LAYOUTS = ("tn", "tt", "nn", "nt")
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
KERNEL_DTYPES = {name: dtype for dtype, name in INPUT_NAMES.items()}  # by the names kernels have
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32}


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


def padded(elements: int, element_bytes: int = 2) -> int:
    """The next pitch the 16-byte rule allows, with room for poison behind every row."""
    step = 16 // element_bytes
    return (elements + step - 1) // step * step + step


def stored(rows: int, columns: int, fill, dtype, device, pitch: int) -> torch.Tensor:
    """A (rows, columns) view of a poisoned buffer with a poisoned row before and behind it."""
    integer = INTEGERS[dtype.itemsize]
    poison = torch.iinfo(integer).max  # a NaN of every floating-point type
    buffer = torch.full((rows + 2, pitch), poison, dtype=integer, device=device).view(dtype)
    view = buffer[1 : rows + 1, :columns]
    view.copy_(fill((rows, columns)))
    return view


def kernel_dtypes(kernel: Kernel) -> tuple[torch.dtype, torch.dtype]:
    """The dtypes of the `a` and `b` of a row-major `out` that a kernel can compute."""
    a_type, b_type = (kernel.b_type, kernel.a_type) if kernel.exchanges else (kernel.a_type, kernel.b_type)
    return KERNEL_DTYPES[a_type], KERNEL_DTYPES[b_type]


def kernel_arguments(kernel: Kernel) -> dict[str, object]:
    """What a call must say to run a kernel."""
    wanted: dict[str, object] = {"config": kernel.name}
    if kernel.a_type == "tf32":
        wanted["precision"] = "tf32"
    return wanted


def operands(
    shape: Shape,
    layout: str,
    dtype: torch.dtype | tuple[torch.dtype, torch.dtype],
    *,
    device: str = "cpu",
    seed: int = 0,
    integers: bool = False,
    contiguous: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A (M, K) and B (K, N) of a layout: normal values (all values of int8 and uint8), or integers in -2..2 (0..4 of uint8).

    Args:
        dtype: of both, or one of each.
        contiguous: rows directly behind each other (their pitch may break the 16-byte rule) instead of padded.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def fill(size, kind):
        if kind in (torch.int8, torch.uint8) or integers:
            low, high = (-2, 3) if integers else (-128, 128)
            shift = -low if kind == torch.uint8 else 0
            return torch.randint(low + shift, high + shift, size, generator=generator, device=device).to(kind)
        return torch.randn(size, generator=generator, device=device).to(kind)

    def one(outer: int, k_major: bool, kind: torch.dtype) -> torch.Tensor:
        rows, columns = (outer, shape.k) if k_major else (shape.k, outer)
        if contiguous:
            return fill((rows, columns), kind)
        pitch = padded(columns, kind.itemsize)
        return stored(rows, columns, lambda size: fill(size, kind), kind, device, pitch)

    a_dtype, b_dtype = dtype if isinstance(dtype, tuple) else (dtype, dtype)
    a = one(shape.m, layout[0] == "t", a_dtype)
    b = one(shape.n, layout[1] == "n", b_dtype)
    return (a if layout[0] == "t" else a.t()), (b.t() if layout[1] == "n" else b)


def breaks_the_rule(tensor: torch.Tensor) -> bool:
    """Whether no contiguous reading of a matrix has a pitch of whole 16 bytes (one row has no pitch)."""
    for inner in (0, 1):
        rows, pitch = tensor.shape[1 - inner], tensor.stride(1 - inner)
        contiguous = tensor.stride(inner) == 1 or tensor.shape[inner] == 1
        if contiguous and (rows == 1 or (pitch * tensor.element_size() % 16 == 0 and pitch >= tensor.shape[inner])):
            return False
    return True
