"""The right answer in float64 and how far a kernel may be from it.

Elementwise |y - ref| <= u |ref| + (K/16 + 8) 2^-23 (|a| @ |b|): one rounding to the output type, and the truncating
sums of the tensor cores. For 16-bit outputs also norm(y - ref) <= u/2 norm(ref), which one dropped product breaks: a
statement about many roundings (0.41 u on average, up to u for a single one), so it takes 256 elements.
"""

from __future__ import annotations

import torch

ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24}
FROBENIUS_MAX_K = 16384
FROBENIUS_MIN_ELEMENTS = 256


class Reference:
    """float64 product of two matrices, on their device."""

    def __init__(self, a: torch.Tensor, b: torch.Tensor) -> None:
        self.k = a.shape[1]
        a64, b64 = a.double(), b.double()
        self.exact = a64 @ b64
        self.magnitude = a64.abs() @ b64.abs()

    def problem_with(self, y: torch.Tensor) -> str:
        """What is wrong with a result of normal data; empty if it is within the bounds."""
        if y.shape != self.exact.shape:
            return f"shape {tuple(y.shape)} instead of {tuple(self.exact.shape)}"
        difference = (y.double() - self.exact).abs()
        u = ROUNDING[y.dtype]
        bound = u * self.exact.abs() + (self.k / 16 + 8) * 2.0**-23 * self.magnitude
        outside = ~(difference <= bound)  # also catches NaN
        if outside.any():
            row, column = (int(i) for i in outside.nonzero()[0])
            return (
                f"{int(outside.sum())} of {y.numel()} elements outside the bound, first [{row}, {column}]: "
                f"{float(y[row, column])} instead of {float(self.exact[row, column])}"
            )
        if y.dtype != torch.float32 and self.k <= FROBENIUS_MAX_K and y.numel() >= FROBENIUS_MIN_ELEMENTS:
            norm, limit = float(difference.norm()), 0.5 * u * float(self.exact.norm())
            if norm > limit:
                return f"norm of the error {norm:.3e} above {limit:.3e}: a product may be missing"
        return ""

    def inexact_integers(self, y: torch.Tensor) -> str:
        """What is wrong with a result of small integers, which must be the rounded exact one bit for bit."""
        expected = self.exact.to(y.dtype)
        if torch.equal(y, expected):
            return ""
        wrong = y != expected
        row, column = (int(i) for i in wrong.nonzero()[0])
        return (
            f"{int(wrong.sum())} of {y.numel()} integers wrong, first [{row}, {column}]: "
            f"{float(y[row, column])} instead of {float(expected[row, column])}"
        )


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    as_integers = {2: torch.int16, 4: torch.int32}[first.element_size()]
    return torch.equal(first.contiguous().view(as_integers), second.contiguous().view(as_integers))
