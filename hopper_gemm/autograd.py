"""Derivatives of out = activation(alpha a @ b + beta c + bias) + residual, backward and forward, as products of this
library, so that they are differentiable again and run on the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from . import ops
from .activation import activation_backward, needs_preactivation
from .epilogue import Epilogue
from .errors import AutogradError, sentence
from .gradients import grads_of_factors, product, sum_to
from .lowering import result_shape

Operands = tuple[torch.Tensor | None, ...]  # a, b, bias, c, residual
Run = Callable[[Operands, dict[str, Any]], torch.Tensor]
DIFFERENTIABLE = (torch.bfloat16, torch.float16, torch.float32)


def carries_tangent(tensor: torch.Tensor) -> bool:
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def run(operands: Operands, options: dict[str, Any]) -> torch.Tensor:
    """The product itself, by the eager function."""
    a, b, bias, c, residual = operands
    assert a is not None and b is not None
    return ops.matmul(a, b, **{**_tensors(bias, c, residual), **options})


def recorded(operands: Operands, options: dict[str, Any]) -> torch.Tensor:
    """The product as a node of the graph, past the dispatcher: for calls that need to be recorded and nothing else."""
    check_dtypes(operands)
    return Product.apply(*operands, options, run, False)  # type: ignore[no-any-return]


def below_autograd(keyset: Any, operands: Operands, options: dict[str, Any]) -> torch.Tensor:
    """What the dispatcher's autograd key does: the product on the keys below, recorded if it must be."""

    def redispatch(operands: Operands, options: dict[str, Any]) -> torch.Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            op = torch.ops.hopper_gemm.matmul.default
            return op.redispatch(keyset & torch._C._after_autograd_keyset, *operands, **options)  # type: ignore[no-any-return]

    if torch._C._are_functorch_transforms_active():
        check_dtypes(operands)
        with enable_single_level_autograd_function():
            return Product.apply(*operands, options, redispatch, True)  # type: ignore[no-any-return]
    grad_mode = torch.is_grad_enabled()
    if any(t is not None and ((grad_mode and t.requires_grad) or carries_tangent(t)) for t in operands):
        check_dtypes(operands)
        return Product.apply(*operands, options, redispatch, False)  # type: ignore[no-any-return]
    return redispatch(operands, options)


def check_dtypes(operands: Operands) -> None:
    """Refuses a derivative of factors whose dtype has none.

    Raises:
        AutogradError: fp8 or integer factors.
    """
    refused = [t for t in operands[:2] if t is not None and t.dtype not in DIFFERENTIABLE]
    if refused:
        raise AutogradError(
            sentence(
                "there is no derivative of a product of this dtype",
                got=" and ".join(str(t.dtype) for t in operands[:2] if t is not None),
                expected="bfloat16, float16 or float32 factors",
                fix="call it under torch.no_grad(), or detach its operands",
            )
        )


class Product(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc]
    """The autograd node of a product.

    A single-level function, because functorch has chosen the level it is for before the dispatcher comes here.
    """

    @staticmethod
    def forward(ctx, a, b, bias, c, residual, options, run, inside_transform):  # type: ignore[no-untyped-def]
        operands = (a, b, bias, c, residual)
        if inside_transform:  # the levels below record their own graphs
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                out = run(operands, options)
        else:
            out = run(operands, options)
        ctx.options = options
        ctx.set_materialize_grads(False)
        kept = (*operands, out if _keeps_out(options.get("activation"), residual) else None)
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        return out

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        if grad is None:
            return (None,) * 8
        *operands, out = ctx.saved_tensors
        return *gradients(grad, tuple(operands), out, ctx.needs_input_grad[:5], ctx.options), None, None, None

    @staticmethod
    def jvp(ctx, a_t, b_t, bias_t, c_t, residual_t, *_):  # type: ignore[no-untyped-def]
        a, b, bias, c, _residual, out = ctx.saved_tensors
        options = ctx.options
        dtype = options.get("out_dtype") or a.dtype
        tangents = []
        if a_t is not None:
            tangents.append(product(a_t, b, dtype, options))
        if b_t is not None:
            tangents.append(product(a, b_t, dtype, options))
        if c_t is not None:
            tangents.append(c_t * options.get("beta", 0.0))
        if bias_t is not None:
            tangents.append(bias_t)
        tangent = None
        if tangents:
            tangent = through_activation(_filled(sum(tangents[1:], tangents[0]), a, b), a, b, bias, c, out, options)
        if residual_t is not None:
            tangent = _filled(residual_t, a, b) if tangent is None else tangent + residual_t
        return None if tangent is None else tangent.to(dtype)


def gradients(grad, operands, out, needed, options):  # type: ignore[no-untyped-def]
    """Of the operands, where they are needed. `out`: the result, if it was kept."""
    a, b, bias, c, residual = operands
    needs_a, needs_b, needs_bias, needs_c, needs_residual = needed
    of_residual = sum_to(grad, residual) if needs_residual else None
    if needs_a or needs_b or needs_bias or needs_c:
        grad = through_activation(grad, a, b, bias, c, out, options)
    of_a, of_b = grads_of_factors(grad, a, b, (needs_a, needs_b), options)
    of_bias = sum_to(grad, bias) if needs_bias else None
    of_c = sum_to(grad, c, options.get("beta", 0.0)) if needs_c else None
    return of_a, of_b, of_bias, of_c, of_residual


def of_call(
    choices: dict[str, Any], a: torch.Tensor, b: torch.Tensor, epilogue: Epilogue | None
) -> tuple[Callable[..., Operands] | None, bool]:
    """The formulas of a call that is remembered, as csrc/bindings/recording.h wants them, and whether they read the result."""
    if {a.dtype, b.dtype} - set(DIFFERENTIABLE) or (epilogue and epilogue.is_scaled):
        return None, False

    def formulas(alpha, beta, activation, grad, operands, out, needed):  # type: ignore[no-untyped-def]
        values = (("alpha", alpha, 1.0), ("beta", beta, 0.0), ("activation", activation, None))
        options = choices | {name: value for name, value, default in values if value != default}
        return gradients(grad, operands, out, needed, options)

    return formulas, epilogue is not None and _keeps_out(epilogue.activation, epilogue.residual)


def _keeps_out(activation: str | None, residual: torch.Tensor | None) -> bool:
    return activation is not None and not needs_preactivation(activation, residual)


def through_activation(grad, a, b, bias, c, out, options):  # type: ignore[no-untyped-def]
    """A gradient (or tangent) of the activation's value, times the activation's derivative.

    Where the derivative is not a function of the output, what went into the activation is computed again: one product
    more instead of a tensor kept for every layer.
    """
    activation = options.get("activation")
    if activation is None:
        return grad
    if out is not None:
        return activation_backward(activation, grad, out, from_value=True)
    kept = {k: v for k, v in options.items() if k not in ("activation", "schedule", "config", "static_b")}
    argument = run((a, b, bias, c, None), kept)
    return activation_backward(activation, grad, argument, from_value=False)


def _tensors(bias: torch.Tensor | None, c: torch.Tensor | None, residual: torch.Tensor | None) -> dict[str, torch.Tensor]:
    named = (("bias", bias), ("c", c), ("residual", residual))
    return {name: tensor for name, tensor in named if tensor is not None}


def _filled(tangent: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The tangent of an addend, of the result's shape."""
    return tangent.expand(torch.broadcast_shapes(tangent.shape, result_shape(a, b)))
