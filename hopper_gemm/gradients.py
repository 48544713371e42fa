"""The two products of a backward, with torch.matmul's rules for vectors and batches, and sums over what was broadcast."""

from __future__ import annotations

from typing import Any

import torch

from . import ops
from .lowering import broadcast

# What holds for the products of a backward as for the forward one. Not schedule and config, which name a kernel of one
# layout, nor accumulate="fp16": a gradient is summed in fp32.
_KEPT = ("precision", "batch_invariant", "deterministic", "alpha")


def product(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, options: dict[str, Any]) -> torch.Tensor:
    """alpha a @ b with the forward product's options, in a dtype."""
    kept = {name: options[name] for name in _KEPT if name in options}
    return ops.matmul(a, b, out_dtype=dtype, **kept)


def sum_to(grad: torch.Tensor, like: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    """`factor` times the gradient of a tensor that was broadcast: summed in fp32 over the dimensions it was broadcast along, and
    rounded once."""
    extra = grad.dim() - like.dim()
    dims = [d for d in range(grad.dim()) if d < extra or (like.shape[d - extra] == 1 and grad.shape[d] != 1)]
    if dims:
        # torch sums 16-bit numbers in fp32 too, and rounds without another launch if they stay what they are.
        grad = grad.sum(dims, dtype=like.dtype if grad.dtype == like.dtype and factor == 1 else torch.float32)
    if grad.shape != like.shape:
        grad = grad.reshape(like.shape)
    return (grad if factor == 1 else grad * factor).to(like.dtype)


def grads_of_factors(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor, needed: tuple[bool, bool], options: dict[str, Any]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The gradients of a and b, of their dtypes. A gradient in fp32 is rounded to the dtype of the factor beside it.

    Where a factor was broadcast over batches, its gradient is a sum over them: one product with the batches along K.
    """
    if not any(needed):
        return None, None
    if a.dim() == 1:
        grad = grad.unsqueeze(-2) if b.dim() > 1 else grad.unsqueeze(-1).unsqueeze(-1)
    elif b.dim() == 1:
        grad = grad.unsqueeze(-1)
    rows = a.unsqueeze(0) if a.dim() == 1 else a
    columns = b.unsqueeze(1) if b.dim() == 1 else b
    grad = grad.to(a.dtype)
    of_a = of_b = None
    if needed[0]:
        of_a = _lying_like(rows, grad, columns.mT, options)
        of_a = of_a if a.dim() > 1 else of_a.squeeze(0)
    if needed[1]:
        of_b = _lying_like(columns, rows.mT, grad, options)
        of_b = of_b if b.dim() > 1 else of_b.squeeze(1)
    return of_a, of_b


def _lying_like(like: torch.Tensor, x: torch.Tensor, y: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """x @ y, summed to the shape of `like` and column-major if that is: torch copies a gradient that lies otherwise than its
    parameter, as the weight of a linear layer, which is stored (N, K) and multiplied as its transpose."""
    if like.stride(-2) == 1 and like.stride(-1) != 1:
        return _summed_over_batches(y.mT, x.mT, like.mT, options).mT
    return _summed_over_batches(x, y, like, options)


def _summed_over_batches(x: torch.Tensor, y: torch.Tensor, like: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """x @ y, summed over the batch dimensions that `like` lacks or has as one."""
    if x.dim() == y.dim() == like.dim() == 2:
        return product(x, y, like.dtype, options)
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    if batch == like.shape[:-2]:
        return product(x, y, like.dtype, options)
    if like.dim() == 2:  # the sum over all batches is a sum over a longer K
        x, y = (t.expand(*batch, *t.shape[-2:]) for t in (x, y))
        return product(x.movedim(-2, 0).flatten(1), y.flatten(0, -2), like.dtype, options)
    return sum_to(product(x, y, torch.float32, options), like)
