"""What this build holds: a build of some kernels only lacks types, and some features are still to come."""

from __future__ import annotations

import functools
import inspect

import pytest

import hopper_gemm
from hopper_gemm.registry import all_kernels

KERNEL_INPUTS = {
    "bf16": "bf16", "fp16": "f16", "fp32": "tf32", "e4m3": "e4m3", "e5m2": "e5m2", "s8": "s8", "u8": "u8",
}  # fmt: skip


@functools.cache
def machine() -> str:
    """Where products of this process can run: "cuda" with a Hopper GPU, else "cpu" (the emulator)."""
    return "cuda" if hopper_gemm.is_available() else "cpu"


@functools.cache
def usable_kernels() -> tuple[hopper_gemm.Kernel, ...]:
    return tuple(k for k in all_kernels() if (k.compiled if machine() == "cuda" else k.emulated))


def dtypes() -> list[str]:
    """Input types with kernels."""
    built = {k.input for k in usable_kernels()}
    return [name for name, kernel in KERNEL_INPUTS.items() if kernel in built]


@functools.cache
def has(feature: str) -> bool:
    """Whether there are kernels of a type, matmul takes a keyword, or the package has a function."""
    if feature in KERNEL_INPUTS:
        return feature in dtypes()
    return feature in inspect.signature(hopper_gemm.matmul).parameters or callable(getattr(hopper_gemm, feature, None))


def needs(*features: str) -> pytest.MarkDecorator:
    missing = [f for f in features if not has(f)]
    return pytest.mark.skipif(bool(missing), reason=f"not in this build: {', '.join(missing)}")
