"""How `torch.ops.hopper_gemm.matmul` runs on DTensors: which shards of its operands give which shard of the result.

Registered when the first DTensor arrives, since importing torch.distributed.tensor takes long.
"""

from __future__ import annotations

import functools
from typing import Any

import torch


@functools.cache
def register_sharding_rules() -> None:
    """Tells DTensor about the product; done once."""
    from torch.distributed.tensor.experimental import register_sharding

    register_sharding(torch.ops.hopper_gemm.matmul.default)(matmul_shardings)


def matmul_shardings(
    a: Any, b: Any, bias: Any = None, c: Any = None, residual: Any = None, **options: Any
) -> list[tuple[list[Any], list[Any]]]:
    """Along one dimension of the mesh: (placements of the result, placements of a, b, bias, c, residual).

    What is added is sharded as the result is, where it has the dimension. A result that is a sum over ranks is possible
    without an activation: the addends are then the shares of a sum as well.
    """
    from torch.distributed.tensor import Partial, Replicate, Shard

    rows, columns = a.ndim > 1, b.ndim > 1
    batch = max(a.ndim, b.ndim) - 2 if rows and columns else 0
    ndim = batch + rows + columns
    shape = _result_shape(a, b)

    def added(tensor: Any, dim: int | None) -> Any:
        """Placement of an addend, or of a batched factor, beside a result sharded along `dim`, or beside a partial one (None)."""
        if tensor is None:
            return None
        if dim is None:
            return Partial()
        own = dim - (ndim - tensor.ndim)
        return Shard(own) if own >= 0 and tensor.shape[own] == shape[dim] else Replicate()

    def rule(result: Any, of_a: Any, of_b: Any, dim: int | None) -> tuple[list[Any], list[Any]]:
        return [result], [of_a, of_b, *(added(t, dim) for t in (bias, c, residual))]

    every = [Replicate() if t is not None else None for t in (a, b, bias, c, residual)]
    rules = [([Replicate()], every)]
    if rows:
        rules.append(rule(Shard(batch), Shard(a.ndim - 2), Replicate(), batch))
    if columns:
        rules.append(rule(Shard(ndim - 1), Replicate(), Shard(b.ndim - 1), ndim - 1))
    for dim in range(batch):
        rules.append(rule(Shard(dim), added(a, dim), added(b, dim), dim))
    if options.get("activation") is None:
        inner = Shard(a.ndim - 1), Shard(b.ndim - 2 if columns else 0)
        rules.append(rule(Partial(), *inner, None))
    return rules


def _result_shape(a: Any, b: Any) -> tuple[int, ...]:
    batch = torch.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])) if a.ndim > 1 and b.ndim > 1 else ()
    return (*batch, *((a.shape[-2],) if a.ndim > 1 else ()), *((b.shape[-1],) if b.ndim > 1 else ()))
