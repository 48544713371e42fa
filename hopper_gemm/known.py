"""Plain products seen before, found and launched in C++ (csrc/bindings/launches.cpp): one memory for each set of choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _extension
from .recipe import Recipe

MAX_CHOICES = 256  # a memory holds up to 4096 launches

Call = Callable[[torch.Tensor, torch.Tensor, "torch.Tensor | None"], "torch.Tensor | None"]
calls: dict[tuple[Any, ...], Call] = {}  # by choices: the result, or None where the long way has to be taken
_memories: dict[tuple[Any, ...], Any] = {}

new_memory = _extension.load().Launches


def remember(
    choices: tuple[Any, ...],
    recipe: Recipe,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    written: torch.Tensor,
) -> None:
    """From now on the call of these choices launches this kernel for tensors like these.

    Args:
        out: as the caller gives it.
        written: where the result lies.
    """
    if choices not in _memories:
        if len(_memories) >= MAX_CHOICES:
            forget()
        memory = _memories[choices] = new_memory()
        calls[choices] = memory.call
    put(_memories[choices], recipe, a, b, out, written)


def put(
    memory: Any, recipe: Recipe, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, written: torch.Tensor
) -> None:
    """The same for one memory."""
    chosen, walk = recipe.prediction, recipe.prediction.walk
    memory.remember(
        a, b, out, written, chosen.kernel.id, walk.raster_index, walk.group, 0, chosen.problem.swapped, walk.slices,
        recipe.static_b,
    )  # fmt: skip


def forget() -> None:
    calls.clear()
    _memories.clear()
