"""The kinds of products a benchmark names: what is multiplied, what comes out, how this library and torch are asked for it.

Both do the same arithmetic: tf32 on both sides, the same `use_fast_accum`, `_int_mm` for integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

_Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]


@dataclass(frozen=True)
class Arithmetic:
    """One kind.

    Args:
        kernel: the input type in kernel names.
        options: keywords of `matmul`.
        torch_product: writes torch's product of the same arithmetic to its third argument.
        tflops: measured ceiling of wgmma on an H200, sustained and in bursts (2026-11-29); None: bf16's of the model.
    """

    input: torch.dtype
    output: torch.dtype
    kernel: str
    torch_product: _Product
    options: dict[str, Any] = field(default_factory=dict)
    tflops: dict[str, float] | None = None

    def normal(self, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        """Random normal values; of integers, all of their range equally."""
        if self.input == torch.int8:
            return torch.randint(-128, 128, shape, generator=generator, device=generator.device, dtype=torch.int8)
        return torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float32).to(self.input)


def _mm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    if out.dtype == a.dtype:
        return torch.mm(a, b, out=out)
    return torch.mm(a, b, out_dtype=out.dtype, out=out)


def _mm_float32(switch: str) -> _Product:
    def product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
        before = torch.backends.cuda.matmul.fp32_precision
        torch.backends.cuda.matmul.fp32_precision = switch
        try:
            return torch.mm(a, b, out=out)
        finally:
            torch.backends.cuda.matmul.fp32_precision = before

    return product


def _scaled_mm(fast: bool) -> _Product:
    def product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
        one = _one(a.device)
        return torch._scaled_mm(a, b, one, one, out_dtype=out.dtype, use_fast_accum=fast, out=out)

    return product


def _int_mm(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    return torch._int_mm(a, b, out=out)


@functools.cache
def _one(device: torch.device) -> torch.Tensor:
    return torch.ones((), device=device)


_FP8_TFLOPS = {"sustained": 1667.0, "burst": 1798.0}
_E4M3 = torch.float8_e4m3fn
ARITHMETIC = {
    "bf16": Arithmetic(torch.bfloat16, torch.bfloat16, "bf16", _mm),
    "fp16": Arithmetic(torch.float16, torch.float16, "f16", _mm),
    "tf32": Arithmetic(
        torch.float32, torch.float32, "tf32", _mm_float32("tf32"), {"precision": "tf32"}, {"sustained": 439.0, "burst": 478.0}
    ),
    "fp32": Arithmetic(
        torch.float32, torch.float32, "tf32", _mm_float32("ieee"), {"precision": "fp32"}, {"sustained": 146.0, "burst": 159.0}
    ),
    "fp8": Arithmetic(_E4M3, torch.bfloat16, "e4m3", _scaled_mm(False), {}, _FP8_TFLOPS),
    "fp8_fast": Arithmetic(_E4M3, torch.bfloat16, "e4m3", _scaled_mm(True), {"use_fast_accum": True}, _FP8_TFLOPS),
    "int8": Arithmetic(torch.int8, torch.int32, "s8", _int_mm, {}, {"sustained": 1874.0, "burst": 1906.0}),
}
