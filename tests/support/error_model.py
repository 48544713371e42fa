"""How far a right result may be from the exact one, stated per type (docs/accuracy.md says why).

    |y - ref| <= u |ref| + spacing + slope (sums(kind, K) |alpha| (|a| @ |b|) + 2^-22 terms) + activation

`kind` is the arithmetic of the sum: the name of the input type, or "fp16_sums", "3xtf32", "fp8", "fp8_fast", "int8".
"""

from __future__ import annotations

import torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FP8 = (E4M3, E5M2)

# One rounding to nearest: relative to the value, and half the distance of subnormals.
ROUNDING = {
    torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24, E4M3: 2.0**-4, E5M2: 2.0**-3,
}  # fmt: skip
SPACING = {torch.bfloat16: 2.0**-134, torch.float16: 2.0**-25, torch.float32: 2.0**-150, E4M3: 2.0**-10, E5M2: 2.0**-17}
# Sums of integers are exact as long as no partial one is larger.
EXACT_SUMS = {"fp16_sums": 2.0**11, "fp8_fast": 2.0**13}

# Steepest slope of each activation, and its own error relative to |f(x)| (1 + |x|) and to |x|.
SLOPE = {None: 1.0, "relu": 1.0, "gelu": 1.13, "gelu_tanh": 1.13, "silu": 1.1, "sigmoid": 0.25}
ACTIVATION_ERROR = {
    None: (0.0, 0.0), "relu": (0.0, 0.0), "gelu": (2.0**-21, 2.0**-22), "gelu_tanh": (2.0**-21, 2.0**-22),
    "silu": (2.0**-20, 0.0), "sigmoid": (2.0**-20, 0.0),
}  # fmt: skip
FLUSHED = 2.0**-126
TERM_ERROR = 2.0**-22  # alpha, scales, c, bias and residual: a few fp32 operations each


def kind_of(a: torch.dtype, *, precision: str | None = None, fast: bool = False, accumulate: str | None = None) -> str:
    """The arithmetic a product of this input type is summed with."""
    if a in FP8:
        return "fp8_fast" if fast else "fp8"
    if a in (torch.int8, torch.uint8):
        return "int8"
    if a == torch.float32:
        return "3xtf32" if precision == "fp32" else "tf32"
    if accumulate == "fp16":
        return "fp16_sums"
    return {torch.bfloat16: "bf16", torch.float16: "fp16"}[a]


def sums(kind: str, k: int) -> float:
    """Largest error of a K-long sum, as a part of |a| @ |b|.

    16-bit inputs and tf32: every instruction (16 or 8 of K) may cut 2^-23 off the accumulator. 3xTF32 issues three and
    leaves out the product of the two low parts. The fp8 adder keeps 13 bits below the largest term, so every product may lose
    2^-13 of the sum, and half of that if all lose alike (all products equal: expanded operands): 128 of them between two
    promotions to fp32. Without promotion that many products would leave no bound; of random ones the losses of the
    accumulator count. fp16 sums have 11 bits. Integer sums are exact.
    """
    return {
        "bf16": (k / 16 + 8) * 2.0**-23,
        "fp16": (k / 16 + 8) * 2.0**-23,
        "fp16_sums": (k / 16 + 8) * 2.0**-10,
        "tf32": (k / 8 + 8) * 2.0**-23,
        "3xtf32": (3 * k / 8 + 8) * 2.0**-23 + 2.0**-21,
        "fp8": min(k, 128) * 2.0**-14 + (k / 128 + 8) * 2.0**-23,
        "fp8_fast": min(k, 128) * 2.0**-14 + (k / 32 + 4) * 2.0**-12,
        "int8": 0.0,
    }[kind]


def sums_spacing(kind: str, k: int) -> float:
    """What a sum may lose of itself however small it is: the distance of fp16's subnormals in every instruction."""
    return (k / 16 + 1) * 2.0**-24 if kind == "fp16_sums" else 0.0


def tf32(x: torch.Tensor) -> torch.Tensor:
    """float32 rounded to tf32's 10 mantissa bits, to nearest even, as a tensor map of TFLOAT32 loads it."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)
    return torch.where(torch.isfinite(x), rounded, x)
