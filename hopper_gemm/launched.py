"""What is kept of a launch for the next call like it, and what torch is told of its result."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Launched(NamedTuple):
    """What a repeated call with options needs: everything that depends on shapes and strides, not on addresses."""

    kernel: int
    raster: int
    group: int
    slices: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    swapped: bool
    static_b: bool


def mark_written(out: torch.Tensor) -> None:
    """Tells autograd that `out` changed in place, as torch's own out= does."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
