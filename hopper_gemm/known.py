"""Products seen before, found and launched in C++ (csrc/bindings/launches.cpp): one memory for each set of choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _extension
from .precision import switch as fp32_switch
from .recipe import Recipe

MAX_CHOICES = 256  # a memory holds up to 4096 launches

Call = Callable[..., "torch.Tensor | None"]  # of a, b, out and the fields of an Epilogue: None where the long way has to be taken
calls: dict[tuple[Any, ...], Call] = {}  # by choices
_memories: dict[tuple[Any, ...], Any] = {}

new_memory = _extension.load().Launches
_float32 = torch.float32
_is_compiling = torch.compiler.is_dynamo_compiling


def repeated(  # of each parameter its own: collecting the options of an epilogue in one costs 0.1 us
    choices: tuple[Any, ...],
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    alpha: float,
    beta: float,
    c: torch.Tensor | None,
    bias: torch.Tensor | None,
    activation: str | None,
    residual: torch.Tensor | None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
) -> torch.Tensor | None:
    """The result of a product seen before, or None where the long way has to be taken."""
    if _is_compiling():
        return None
    try:
        call = calls.get(choices if a.dtype is not _float32 else (*choices, fp32_switch()))
    except (AttributeError, TypeError):  # no tensor, unhashable: the long way says what is wrong
        return None
    return call and call(a, b, out, alpha, beta, c, bias, activation, residual, scale_a, scale_b, scale_result)


def remember(
    choices: tuple[Any, ...],
    recipe: Recipe,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    written: torch.Tensor,
    options: Any = None,
    backward: tuple[Any, bool] = (None, False),
) -> None:
    """From now on the call of these choices launches this kernel for tensors like these.

    Args:
        out: as the caller gives it.
        written: where the result lies.
        options: the extension's `Epilogue`, if there is one.
        backward: what `autograd.of_call` returns.
    """
    memory = _memories.get(choices)  # kept in hand: another thread may forget them all
    if memory is None:
        if len(_memories) >= MAX_CHOICES:
            forget()
        memory = _memories[choices] = new_memory()
        calls[choices] = memory.call
    put(memory, recipe, a, b, out, written, options, backward)


def put(
    memory: Any,
    recipe: Recipe,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    written: torch.Tensor,
    options: Any = None,
    backward: tuple[Any, bool] = (None, False),
) -> None:
    """The same for one memory."""
    chosen, walk = recipe.prediction, recipe.prediction.walk
    memory.remember(
        a, b, out, written, chosen.kernel.id, walk.raster_index, walk.group, 0, chosen.problem.swapped, walk.slices,
        recipe.static_b, options, *backward,
    )  # fmt: skip


def forget() -> None:
    calls.clear()
    _memories.clear()
