"""Matrices in poisoned buffers, lying as a user's may: padded, shifted, strided, expanded, in batches.

Whatever is read outside the view is NaN (or the largest integer); whatever is written outside is seen by `damage`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MARGIN = 64  # elements before and behind: whole 16 bytes of every type


def changed(self: object) -> str:
    """The repr of a dataclass without what is as by default."""
    shown = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
    return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def whole_storage(tensor: torch.Tensor) -> torch.Tensor:
    """Every byte of the memory a tensor lies in, also what its view leaves out."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


@dataclass(frozen=True)
class Layout:
    """How a matrix lies in memory. The defaults are a contiguous one.

    Args:
        row_major: otherwise the columns are the rows in memory.
        pad: elements between the end of a row and the next.
        offset: elements from a 16-byte boundary to the first.
        step: distance of neighbours within a row.
        whole: the distance between rows is rounded up to a multiple of this.
        expand: "rows", "columns" or "batch" have stride 0 (operands only).
    """

    row_major: bool = True
    pad: int = 0
    offset: int = 0
    step: int = 1
    expand: str = ""
    whole: int = 1

    __repr__ = changed

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        *batch, rows, columns = shape
        outer, inner = (rows, columns) if self.row_major else (columns, rows)
        pitch = -(-(max(1, inner * self.step) + self.pad) // self.whole) * self.whole
        matrix = [pitch, self.step] if self.row_major else [self.step, pitch]
        distance = pitch * (max(1, outer) + (self.pad > 0))
        batches: list[int] = []
        for size in reversed(batch):
            batches.insert(0, distance)
            distance *= max(1, size)
        if self.expand == "batch":
            batches = [0] * len(batches)
        elif self.expand:
            matrix[("rows", "columns").index(self.expand)] = 0
        return (*batches, *matrix)


class Placed:
    """`view` is a tensor of that shape and layout, all poison; `put` fills it."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: str, layout: Layout = Layout()) -> None:
        integer = _INTEGERS[dtype.itemsize]
        self._poison = torch.iinfo(integer).max  # a NaN of every floating-point type
        self._strides = layout.strides(shape)
        self._first = _MARGIN + layout.offset
        span = sum((size - 1) * stride for size, stride in zip(shape, self._strides) if size > 1) + 1
        self.buffer = torch.full((self._first + span + _MARGIN,), self._poison, dtype=integer, device=device)
        self.view = self.buffer.view(dtype).as_strided(shape, self._strides, self._first)

    def put(self, data: torch.Tensor) -> torch.Tensor:
        """Copies data in (of an expanded dimension, the first index) and returns the view."""
        target, source = self.view, data.to(self.view.dtype)
        for dim, stride in enumerate(self._strides):
            if stride == 0 and target.shape[dim] > 1:
                target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
        target.view(self.buffer.dtype).copy_(source.contiguous().view(self.buffer.dtype))
        return self.view

    def damage(self) -> str:
        """Empty if everything around the view is as it was."""
        outside = torch.ones_like(self.buffer, dtype=torch.bool)
        outside.as_strided(self.view.shape, self._strides, self._first).fill_(False)
        changed = outside & (self.buffer != self._poison)
        if not changed.any():
            return ""
        first = int(changed.nonzero()[0, 0]) - self._first
        return f"{int(changed.sum())} elements outside the view were written, first {first} elements from its start"
