"""The vmap rule of the product: one batched product, or one each where an epilogue has operands of its own."""

from __future__ import annotations

from typing import Any

import torch

Operands = tuple[Any, ...]  # a, b and what the epilogue adds: bias, c, residual, or None


def batched_matmul(
    info: Any,
    in_dims: tuple[int | None, ...],
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    **options: Any,
) -> tuple[torch.Tensor, int]:
    """`torch.ops.hopper_gemm.matmul` with one more dimension, `in_dims[i]` of operand i, in front of the result.

    A promise about b is not passed on where b is mapped: what is mapped may be a copy that another rule has just made.
    """
    if in_dims[1] is not None:
        options.pop("static_b", None)
    operands: Operands = (a, b, bias, c, residual)
    dims = (*in_dims, *(None,) * (5 - len(in_dims)))[:5]
    op = torch.ops.hopper_gemm.matmul
    a_dim, b_dim = dims[:2]
    if _is_one_product(operands, dims):
        return _one_product(operands, a_dim, b_dim, options), 0
    each = [
        op(*(t if d is None or t is None else t.select(d, i) for t, d in zip(operands, dims)), **options)
        for i in range(info.batch_size)
    ]
    return torch.stack(each), 0


def _is_one_product(operands: Operands, dims: tuple[int | None, ...]) -> bool:
    """Whether every sample adds the same, to a result of at least two dimensions."""
    ranks = [t.dim() - (d is not None) for t, d in zip(operands[:2], dims)]
    shared = all(d is None for d in dims[2:]) and min(ranks) > 1
    return shared or all(t is None for t in operands[2:])


def _one_product(operands: Operands, a_dim: int | None, b_dim: int | None, options: dict[str, Any]) -> torch.Tensor:
    """The mapped dimension becomes the outermost of the batch."""
    a, b, *added = operands
    a_vector, b_vector = (t.dim() - (d is not None) == 1 for t, d in ((a, a_dim), (b, b_dim)))
    a, b = (t if d is None else t.movedim(d, 0) for t, d in ((a, a_dim), (b, b_dim)))
    a, b = a.unsqueeze(-2) if a_vector else a, b.unsqueeze(-1) if b_vector else b
    own = max(t.dim() - 2 - (d is not None) for t, d in ((a, a_dim), (b, b_dim)))
    a, b = (_with_batch_dims(t, own + 1) if d is not None else t for t, d in ((a, a_dim), (b, b_dim)))
    out = torch.ops.hopper_gemm.matmul(a, b, *added, **options)
    out = out.squeeze(-1) if b_vector else out
    return out.squeeze(-1 if b_vector else -2) if a_vector else out


def _with_batch_dims(tensor: torch.Tensor, count: int) -> torch.Tensor:
    """With `count` batch dimensions: ones are put behind the outermost."""
    while tensor.dim() - 2 < count:
        tensor = tensor.unsqueeze(1)
    return tensor
