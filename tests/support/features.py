"""What this build can do, asked of it by small calls: tests of what is still missing wait for it instead of failing."""

from __future__ import annotations

import functools
import inspect

import pytest
import torch

import hopper_gemm
from hopper_gemm.registry import all_kernels

KERNEL_INPUTS = {
    "bf16": "bf16", "fp16": "f16", "fp32": "tf32", "e4m3": "e4m3", "e5m2": "e5m2", "s8": "s8", "u8": "u8",
}  # fmt: skip


def machine() -> str:
    """Where products of this process can run: "cuda" with a Hopper GPU, else "cpu" (the emulator)."""
    return "cuda" if hopper_gemm.is_available() else "cpu"


def usable_kernels() -> list[hopper_gemm.Kernel]:
    return [k for k in all_kernels() if (k.compiled if machine() == "cuda" else k.emulated)]


def dtypes() -> list[str]:
    """Input types with kernels."""
    built = {k.input for k in usable_kernels()}
    return [name for name, kernel in KERNEL_INPUTS.items() if kernel in built]


@functools.cache
def has(feature: str) -> bool:
    """Whether matmul takes a keyword, the package has a function, or a kind of operand runs."""
    if feature in inspect.signature(hopper_gemm.matmul).parameters or callable(getattr(hopper_gemm, feature, None)):
        return True
    if feature in KERNEL_INPUTS:
        return feature in dtypes()
    device = machine()
    ones = functools.partial(torch.ones, device=device, dtype=torch.bfloat16)
    probes = {
        "strides": lambda: (ones(8, 15)[:, 1::2], ones(7, 9)),
        "batches": lambda: (ones(2, 8, 8), ones(8, 8)),
        "vectors": lambda: (ones(8), ones(8, 8)),
        "out_strides": lambda: (ones(8, 8), ones(8, 8)),
        "3xtf32": lambda: (ones(8, 8).float(), ones(8, 8).float()),
    }
    if feature not in probes:
        return False
    a, b = probes[feature]()
    options = {"out_strides": {"out": ones(8, 16)[:, ::2]}, "3xtf32": {"precision": "fp32"}}.get(feature, {})
    try:
        with hopper_gemm.emulator():
            y = hopper_gemm.matmul(a, b, **options)
    except (hopper_gemm.HopperGemmError, TypeError):
        return False
    return bool((y == a.shape[-1]).all())


def needs(*features: str) -> pytest.MarkDecorator:
    missing = [f for f in features if not has(f)]
    return pytest.mark.skipif(bool(missing), reason=f"not in this build: {', '.join(missing)}")
