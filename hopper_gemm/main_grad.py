"""A linear layer whose weight gradient is added to a float32 `main_grad` by the product itself (beta = 1)."""

from __future__ import annotations

from typing import Any

import torch

from .autograd import through_activation
from .errors import OptionError, sentence
from .gradients import sum_to
from .ops import matmul
from .products import linear


def linear_into_main_grad(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    main_grad: torch.Tensor,
    *,
    activation: str | None = None,
) -> torch.Tensor:
    """`functional.linear`, but its backward does `main_grad += grad.t() @ x` in fp32 and leaves `weight.grad` alone.

    For eager training with several backward passes per step: the gradient is neither rounded to the weight's dtype nor
    written and read once more. There is no double backward.

    Raises:
        OptionError: main_grad is not a float32 tensor of the weight's shape, or the call is being compiled.
    """
    if torch.compiler.is_compiling():
        raise OptionError(
            sentence("main_grad is for eager code", fix="set accumulate_main_grad = False under torch.compile")
        )
    if main_grad.dtype != torch.float32 or main_grad.shape != weight.shape or main_grad.requires_grad:
        raise OptionError(
            sentence(
                "main_grad cannot take this gradient",
                got=f"main_grad {main_grad.dtype} of shape {tuple(main_grad.shape)}, weight of shape {tuple(weight.shape)}",
                expected="a float32 tensor of the weight's shape that requires no grad",
            )
        )
    return _Linear.apply(x, weight, bias, main_grad, activation)  # type: ignore[no-any-return, no-untyped-call]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x, weight, bias, main_grad, activation):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, weight, bias)
        ctx.main_grad, ctx.activation = main_grad, activation
        return linear(x, weight, bias, activation=activation)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad):  # type: ignore[no-untyped-def]
        x, weight, bias = ctx.saved_tensors
        grad = through_activation(grad, x, weight.t(), bias, None, None, {"activation": ctx.activation})
        if ctx.needs_input_grad[1]:
            rows = grad.reshape(-1, grad.shape[-1]).to(x.dtype)
            matmul(rows.t(), x.reshape(-1, x.shape[-1]), c=ctx.main_grad, beta=1.0, out=ctx.main_grad)
        return (
            matmul(grad.to(weight.dtype), weight, out_dtype=x.dtype) if ctx.needs_input_grad[0] else None,
            None,
            sum_to(grad, bias) if ctx.needs_input_grad[2] else None,
            None,
            None,
        )
