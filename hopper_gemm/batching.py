"""The vmap rule of the product: folded into M where one operand has the batch dimension, otherwise one product each."""

from __future__ import annotations

from typing import Any

import torch


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
    """`torch.ops.hopper_gemm.matmul` with one more dimension, `in_dims[i]` of operand i, in front of the result."""
    operands = (a, b, bias, c, residual)
    dims = (*in_dims, *(None,) * (5 - len(in_dims)))[:5]
    op = torch.ops.hopper_gemm.matmul
    batch = info.batch_size
    a_dim, b_dim = dims[:2]
    alone = all(t is None for t in operands[2:])
    if alone and a_dim is not None and b_dim is None:
        folded = a.movedim(a_dim, 0)
        return op(folded.flatten(0, 1), b, **options).unflatten(0, (batch, -1)), 0
    if alone and a_dim is None and b_dim is not None:
        folded = b.movedim(b_dim, 1)
        return op(a, folded.flatten(1, 2), **options).unflatten(1, (batch, -1)), 1
    each = [
        op(*(t if d is None or t is None else t.select(d, i) for t, d in zip(operands, dims)), **options)
        for i in range(batch)
    ]
    return torch.stack(each), 0
