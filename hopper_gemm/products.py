"""Products named as torch names them, and the scaled product of narrow types. Each is a `matmul`."""

from __future__ import annotations

from typing import Any

import torch

from .choices import Choices
from .epilogue import Epilogue
from .errors import ShapeError, sentence
from .known import repeated
from .ops import long_way, matmul


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    activation: str | None = None,
    static_weight: bool = False,
) -> torch.Tensor:
    """activation(x @ weight.t() + bias), as torch.nn.functional.linear with the activation in the same kernel.

    Args:
        x: (..., K).
        weight: (N, K), read in place.
        bias: (N,).
        activation: None, "relu", "gelu", "gelu_tanh", "silu" or "sigmoid".
        static_weight: `static_b` of `matmul`: no work that may still be running on this stream writes `weight`.

    Returns:
        (..., N), of the dtype of `x`.
    """
    columns = weight.t() if weight.dim() == 2 else weight
    return matmul(x, columns, bias=bias, activation=activation, static_b=static_weight)


def addmm(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """beta * input + alpha * (mat1 @ mat2), as torch.addmm, in fp32 before one rounding.

    Args:
        input: broadcasts to (M, N), of any floating dtype kernels read; not read at all if beta is 0.
        mat1: (M, K).
        mat2: (K, N).
        out: (M, N) tensor to write. It may be `input` itself, which is then updated in place.
    """
    for name, tensor in (("mat1", mat1), ("mat2", mat2)):
        if isinstance(tensor, torch.Tensor) and tensor.dim() != 2:
            raise ShapeError(
                sentence(
                    "addmm takes two matrices",
                    got=f"{name} with {tensor.dim()} dimensions, shape {tuple(tensor.shape)}",
                    expected="mat1 of shape (M, K) and mat2 of shape (K, N)",
                )
            )
    return matmul(mat1, mat2, c=input, beta=beta, alpha=alpha, out=out)


def scaled_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    scale_result: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
    **choices: Any,
) -> torch.Tensor:
    """activation((scale_a * a) @ (scale_b * b) + bias) * scale_result, the scales applied to the fp32 sums.

    The arguments mean what they mean to torch._scaled_mm.

    Args:
        scale_a: float32, one element or (M, 1), one for each row of `a`.
        scale_b: float32, one element or (1, N), one for each column of `b`.
        bias: (N,), (1, N) or (M, 1), not scaled.
        scale_result: one float32, for outputs of 8 bits: what out is multiplied with before it is rounded.
        out, choices: `out_dtype`, `use_fast_accum`, `schedule`, `config`, ... of `matmul`.
    """
    epilogue = Epilogue(
        bias=bias, activation=activation, scale_a=scale_a, scale_b=scale_b, scale_result=scale_result
    )
    given = Choices(**choices)
    result = repeated(given, a, b, out, *epilogue)
    return long_way(epilogue, a, b, out, given) if result is None else result


def bmm(input: torch.Tensor, mat2: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Product of two batches of matrices, (B, M, K) and (B, K, N), in one launch. As torch.bmm: nothing is broadcast.

    Raises:
        ShapeError: they are not 3-D, or of different batches; and what `matmul` raises.
    """
    _check_batches("bmm", input=input, mat2=mat2)
    return matmul(input, mat2, out=out)


def baddbmm(
    input: torch.Tensor,
    batch1: torch.Tensor,
    batch2: torch.Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """beta * input + alpha * (batch1 @ batch2), as torch.baddbmm, in one launch and in fp32 before one rounding.

    Args:
        input: broadcasts to (B, M, N); not read at all if beta is 0. It may be `out`, which is then updated in place.
    """
    _check_batches("baddbmm", batch1=batch1, batch2=batch2)
    return matmul(batch1, batch2, c=input, beta=beta, alpha=alpha, out=out)


def _check_batches(function: str, **operands: torch.Tensor) -> None:
    shapes = {name: tuple(t.shape) for name, t in operands.items() if isinstance(t, torch.Tensor)}
    for name, shape in shapes.items():
        if len(shape) != 3:
            raise ShapeError(
                sentence(
                    f"{function} takes two batches of matrices",
                    got=f"{name} of shape {shape}",
                    expected="(B, M, K) and (B, K, N)",
                    fix="matmul takes any number of dimensions",
                )
            )
    if len({shape[0] for shape in shapes.values()}) > 1:
        raise ShapeError(
            sentence(
                "the batches differ",
                got=" and ".join(f"{name} of shape {shape}" for name, shape in shapes.items()),
                expected="(B, M, K) and (B, K, N)",
                fix="matmul broadcasts batches of 1",
            )
        )
