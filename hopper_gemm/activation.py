"""Derivatives of the activations an epilogue applies. All are torch's own functions, differentiable again."""

from __future__ import annotations

from collections.abc import Callable

import torch

_aten = torch.ops.aten


def _silu_backward(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    if not torch.is_grad_enabled():
        return _aten.silu_backward(grad, x)
    sigmoid = torch.sigmoid(x.float())  # torch's own has no second derivative
    return (grad * sigmoid * (1 + x * (1 - sigmoid))).to(grad.dtype)


# From the gradient of the value and: the value itself (relu, sigmoid), or what the activation was applied to.
_FROM_VALUE: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "relu": lambda grad, value: _aten.threshold_backward(grad, value, 0),
    "sigmoid": lambda grad, value: _aten.sigmoid_backward(grad, value),
}
_FROM_ARGUMENT: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "relu": _FROM_VALUE["relu"],
    "sigmoid": lambda grad, x: _aten.sigmoid_backward(grad, torch.sigmoid(x)),
    "gelu": lambda grad, x: _aten.gelu_backward(grad, x),
    "gelu_tanh": lambda grad, x: _aten.gelu_backward(grad, x, approximate="tanh"),
    "silu": _silu_backward,
}


def needs_preactivation(activation: str, residual: torch.Tensor | None) -> bool:
    """Whether the derivative needs what the activation was applied to; otherwise the output is enough."""
    return residual is not None or activation not in _FROM_VALUE


def activation_backward(
    activation: str, grad: torch.Tensor, tensor: torch.Tensor, *, from_value: bool
) -> torch.Tensor:
    """grad times the derivative at `tensor`: the activation's value if `from_value`, else its argument."""
    table = _FROM_VALUE if from_value else _FROM_ARGUMENT
    return table[activation](grad, tensor)
