"""Products named as torch names them: `bmm` and `baddbmm`. Each is a `matmul`."""

from __future__ import annotations

import torch

from .errors import ShapeError, sentence
from .ops import matmul


def bmm(input: torch.Tensor, mat2: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Product of two batches of matrices, (B, M, K) and (B, K, N), in one launch. As torch.bmm: nothing is broadcast.

    Raises:
        ShapeError: they are not 3-D, or of different batches; and what `matmul` raises.
    """
    for name, tensor in (("input", input), ("mat2", mat2)):
        if isinstance(tensor, torch.Tensor) and tensor.dim() != 3:
            raise ShapeError(
                sentence(
                    "bmm takes two batches of matrices",
                    got=f"{name} of shape {tuple(tensor.shape)}",
                    expected="(B, M, K) and (B, K, N)",
                    fix="matmul takes any number of dimensions",
                )
            )
    if isinstance(input, torch.Tensor) and isinstance(mat2, torch.Tensor) and input.shape[0] != mat2.shape[0]:
        raise ShapeError(
            sentence(
                "the batches differ",
                got=f"input of shape {tuple(input.shape)} and mat2 of shape {tuple(mat2.shape)}",
                expected="(B, M, K) and (B, K, N)",
                fix="matmul broadcasts batches of 1",
            )
        )
    return matmul(input, mat2, out=out)
