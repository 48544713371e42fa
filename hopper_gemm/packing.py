"""Packing: operands that no kernel reads in place are first copied to aligned memory, by a kernel of this library
(include/hopper_gemm/kernel/pack.h); an `out` that none writes in place is copied to from an aligned result.

Workspaces come from torch's caching allocator on the current stream and are freed when everything is enqueued, which the
stream's order makes safe, in CUDA graphs too. They are as large as aligned copies of what is packed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from . import _extension
from .device import card_of
from .emulation import Emulator, require_emulator
from .errors import ArgumentError, AutogradError, DTypeError, sentence
from .operands import ALIGNMENT_BYTES, K_MAJOR, Matrix, aligned_row_bytes, operand_majors, packed_majors
from .problem import INPUT_NAMES

LEFT, RIGHT = 1, 2  # of a 3xTF32 product: which of a float32 operand's two tf32 parts go where
Copies = list[tuple[torch.Tensor, torch.Tensor, int, int]]  # source, target, columns of it that are written, 0 or LEFT or RIGHT
_MOST_DIMS = 6  # of one copy: csrc/bindings/tensors.h
_C = _extension.load()
_copy = _C.copy
_copy_emulated = _C.copy_emulated


def aligned_like(tensor: torch.Tensor, inner: int, segments: int = 1) -> tuple[torch.Tensor, int]:
    """Memory of `tensor`'s shape that every kernel can address, contiguous in dimension `inner` (-1 or -2), and the pitch; or
    of three segments of the pitch along `inner`.
    """
    shape = [*tensor.shape]
    if inner == -2:
        shape[-1], shape[-2] = shape[-2], shape[-1]
    pitch = aligned_row_bytes(shape[-1], tensor.element_size()) // tensor.element_size()
    memory = torch.empty((*shape[:-1], segments * pitch), dtype=tensor.dtype, device=tensor.device)
    view = memory[..., : shape[-1]] if segments == 1 else memory
    return (view if inner == -1 else view.transpose(-1, -2)), pitch


def distinct(operand: torch.Tensor, batch: Sequence[int]) -> torch.Tensor:
    """The part of an operand of a batch that has to be packed: expanded dimensions once, if the rest stays regular."""
    for dim in range(operand.dim() - 2):
        if operand.stride(dim) == 0 and operand.shape[dim] > 1:
            operand = operand.narrow(dim, 0, 1)
    own = operand.shape[:-2]
    full = tuple(batch)[len(batch) - len(own) :]
    missing = any(size > 1 for size in tuple(batch)[: len(batch) - len(own)])
    if all(size == 1 for size in own) or (tuple(own) == full and not missing):
        return operand
    return operand.expand(*batch, *operand.shape[-2:])


def packed(operand: torch.Tensor, inner: int, batch: Sequence[int], copies: Copies, split: int = 0) -> torch.Tensor:
    """An aligned tensor to use in an operand's place; the copy that fills it is added to `copies`."""
    vector = operand.dim() == 1
    if vector:
        operand, inner = operand.unsqueeze(0), -1
    source = distinct(operand, batch)
    target, pitch = aligned_like(source, inner, segments=3 if split else 1)
    first = target.narrow(inner, 0, source.shape[inner])
    copies.append((source, first, pitch, split) if inner == -1 else (source.mT, first.mT, pitch, split))
    return target[0] if vector else target


def run_copies(copies: Copies, emulator: Emulator | None) -> None:
    """Enqueues copies, in one launch where there are at most two; on the emulator if one is given."""
    while copies and copies[0][0].dim() > _MOST_DIMS:
        source, target, pitch, split = copies[0]
        copies = [(s, t, pitch, split) for s, t in zip(source, target)] + copies[1:]
    if len(copies) > 2:
        run_copies(copies[:2], emulator)
        run_copies(copies[2:], emulator)
    elif copies and emulator is not None:
        _copy_emulated(copies, emulator.seed, emulator.sm_count)
    elif copies:
        _copy(copies)


def prepack(b: torch.Tensor) -> torch.Tensor:
    """A tensor equal to `b` that `matmul(a, b)` reads in place, for a `b` that is used again and again.

    Weights whose rows are not multiples of 16 bytes apart, that start off a 16-byte boundary or are strided in both
    dimensions are packed by every call; this does it once. 1- and 4-byte types are laid out along K.

    Args:
        b: (..., K, N), on a GPU (or on the CPU, inside `hopper_gemm.emulator()`).

    Returns:
        `b` itself if it needs no packing, else an aligned tensor of the same shape and values.

    Raises:
        ArgumentError: not a tensor of two dimensions or more.
        DTypeError: elements no kernel multiplies.
        DeviceError: not on a Hopper GPU, and no emulator is in force.
        AutogradError: `b` requires grad in grad mode.
    """
    if not isinstance(b, torch.Tensor) or b.dim() < 2:
        got = f"{b.dim()} dimensions" if isinstance(b, torch.Tensor) else type(b).__name__
        raise ArgumentError(sentence("prepack takes the right operand of a product", got=got, expected="(..., K, N)"))
    if b.dtype not in INPUT_NAMES:
        known = ", ".join(str(dtype) for dtype in INPUT_NAMES)
        raise DTypeError(sentence("no kernel multiplies this dtype", got=str(b.dtype), expected=f"one of {known}"))
    if b.requires_grad and torch.is_grad_enabled():
        raise AutogradError(
            sentence(
                "a packed copy has no gradient, and will not be cut off from the graph silently",
                got="b with requires_grad=True in grad mode",
                fix="pass b.detach(), or call it under torch.no_grad()",
            )
        )
    emulator = require_emulator() if b.device.type == "cpu" else None
    if emulator is None:
        card_of(b.get_device())
    shape, stride = (b.shape[-2], b.shape[-1]), (b.stride(-2), b.stride(-1))
    batch = b.stride(-3) if b.dim() == 3 and b.shape[0] > 1 else 0 if b.dim() == 2 else None
    aligned = b.data_ptr() % ALIGNMENT_BYTES == 0
    matrix = Matrix(shape, stride, b.element_size(), batch, aligned)
    if not b.numel() or operand_majors(matrix, 0):
        return b
    inner = -2 if packed_majors(matrix, 0)[0] == K_MAJOR else -1
    target, pitch = aligned_like(b, inner)
    run_copies([(b, target, pitch, 0) if inner == -1 else (b.mT, target.mT, pitch, 0)], emulator)
    return target
