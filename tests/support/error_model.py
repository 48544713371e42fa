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

    16-bit inputs and tf32: every instruction (16 or 8 of K) may cut 2^-23 off the accumulator. 3xTF32 leaves out the product
    of the two low parts, and promotes: four instructions cut, and then the sum is added with one rounding (2^-24), each 32
    of three times K, of which two thirds are small. fp16 sums have 11 bits. Integer sums are exact. Of fp8 only what the fp32
    additions lose: the rest depends on the data (`fp8_terms`).
    """
    return {
        "bf16": (k / 16 + 8) * 2.0**-23,
        "fp16": (k / 16 + 8) * 2.0**-23,
        "fp16_sums": (k / 16 + 8) * 2.0**-10,
        "tf32": (k / 8 + 8) * 2.0**-23,
        "3xtf32": (k / 32 + 8) * 2.0**-24 + 6 * 2.0**-23 + 2.0**-21,
        "fp8": (k / 128 + 8) * 2.0**-23,
        "fp8_fast": 8 * 2.0**-23,
        "int8": 0.0,
    }[kind]


FP8_STEP, FP8_PROMOTED = 32, 128  # of K in an instruction, and between two promotions to fp32
# An instruction keeps 13 bits below its largest term: each of 32 products and the accumulator may lose 2^-13 of that.
FP8_LOSS = (FP8_STEP + 1) * 2.0**-13


def fp8_terms(kind: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The largest term of every instruction of a @ b, added up: the sum so far, or the largest product.

    Sums of random signs stay small and lose little, those of equal products grow and lose a part that does not shrink with
    K. Sums that are cut into parts of K are smaller on the whole.
    """
    block, k = 4096, a.shape[-1]
    total = so_far = torch.zeros_like(a @ b)
    for first in range(0, k, block):
        parts = [x[..., first : first + block] for x in (a, b.mT)]
        parts = [torch.nn.functional.pad(x, (0, -x.shape[-1] % FP8_PROMOTED)) for x in parts]
        a_steps, b_steps = (x.unflatten(-1, (-1, FP8_STEP)).transpose(-2, -3) for x in parts)  # (..., steps, rows, 32)
        largest = a_steps.abs().amax(-1)[..., :, None] * b_steps.abs().amax(-1)[..., None, :]
        sums = a_steps @ b_steps.mT
        if kind == "fp8":
            sums = sums.unflatten(-3, (-1, FP8_PROMOTED // FP8_STEP))
            before = (sums.cumsum(-3) - sums).flatten(-4, -3)
        else:
            before = so_far.unsqueeze(-3) + sums.cumsum(-3) - sums
            so_far = so_far + sums.sum(-3)
        total = total + torch.maximum(before.abs(), largest).sum(-3)
    return total


def sums_spacing(kind: str, k: int) -> float:
    """What a sum may lose of itself however small it is: the distance of fp16's subnormals in every instruction."""
    return (k / 16 + 1) * 2.0**-24 if kind == "fp16_sums" else 0.0


def tf32(x: torch.Tensor) -> torch.Tensor:
    """float32 rounded to tf32's 10 mantissa bits, to nearest even, as a tensor map of TFLOAT32 loads it."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)
    return torch.where(torch.isfinite(x), rounded, x)
