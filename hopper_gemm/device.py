"""Is there a Hopper GPU, and what is it like."""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import _extension
from .errors import DeviceError, sentence
from .registry import all_kernels
from .selector import Card


def is_available(device: int | str | torch.device | None = None) -> bool:
    """True if `matmul` can run on this CUDA device (the current one if None). Never raises and needs no driver."""
    return unavailable_reason(device) == ""


def unavailable_reason(device: int | str | torch.device | None = None) -> str:
    """Why `matmul` cannot run on a device, in a sentence; empty if it can."""
    index = device_index(device)
    if index is None:
        return f"{device} is not a CUDA device"
    info = device_info(index)
    if not info["available"]:
        return str(info["reason"])
    if not any(kernel.compiled for kernel in all_kernels()):
        return "this build holds no GPU kernels (it was made without nvcc): rebuild where nvcc 13 is found"
    return ""


def device_index(device: int | str | torch.device | None) -> int | None:
    """Index of a CUDA device, None if `device` is of another kind."""
    if isinstance(device, int):
        return device
    parsed = torch.device("cuda" if device is None else device)
    if parsed.type != "cuda":
        return None
    if parsed.index is not None:
        return parsed.index
    return torch.cuda.current_device() if torch.cuda.is_available() and torch.cuda.is_initialized() else 0


@functools.cache
def device_info(index: int) -> dict[str, Any]:
    """What the driver says about a device; made once, without creating a CUDA context."""
    return dict(_extension.load().device_info(index))


@functools.cache
def card_of(index: int) -> Card:
    """The properties of a usable device.

    Raises:
        DeviceError: it is not a Hopper GPU, or the driver or the build cannot use it.
    """
    reason = unavailable_reason(index)
    if reason:
        raise DeviceError(
            sentence(
                "hopper_gemm cannot run on this device",
                got=f"cuda:{index}: {reason}",
                expected="a Hopper GPU (H100, H200: sm_90, compute capability 9.0)",
                fix="to try the kernels without one, pass CPU tensors inside hopper_gemm.emulator()",
            )
        )
    info = device_info(index)
    return Card(name=str(info["name"]), sm_count=int(info["sm_count"]), l2_bytes=int(info["l2_bytes"]))
