"""`linear`: torch.nn.functional.linear by this library's kernels, bias and activation inside the kernel."""

from __future__ import annotations

from typing import Any

import torch

from .ops import matmul


def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *, activation: str | None = None
) -> torch.Tensor:
    """activation(x @ weight.t() + bias), rounded once.

    Args:
        x: (..., K).
        weight: (N, K), read in place.
        bias: (N,), of any floating dtype kernels add.
        activation: None, "relu", "gelu", "gelu_tanh", "silu" or "sigmoid".

    Returns:
        (..., N), of the dtype of `x`.
    """
    keywords: dict[str, Any] = {"bias": bias, "activation": activation}
    return matmul(x, weight.t(), **{name: value for name, value in keywords.items() if value is not None})
