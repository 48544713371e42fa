"""Derivatives of out = activation(alpha a @ b + beta c + bias) + residual, backward and forward, as products of the
same operator, so that they are differentiable again and run on the same kernels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from .activation import activation_backward, needs_preactivation
from .dispatcher import carries_tangent
from .errors import AutogradError, sentence
from .lowering import result_shape

DIFFERENTIABLE = (torch.bfloat16, torch.float16, torch.float32)
# What holds for the products of a backward as for the forward one. Not schedule and config, which name a kernel of one
# layout, nor accumulate="fp16": a gradient is summed in fp32.
_KEPT = ("precision", "batch_invariant", "deterministic")


def _product(a: torch.Tensor, b: torch.Tensor, like: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """alpha a @ b in the dtype of `like`. A gradient in fp32 is rounded to the dtype of the factor beside it."""
    keywords = {name: options[name] for name in (*_KEPT, "alpha") if name in options}
    return torch.ops.hopper_gemm.matmul(a, b, out_dtype=like.dtype, **keywords)


def _as_matrices(
    a: torch.Tensor, b: torch.Tensor, grad: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors as matrices of one row or column, and the gradient of their product with that row or column."""
    if b.dim() == 1:
        b, grad = b.unsqueeze(-1), grad.unsqueeze(-1)
    if a.dim() == 1:
        a, grad = a.unsqueeze(0), grad.unsqueeze(-2)
    return a, b, grad


def _gradient_of_a(a: torch.Tensor, b: torch.Tensor, grad: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    _, matrix, grad = _as_matrices(a, b, grad.to(b.dtype))
    return sum_to(_product(grad, matrix.mT, a, options), a)


def _gradient_of_b(a: torch.Tensor, b: torch.Tensor, grad: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    rows, matrix, grad = _as_matrices(a, b, grad.to(a.dtype))
    if matrix.dim() == 2:  # one b for the whole batch: its gradient is one product over all rows
        rows, grad = rows.flatten(0, -2), grad.flatten(0, -2)
    return sum_to(_product(rows.mT, grad, b, options), matrix).reshape(b.shape)


def sum_to(grad: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The gradient of a tensor that was broadcast: summed (in fp32 at least) over the dimensions it was broadcast along."""
    extra = grad.dim() - like.dim()
    dims = [d for d in range(grad.dim()) if d < extra or (like.shape[d - extra] == 1 and grad.shape[d] != 1)]
    if dims:
        grad = grad.sum(dims, keepdim=True, dtype=torch.float32)
    return grad.reshape(like.shape).to(like.dtype)


class Product(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc]
    """The autograd node of `torch.ops.hopper_gemm.matmul`.

    A single-level function, because it runs behind the dispatcher: functorch has already chosen the level it is for.
    """

    @staticmethod
    def of(keyset: Any, operands: tuple[torch.Tensor | None, ...], options: dict[str, Any]) -> torch.Tensor:
        """The product, recorded if it must be."""
        inside_transform = torch._C._are_functorch_transforms_active()
        if inside_transform:
            with enable_single_level_autograd_function():
                return Product.apply(*operands, options, keyset, True)  # type: ignore[no-any-return]
        if _is_differentiated(operands):
            return Product.apply(*operands, options, keyset, False)  # type: ignore[no-any-return]
        return _below_autograd(keyset, operands, options)

    @staticmethod
    def forward(ctx, a, b, bias, c, residual, options, keyset, inside_transform):  # type: ignore[no-untyped-def]
        operands = (a, b, bias, c, residual)
        if inside_transform:  # the levels below record their own graphs
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                out = _below_autograd(keyset, operands, options)
        else:
            out = _below_autograd(keyset, operands, options)
        ctx.options = options
        ctx.set_materialize_grads(False)
        activation = options.get("activation")
        keep_out = activation is not None and not needs_preactivation(activation, residual)
        kept = (*operands, out if keep_out else None)
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        return out

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        a, b, bias, c, residual, out = ctx.saved_tensors
        nothing = (None,) * 8
        if grad is None:
            return nothing
        options = ctx.options
        needs_a, needs_b, needs_bias, needs_c, needs_residual = ctx.needs_input_grad[:5]
        grads: list[torch.Tensor | None] = [None] * 5
        if needs_residual:
            grads[4] = sum_to(grad, residual)
        if needs_a or needs_b or needs_bias or needs_c:
            grad = through_activation(grad, a, b, bias, c, out, options)
        if needs_a:
            grads[0] = _gradient_of_a(a, b, grad, options)
        if needs_b:
            grads[1] = _gradient_of_b(a, b, grad, options)
        if needs_bias:
            grads[2] = sum_to(grad, bias)
        if needs_c:
            grads[3] = sum_to(grad, c) * options.get("beta", 0.0)
        return (*grads, None, None, None)

    @staticmethod
    def jvp(ctx, a_t, b_t, bias_t, c_t, residual_t, *_):  # type: ignore[no-untyped-def]
        a, b, bias, c, _residual, out = ctx.saved_tensors
        options = ctx.options
        dtype = options.get("out_dtype") or a.dtype
        like = torch.empty((), dtype=dtype, device="meta")
        shape = result_shape(a, b)
        tangents = []
        if a_t is not None:
            tangents.append(_product(a_t, b, like, options))
        if b_t is not None:
            tangents.append(_product(a, b_t, like, options))
        if c_t is not None:
            tangents.append((c_t * options.get("beta", 0.0)).expand(shape))
        if bias_t is not None:
            tangents.append(bias_t.expand(shape))
        tangent = None
        if tangents:
            tangent = through_activation(sum(tangents), a, b, bias, c, out, options)
        if residual_t is not None:
            tangent = residual_t.expand(shape) if tangent is None else tangent + residual_t
        return None if tangent is None else tangent.to(dtype)


def _is_differentiated(operands: tuple[torch.Tensor | None, ...]) -> bool:
    recorded = torch.is_grad_enabled()
    wanted = [t for t in operands if t is not None and ((recorded and t.requires_grad) or carries_tangent(t))]
    refused = [t for t in operands[:2] if t is not None and t.dtype not in DIFFERENTIABLE]
    if wanted and refused and any(t is operand for t in wanted for operand in operands[:4]):
        raise AutogradError(
            sentence(
                "there is no derivative of a product of this dtype",
                got=f"a {operands[0].dtype} and b {operands[1].dtype}",  # type: ignore[union-attr]
                expected="bfloat16, float16 or float32 factors",
                fix="call it under torch.no_grad(), or detach its operands",
            )
        )
    return bool(wanted)


def _below_autograd(keyset: Any, operands: tuple[torch.Tensor | None, ...], options: dict[str, Any]) -> torch.Tensor:
    with torch._C._AutoDispatchBelowAutograd():
        op = torch.ops.hopper_gemm.matmul.default
        return op.redispatch(keyset & torch._C._after_autograd_keyset, *operands, **options)  # type: ignore[no-any-return]


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
    keywords = {name: value for name, value in options.items() if name != "activation"}
    argument = torch.ops.hopper_gemm.matmul(a, b, bias, c, **keywords)
    return activation_backward(activation, grad, argument, from_value=False)
