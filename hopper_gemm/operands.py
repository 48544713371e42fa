"""How the matrices of a product lie in memory, and whether a kernel can address them there.

An operand has a K index and an outer index (M of A, N of B). It is K-major if K is contiguous, MN-major if the outer
index is. The stride of a size-1 dimension means nothing (torch leaves it arbitrary), so a row or a column can be both.
What no kernel reads in place is packed first (packing.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import gcd

from .errors import OverlapError, sentence

ALIGNMENT_BYTES = 16  # of pitch and pointer: cuTensorMapEncodeTiled's rule for globalStrides and globalAddress
MAX_PITCH_BYTES = 1 << 40

K_MAJOR = "k"
MN_MAJOR = "mn"


@dataclass(frozen=True)
class Matrix:
    """A matrix, or a batch of them, as addressing sees it: sizes and strides in elements.

    Args:
        batch: elements from one matrix to the next, 0 if there is one or all are the same; None if no one number says it.
        aligned: the first element lies on a 16-byte boundary.
    """

    shape: tuple[int, int]
    stride: tuple[int, int]
    element_bytes: int
    batch: int | None = 0
    aligned: bool = True

    def is_contiguous_along(self, dim: int) -> bool:
        return self.stride[dim] == 1 or self.shape[dim] == 1

    def pitch(self, inner: int) -> int | None:
        """Elements between consecutive rows when `inner` is the contiguous dimension; None if there is one row."""
        return self.stride[1 - inner] if self.shape[1 - inner] > 1 else None

    def pitch_is_legal(self, inner: int) -> bool:
        pitch = self.pitch(inner)
        if pitch is None:
            return True
        return self._is_legal_distance(pitch) and self.shape[inner] <= pitch

    def is_readable_along(self, inner: int) -> bool:
        """Whether TMA and cp.async can read it in place with `inner` as the contiguous dimension."""
        batch_fits = self.batch is not None and self._is_legal_distance(self.batch)
        return self.aligned and batch_fits and self.is_contiguous_along(inner) and self.pitch_is_legal(inner)

    def _is_legal_distance(self, elements: int) -> bool:
        distance = elements * self.element_bytes
        return distance % ALIGNMENT_BYTES == 0 and distance < MAX_PITCH_BYTES


def operand_majors(matrix: Matrix, k_dim: int) -> tuple[str, ...]:
    """The ways a kernel can read `matrix` in place, best first: ("k",), ("mn",), both for a row or column, or none.

    Args:
        matrix: operand with its K index in dimension `k_dim`.
    """
    inner_of = {K_MAJOR: k_dim, MN_MAJOR: 1 - k_dim}
    return tuple(m for m, dim in inner_of.items() if m in majors_of(matrix) and matrix.is_readable_along(dim))


def majors_of(matrix: Matrix) -> tuple[str, ...]:
    """The majors that kernels of this element size read at all: wgmma transposes 16-bit operands alone."""
    return (K_MAJOR, MN_MAJOR) if matrix.element_bytes == 2 else (K_MAJOR,)


def packed_majors(matrix: Matrix, k_dim: int) -> tuple[str, ...]:
    """The ways a packed copy of `matrix` can lie, the one that is cheapest to make first."""
    majors = majors_of(matrix)
    k_stride, outer_stride = matrix.stride[k_dim], matrix.stride[1 - k_dim]
    transposed = 0 < outer_stride < k_stride and matrix.shape[1 - k_dim] > 1
    return majors[::-1] if transposed else majors


def output_is_row_major(matrix: Matrix) -> bool | None:
    """True for a row-major `out`, False for a column-major one, None for one that kernels do not write in place.

    Raises:
        OverlapError: elements of `out` share memory with each other.
    """
    for inner in (1, 0):
        pitch = matrix.pitch(inner)
        if matrix.is_contiguous_along(inner) and (pitch is None or pitch >= matrix.shape[inner]):
            return inner == 1 if matrix.batch is not None else None
    return None


def aligned_row_bytes(elements: int, element_bytes: int) -> int:
    """From one row of an aligned copy to the next: whole 16 bytes."""
    return -(-elements * element_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def check_no_self_overlap(shape: Sequence[int], stride: Sequence[int]) -> None:
    """Refuses an `out` of which several elements may be the same memory.

    Raises:
        OverlapError.
    """
    dims = sorted((s, size) for s, size in zip(stride, shape) if size > 1)
    reach = 0  # of the dimensions so far, from the first element to the last
    apart = 0 not in shape
    for s, size in dims:
        apart = apart and s > reach
        reach += (size - 1) * s
    if not apart and len(dims) == 2 and dims[0][0] > 0:
        # Two dimensions meet where i * s0 = j * s1: the first time at i = s1 / g, j = s0 / g.
        (s0, n0), (s1, n1) = dims
        step = gcd(s0, s1)
        apart = s1 // step >= n0 or s0 // step >= n1
    if not apart and 0 not in shape:
        raise OverlapError(
            sentence(
                "out overlaps itself: several of its elements are the same memory",
                got=f"out of shape {tuple(shape)} with strides {tuple(stride)}",
                expected="one memory location per element",
                fix="pass a tensor that was not made by expand()",
            )
        )


def span_elements(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to one past the last, in memory order."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * s for size, s in zip(shape, stride))


@dataclass(frozen=True)
class Extent:
    """A tensor as memory: address and element size in bytes, strides in elements."""

    address: int
    element_bytes: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.address + span_elements(self.shape, self.stride) * self.element_bytes

    def outer_strides(self, inner: int) -> list[int]:
        """Byte strides of the dimensions but `inner` that have more than one index."""
        dims = range(len(self.shape))
        return [self.stride[d] * self.element_bytes for d in dims if d != inner and self.shape[d] > 1]


def may_share_memory(first: Extent, second: Extent) -> bool:
    """Whether two tensors have an element in common; True also where telling them apart would take a search.

    Exact for column blocks of one buffer: both contiguous in one dimension, all other strides multiples of one pitch.
    """
    if first.end <= second.address or second.end <= first.address:
        return False
    for inner, other in _contiguous_pairs(first, second):
        pitch = gcd(*chain(first.outer_strides(inner), second.outer_strides(other)))
        width = first.shape[inner] * first.element_bytes
        other_width = second.shape[other] * second.element_bytes
        if pitch == 0 or width > pitch or other_width > pitch:
            continue
        column = (second.address - first.address) % pitch
        return column < width or column + other_width > pitch
    return True


def _contiguous_pairs(first: Extent, second: Extent) -> list[tuple[int, int]]:
    def contiguous(e: Extent) -> list[int]:
        return [d for d in reversed(range(len(e.shape))) if e.stride[d] == 1 or e.shape[d] == 1]

    return [(i, j) for i in contiguous(first) for j in contiguous(second)]
