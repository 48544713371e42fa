"""How a product is computed: the keywords of `matmul` that name no tensor and no operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .config import Config
from .errors import did_you_mean, sentence
from .schedule import Schedule


class Choices(NamedTuple):
    """As given, with `matmul`'s defaults."""

    out_dtype: torch.dtype | None = None
    schedule: str | Schedule = "auto"
    config: str | Config | None = None
    accumulate: str | None = None
    precision: str | None = None
    use_fast_accum: bool = False
    deterministic: bool = False
    batch_invariant: bool = False
    static_b: bool = False


def check_keywords(unknown: dict[str, Any], function: Callable[..., Any]) -> None:
    """Refuses what `function` collected in **unknown, as Python does, with the name that was meant.

    Raises:
        TypeError.
    """
    if unknown:
        name = next(iter(unknown))
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        raise TypeError(
            sentence(
                f"{function.__name__} got an unexpected keyword argument {name!r}",
                expected=f"one of {', '.join(known)}",
                fix=did_you_mean(name, known),
            )
        )
