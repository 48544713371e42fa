"""The right answer in float64 and how far a kernel may be from it (error_model.py holds the bounds of each type).

For 16-bit and fp8 outputs also norm(y - ref) <= norm(rounded(ref) - ref) + 2 norm(lost), which one dropped product breaks.
The distance to the nearest number of a type changes by at most what its argument changes by, so y = rounded(ref + e) is
within |rounded(ref) - ref| + 2 |e|, whatever the data. Only what a sum of random signs loses is put at a share of its bound,
a statement about many errors: it takes 256 different elements.
"""

from __future__ import annotations

import torch

from . import error_model

ROUNDING = error_model.ROUNDING
FROBENIUS_MIN_ELEMENTS = 256
# Of normal data sums lose at most 0.03 of their bound in the root mean square, of any type and K (benchmarks/accuracy.py). Where
# nearly all products have one sign it was up to 0.3.
FROBENIUS_SHARE, ONE_SIGN = 0.1, 0.5

ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
}


class Reference:
    """(activation(alpha (a @ b) scales + beta c + bias) + residual) scale_result in float64, on the operands' device.

    Takes the keywords of `matmul` and `scaled_matmul` that change the value. Batches as torch.matmul has them.
    """

    def __init__(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        c: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
        activation: str | None = None,
        residual: torch.Tensor | None = None,
        precision: str | None = None,
        use_fast_accum: bool = False,
        accumulate: str | None = None,
        scale_a: torch.Tensor | None = None,
        scale_b: torch.Tensor | None = None,
        scale_result: torch.Tensor | None = None,
    ) -> None:
        self.k = a.shape[-1]
        self.kind = error_model.kind_of(a.dtype, precision=precision, fast=use_fast_accum, accumulate=accumulate)
        a64, b64 = (x.double() for x in ((error_model.tf32(t) for t in (a, b)) if self.kind == "tf32" else (a, b)))
        scale = torch.ones((), dtype=torch.float64, device=a.device) * alpha
        for factor in (scale_a, scale_b):
            scale = scale if factor is None else scale * factor.double()
        product = (a64 @ b64) * scale
        magnitude = a64.abs() @ b64.abs()
        exact_sums = error_model.EXACT_SUMS.get(self.kind, 2.0**24)
        self.sums_integers_exactly = not magnitude.numel() or float(magnitude.max()) <= exact_sums
        self.magnitude = magnitude * scale.abs()
        terms = product.abs() if not (scale == 1).all() else torch.zeros_like(product)
        total = product
        for factor, term in ((beta, c), (1.0, bias)):
            if term is not None and factor != 0:
                total = total + factor * term.double()
                terms = terms + product.abs() + abs(factor) * term.double().abs()
        shaped = ACTIVATIONS[activation](total)
        relative, absolute = error_model.ACTIVATION_ERROR[activation]
        own = relative * shaped.abs() * (1 + total.abs()) + absolute * total.abs()
        if activation is not None:  # fp32 subnormals may become zero on the way
            own = own + error_model.FLUSHED * (1 + total.abs())
        self.exact = shaped if residual is None else shaped + residual.double()
        if residual is not None:
            own = own + error_model.TERM_ERROR * (shaped.abs() + residual.double().abs())
        slope = error_model.SLOPE[activation]
        sums = error_model.sums(self.kind, self.k) * self.magnitude + error_model.sums_spacing(self.kind, self.k) * scale.abs()
        if self.kind in ("fp8", "fp8_fast"):
            sums = sums + error_model.FP8_LOSS * error_model.fp8_terms(self.kind, a64, b64) * scale.abs()
        sums = slope * sums
        epilogue = slope * error_model.TERM_ERROR * terms + own
        if scale_result is not None:
            epilogue = epilogue + error_model.TERM_ERROR * self.exact.abs()
            self.exact, sums, epilogue = (x * scale_result.double() for x in (self.exact, sums, epilogue))
        self._before_rounding = sums + epilogue
        one_sign = product.norm() > ONE_SIGN * self.magnitude.norm()
        self._lost = torch.where(one_sign, 1.0, FROBENIUS_SHARE) * sums + epilogue

    def problem_with(self, y: torch.Tensor) -> str:
        """What is wrong with a result of normal data; empty if it is within the bounds."""
        if y.shape != self.exact.shape:
            return f"shape {tuple(y.shape)} instead of {tuple(self.exact.shape)}"
        if not y.dtype.is_floating_point:
            return self.inexact_integers(y)
        largest, given = torch.finfo(y.dtype).max, y.double()
        exact = self.exact.clamp(-largest, largest)
        if y.dtype not in error_model.FP8:  # the others overflow to infinity: here as good as the largest
            given = given.clamp(-largest, largest)
        difference = (given - exact).abs()
        outside = ~(difference <= self._bound(y.dtype, exact))  # also catches NaN
        if outside.any():
            return f"{int(outside.sum())} of {y.numel()} elements outside the bound, {_first(outside, y, exact)}"
        if y.dtype != torch.float32 and _are_many(exact):
            rounding = float((exact.to(y.dtype).double() - exact).norm())
            norm, limit = float(difference.norm()), rounding + 2 * float(self._lost.norm())
            if norm > limit:
                return f"norm of the error {norm:.3e} above {limit:.3e}: a product may be missing"
        return ""

    def worst(self, y: torch.Tensor) -> float:
        """The largest error as a part of its bound: at most 1 for a right result (floating-point outputs)."""
        return float(((y.double() - self.exact).abs() / self._bound(y.dtype, self.exact)).max())

    def _bound(self, output: torch.dtype, exact: torch.Tensor) -> torch.Tensor:
        u = ROUNDING[output]
        return u * exact.abs() + error_model.SPACING[output] + self._before_rounding * (1 + 2 * u)

    def _rounded(self, output: torch.dtype) -> torch.Tensor:
        """The exact result in the output's type. fp8 saturates; what torch's own cast does with it depends on its version."""
        largest = torch.finfo(output).max if output in error_model.FP8 else float("inf")
        return self.exact.clamp(-largest, largest).to(output)

    def inexact_integers(self, y: torch.Tensor) -> str:
        """What is wrong with a result of small integers, which must be the rounded exact one bit for bit."""
        expected = self._rounded(y.dtype)
        wrong = ~(y.double() == expected.double())
        if not wrong.any():
            return ""
        return f"{int(wrong.sum())} of {y.numel()} integers wrong, {_first(wrong, y, expected)}"


def _are_many(exact: torch.Tensor) -> bool:
    """Whether these are enough roundings, of different values, none of which outweigh the rest, for a statement about all."""
    if exact.numel() < FROBENIUS_MIN_ELEMENTS or exact.unique().numel() < 0.9 * exact.numel():
        return False
    square = exact.square()
    return bool(square.sum().square() >= FROBENIUS_MIN_ELEMENTS / 4 * square.square().sum())


def _first(wrong: torch.Tensor, y: torch.Tensor, expected: torch.Tensor) -> str:
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return f"first {list(where)}: {float(y[where])} instead of {float(expected[where])}"


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    as_integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}[first.element_size()]
    return torch.equal(first.contiguous().view(as_integers), second.contiguous().view(as_integers))
