"""A product of tensors as one of matrices: torch.matmul's rules for 1-D operands and batches.

Which strides the matrices have is decided in csrc/bindings/product.h, where launches read it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from . import _extension
from .errors import ShapeError, sentence
from .operands import ALIGNMENT_BYTES, Matrix


@dataclass(frozen=True)
class Matrices:
    """`batches` products out (m, n) = a (m, k) @ b (k, n). A batch with one b may have become one product (rows folded)."""

    batches: int
    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    out: Matrix

    @property
    def is_empty(self) -> bool:
        return 0 in (self.batches, self.m, self.n, self.k)


def result_shape(a: torch.Tensor, b: torch.Tensor) -> tuple[int, ...]:
    """The shape of a @ b.

    Raises:
        ShapeError.
    """
    for name, tensor in (("a", a), ("b", b)):
        if tensor.dim() == 0:
            raise ShapeError(
                sentence(
                    "a product takes vectors, matrices and batches of matrices",
                    got=f"{name} with 0 dimensions",
                    expected="a of shape (..., M, K) and b of shape (..., K, N), or 1-D operands",
                    fix="to multiply by a number, use alpha= or torch.mul",
                )
            )
    k, k_of_b = a.shape[-1], b.shape[-2 if b.dim() > 1 else -1]
    if k != k_of_b:
        raise ShapeError(
            sentence(
                "the inner sizes differ",
                got=f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)}: K is {k} in a, {k_of_b} in b",
                expected="a of shape (..., M, K) and b of shape (..., K, N)",
                fix="if b is stored (N, K), pass b.mT: it is read in place" if b.dim() > 1 and k == b.shape[-1] else "",
            )
        )
    if a.dim() <= 2 >= b.dim():
        return (*a.shape[-2:-1], *(b.shape[-1:] if b.dim() > 1 else ()))
    try:
        batch = broadcast(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        raise ShapeError(
            sentence(
                "the batch dimensions do not broadcast",
                got=f"{tuple(a.shape[:-2])} of a and {tuple(b.shape[:-2])} of b",
                expected="dimensions that are equal, 1 or missing, counted from the right",
            )
        ) from None
    return (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.dim() > 1 else ()))


def broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Batch dimensions as torch.broadcast_shapes has them, which imports sympy: two seconds of a first call."""
    if not first or not second or first == second:
        return tuple(first or second)
    return tuple(torch.broadcast_shapes(first, second))


def matrices_of(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, options: object = None) -> Matrices:
    """The product of checked tensors. `out` may be a tensor without memory (meta), `options` the extension's `Epilogue`."""
    product: dict[str, Any] = _extension.load().product(a, b, out, options)
    m, n, k = product["m"], product["n"], product["k"]

    def matrix(tensor: torch.Tensor, rows: int, columns: int, sides: tuple[int, int, int, bool]) -> Matrix:
        batch, row_stride, column_stride, regular = sides
        aligned = tensor.is_meta or tensor.data_ptr() % ALIGNMENT_BYTES == 0
        distance = (batch if product["batches"] > 1 else 0) if regular else None
        return Matrix((rows, columns), (row_stride, column_stride), tensor.element_size(), distance, aligned)

    return Matrices(
        product["batches"], m, n, k,
        matrix(a, m, k, product["a"]), matrix(b, k, n, product["b"]), matrix(out, m, n, product["out"]),
    )  # fmt: skip
