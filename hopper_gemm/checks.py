"""Refusals: what the arguments of a product are, where they are, whether their memory overlaps. Nothing here allocates,
launches or writes.
"""

from __future__ import annotations

import torch

from .errors import ArgumentError, DeviceError, DTypeError, OverlapError, ShapeError, sentence
from .lowering import result_shape
from .operands import Extent, may_share_memory
from .problem import INPUT_NAMES, MIXED_INPUTS


def check_tensors(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    """Checks what does not depend on how the tensors lie in memory.

    Raises:
        ArgumentError, ShapeError, DTypeError, DeviceError.
    """
    _check_kinds(a, b, out)
    _check_dtypes(a, b)
    _check_devices(a, b, out)
    _check_shapes(a, b, out)


def check_memory(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    """Checks what depends on addresses: memory at all, and an out of its own.

    Raises:
        ArgumentError, OverlapError.
    """
    for name, tensor in (("a", a), ("b", b), ("out", out)):
        if tensor is not None and tensor.numel() and tensor.data_ptr() == 0:
            raise ArgumentError(
                sentence(
                    f"{name} has no memory of its own",
                    got=f"{type(tensor).__name__} with data_ptr() 0",
                    expected="an ordinary tensor",
                    fix="pass the tensor a wrapper holds",
                )
            )
    if out is None or not out.numel():
        return
    for name, tensor in (("a", a), ("b", b)):
        if tensor.numel() and may_share_memory(extent_of(out), extent_of(tensor)):
            raise OverlapError(
                sentence(
                    f"out and {name} overlap in memory: tiles of out would be written while {name} is still read",
                    got=f"out of shape {tuple(out.shape)} and {name} of shape {tuple(tensor.shape)} on the same memory",
                    expected="out to be memory of its own",
                    fix=f"leave out= away, or pass {name}.clone()",
                )
            )


def extent_of(tensor: torch.Tensor) -> Extent:
    return Extent(tensor.data_ptr(), tensor.element_size(), tuple(tensor.shape), tensor.stride())


def _check_kinds(a: object, b: object, out: object) -> None:
    for name, tensor in (("a", a), ("b", b), ("out", out)):
        if tensor is None and name == "out":
            continue
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(
                sentence(f"{name} is not a tensor", got=type(tensor).__name__, expected="a torch.Tensor on a GPU")
            )
        if tensor.layout != torch.strided:
            raise ArgumentError(
                sentence(f"{name} is not a dense tensor", got=str(tensor.layout), fix=f"to make one: {name}.to_dense()")
            )


def _check_dtypes(a: torch.Tensor, b: torch.Tensor) -> None:
    if a.dtype in INPUT_NAMES and (a.dtype == b.dtype or any({a.dtype, b.dtype} <= group for group in MIXED_INPUTS)):
        return
    if a.dtype != b.dtype:
        what, fix = "a and b differ in dtype", "convert one of them with .to()"
    else:
        what, fix = f"no kernel for dtype {a.dtype}", "convert with .to(torch.bfloat16), which rounds"
    raise DTypeError(
        sentence(
            what,
            got=f"a {a.dtype} and b {b.dtype}",
            expected="both torch.bfloat16, torch.float16 or torch.float32, or any two of torch.float8_e4m3fn and "
            "torch.float8_e5m2, or of torch.int8 and torch.uint8",
            fix=fix,
        )
    )


def _check_devices(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    devices = {"a": a.device, "b": b.device} | ({"out": out.device} if out is not None else {})
    if len(set(devices.values())) > 1:
        raise DeviceError(
            sentence(
                "the tensors are on different devices",
                got=", ".join(f"{name} on {device}" for name, device in devices.items()),
                expected="all on one CUDA device",
                fix=f"move them with .to('{next((d for d in devices.values() if d.type == 'cuda'), 'cuda')}')",
            )
        )
    if a.device.type not in ("cuda", "cpu", "meta"):
        raise DeviceError(
            sentence("no kernels for this device", got=str(a.device), expected="CUDA tensors on a Hopper GPU (sm_90)")
        )


def _check_shapes(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    shape = result_shape(a, b)
    if out is not None and tuple(out.shape) != shape:
        raise ShapeError(
            sentence(
                "out has the wrong shape",
                got=f"shape {tuple(out.shape)}",
                expected=f"shape {shape}; out is never resized",
            )
        )
