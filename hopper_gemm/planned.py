"""`plan`: a product that is validated and planned once and then only launched."""

from __future__ import annotations

from typing import Any

import torch

from . import known, ops
from .errors import ArgumentError, sentence
from .explanation import Explanation, explain
from .lowering import result_shape
from .problem import DTYPES
from .recipe import Recipe

_EPILOGUE = ("alpha", "beta", "c", "bias", "activation", "residual")


def plan(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None, **options: Any) -> PlannedProduct:
    """Plans `matmul(a, b, out=out, **options)` without running it.

    The result is called with tensors of the same shapes, strides, dtypes and device: `p(a, b)`, or `p(a, b, out)`. A call
    checks that and what makes a launch unsafe (alignment, overlap of `out` with the operands), and launches; it keeps its
    kernel even if a tuned table appears later. It can be captured in a CUDA graph. Where there is more to do than a launch
    (gradients, a trace, autocast, operands that are packed, options of the epilogue) and on the emulator, a call goes
    through `matmul`.

    >>> p = hopper_gemm.plan(x, w.t())
    >>> for x in batches: y = p(x, w.t())

    Raises:
        Exception: what `matmul` raises for the same arguments.
    """
    return PlannedProduct(a, b, out, options)


class PlannedProduct:
    """What `plan` returns: a callable for one product. `explanation` says which kernel, and why."""

    __slots__ = ("_call", "_options", "_wanted", "explanation")

    def __init__(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, options: dict[str, Any]) -> None:
        choices = {name: value for name, value in options.items() if name not in _EPILOGUE}
        self.explanation: Explanation = explain(a, b, out=out, **choices)
        self._options = options
        self._wanted = tuple(None if t is None else _layout(t) for t in (a, b, out))
        memory = known.new_memory()
        if _on_gpu(a) and len(choices) == len(options):
            self._remember(memory, a, b, out)
        self._call: known.Call = memory.call

    def _remember(self, memory: Any, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
        """A result that is allocated by the call, and one that is given: like `out`, or contiguous. Nothing if there is
        more to do than one launch."""
        chosen = self.explanation.plan.chosen
        dtype = DTYPES[chosen.problem.output]
        written = torch.empty(result_shape(a, b), dtype=dtype, device=a.device) if out is None else out
        recipe = Recipe.of(chosen, self.explanation.request.static_b)
        if not recipe.is_plain or ops.refusal(chosen, a, b, written):
            return
        for given in (None, written) if out is None else (written,):
            known.put(memory, recipe, a, b, given, written)

    def __call__(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """The product, in `out` if it is given.

        Raises:
            ArgumentError: a tensor lies in another way than that of the plan.
        """
        result: torch.Tensor | None = self._call(a, b, out)
        return self._long_way(a, b, out) if result is None else result

    def _long_way(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
        for name, tensor, wanted in zip(("a", "b", "out"), (a, b, out), self._wanted):
            if tensor is not None and wanted is not None and (found := _layout(tensor)) != wanted:
                raise ArgumentError(
                    sentence(
                        f"{name} does not lie in memory as the product was planned",
                        got=found,
                        expected=wanted,
                        fix="make a plan for this product, or call matmul",
                    )
                )
        return ops.matmul(a, b, out=out, **self._options)


def _on_gpu(tensor: torch.Tensor) -> bool:
    return tensor.is_cuda


def _layout(tensor: torch.Tensor) -> str:
    if not isinstance(tensor, torch.Tensor):
        return type(tensor).__name__
    return f"shape {tuple(tensor.shape)}, strides {tensor.stride()}, {tensor.dtype}, {tensor.device}"
