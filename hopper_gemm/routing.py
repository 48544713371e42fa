"""`route`: products that code inside a region asks torch for are computed by this library, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .errors import HopperGemmError
from .ops import matmul
from .products import linear

_Tensor = torch.Tensor


class _NotOurs(Exception):
    """A call that torch refuses, or computes otherwise than by a product of ours."""


def _check_dimensions(wanted: int, *tensors: _Tensor) -> None:
    if any(t.dim() != wanted for t in tensors):
        raise _NotOurs(f"arguments that are not {wanted}-D")


# With torch's names for the arguments, which may be given by keyword.


def _mm(input: _Tensor, mat2: _Tensor) -> _Tensor:
    _check_dimensions(2, input, mat2)
    return matmul(input, mat2)


def _bmm(input: _Tensor, mat2: _Tensor) -> _Tensor:
    _check_dimensions(3, input, mat2)
    return matmul(input, mat2)


def _matmul(input: _Tensor, other: _Tensor) -> _Tensor:
    return matmul(input, other)


def _addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: float = 1, alpha: float = 1) -> _Tensor:
    _check_dimensions(2, mat1, mat2)
    return matmul(mat1, mat2, c=input, beta=beta, alpha=alpha)


def _baddbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: float = 1, alpha: float = 1) -> _Tensor:
    _check_dimensions(3, batch1, batch2)
    return matmul(batch1, batch2, c=input, beta=beta, alpha=alpha)


def _linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    return linear(input, weight, bias)


_ROUTES: dict[Any, tuple[str, Callable[..., _Tensor]]] = {
    torch.mm: ("mm", _mm),
    _Tensor.mm: ("mm", _mm),
    torch.bmm: ("bmm", _bmm),
    _Tensor.bmm: ("bmm", _bmm),
    torch.matmul: ("matmul", _matmul),
    _Tensor.matmul: ("matmul", _matmul),
    _Tensor.__matmul__: ("matmul", _matmul),
    torch.addmm: ("addmm", _addmm),
    _Tensor.addmm: ("addmm", _addmm),
    torch.baddbmm: ("baddbmm", _baddbmm),
    _Tensor.baddbmm: ("baddbmm", _baddbmm),
    torch.nn.functional.linear: ("linear", _linear),
}


# Functions of torch that multiply matrices inside, out of this region's sight: counted as left to torch.
_WHOLE = {
    f: f.__name__
    for f in (
        torch.einsum, torch.tensordot, torch.inner, torch.addbmm, torch.linalg.multi_dot, torch.nn.functional.bilinear,
        torch.nn.functional.multi_head_attention_forward, torch.nn.functional.scaled_dot_product_attention,
    )
}  # fmt: skip


class route(TorchFunctionMode):  # a context manager, named as one
    """Inside this context, torch.mm, bmm, matmul, `@`, addmm, baddbmm and torch.nn.functional.linear (so torch.nn.Linear
    too) run on this library's kernels where they can, and on torch's where they cannot.

    Products inside larger functions of torch (einsum, attention) are torch's, and counted as such.

    Attributes:
        taken: how many calls of each name ran here.
        left: how many calls torch computed itself, by (name, reason).

    >>> with hopper_gemm.route() as routed:
    ...     y = model(x)
    >>> print(routed)
    """

    def __init__(self) -> None:
        super().__init__()
        self.taken: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> route:
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        name, ours = _ROUTES.get(func, ("", None))
        if ours is None:
            if func in _WHOLE:
                self.left[_WHOLE[func], "torch computes it as a whole"] += 1
            return func(*args, **kwargs)
        reason = "out= is given, which torch may resize"
        if kwargs.get("out") is None:
            try:
                y = ours(*args, **{k: v for k, v in kwargs.items() if k != "out"})
            except (HopperGemmError, _NotOurs, TypeError) as error:  # all raised before anything is launched
                reason = str(error).split(". ")[0]
            else:
                self.taken[name] += 1
                return y
        self.left[name, reason] += 1
        return func(*args, **kwargs)

    def __str__(self) -> str:
        lines = [f"{self.taken.total()} products on hopper_gemm, {self.left.total()} on torch"]
        lines += [f"  {count} x {name}" for name, count in self.taken.most_common()]
        lines += [f"  {count} x {name} on torch: {reason}" for (name, reason), count in self.left.most_common()]
        return "\n".join(lines)
