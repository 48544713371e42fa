"""How a 2-D tensor lies in memory, and whether a kernel can address it.

An operand has a K index and an outer index (M of A, N of B). It is K-major if K is contiguous, MN-major if the outer
index is. The stride of a size-1 dimension means nothing (torch leaves it arbitrary), so a row or a column can be both.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import AlignmentError, OverlapError, StrideError, sentence

ALIGNMENT_BYTES = 16  # of pitch and pointer: cuTensorMapEncodeTiled's rule for globalStrides and globalAddress
MAX_PITCH_BYTES = 1 << 40

K_MAJOR = "k"
MN_MAJOR = "mn"


@dataclass(frozen=True)
class Matrix:
    """A 2-D tensor as addressing sees it: sizes and strides in elements, for messages its argument name."""

    name: str
    shape: tuple[int, int]
    stride: tuple[int, int]
    element_bytes: int

    def is_contiguous_along(self, dim: int) -> bool:
        return self.stride[dim] == 1 or self.shape[dim] == 1

    def pitch(self, inner: int) -> int | None:
        """Elements between consecutive rows when `inner` is the contiguous dimension; None if there is one row."""
        return self.stride[1 - inner] if self.shape[1 - inner] > 1 else None

    def pitch_is_legal(self, inner: int) -> bool:
        pitch = self.pitch(inner)
        if pitch is None:
            return True
        pitch_bytes = pitch * self.element_bytes
        aligned = pitch_bytes % ALIGNMENT_BYTES == 0
        return aligned and self.shape[inner] <= pitch and pitch_bytes < MAX_PITCH_BYTES


def operand_majors(matrix: Matrix, k_dim: int, asked: str) -> tuple[str, ...]:
    """The ways a kernel can read `matrix`, best first: ("k",), ("mn",) or, for a row or column, both.

    Args:
        matrix: operand with its K index in dimension `k_dim`.
        asked: the schedule or config the caller named, for the text.

    Raises:
        StrideError: neither dimension is contiguous, or a stride is 0 (an expanded tensor).
        AlignmentError: the pitch is not a multiple of 16 bytes.
    """
    inner_of = {K_MAJOR: k_dim, MN_MAJOR: 1 - k_dim}
    contiguous = [major for major, dim in inner_of.items() if matrix.is_contiguous_along(dim)]
    legal = tuple(major for major in contiguous if matrix.pitch_is_legal(inner_of[major]))
    if legal:
        return legal
    raise _unreadable(matrix, [inner_of[major] for major in contiguous], asked)


def output_is_row_major(matrix: Matrix) -> bool:
    """True for a row-major `out`, False for a column-major one.

    Raises:
        StrideError: neither dimension is contiguous.
        OverlapError: elements of `out` share memory with each other.
    """
    for inner in (1, 0):
        if not matrix.is_contiguous_along(inner):
            continue
        pitch = matrix.pitch(inner)
        if pitch is None or pitch >= matrix.shape[inner]:
            return inner == 1
    if any(stride == 0 and size > 1 for stride, size in zip(matrix.stride, matrix.shape)):
        raise OverlapError(
            sentence(
                "out overlaps itself: several of its elements are the same memory",
                got=f"out of shape {matrix.shape} with strides {matrix.stride}",
                expected="one memory location per element",
                fix="pass a tensor that was not made by expand()",
            )
        )
    raise StrideError(
        sentence(
            "out has no contiguous dimension, and kernels write rows or columns of adjacent elements",
            got=f"out of shape {matrix.shape} with strides {matrix.stride}",
            expected="stride 1 in one dimension and, in the other, at least that dimension's size",
            fix="pass a contiguous tensor and copy the result where it belongs",
        )
    )


def _unreadable(matrix: Matrix, inner_dims: list[int], asked: str) -> StrideError:
    name, shape, stride = matrix.name, matrix.shape, matrix.stride
    if any(s == 0 and size > 1 for s, size in zip(stride, shape)):
        return StrideError(
            sentence(
                f"{name} has stride 0 in a dimension of size over 1 (an expanded tensor), which no kernel reads yet",
                got=f"{name} of shape {shape} with strides {stride} for {asked}",
                fix=f"to copy it to memory of its own: {name}.contiguous()",
            )
        )
    if not inner_dims:
        return StrideError(
            sentence(
                f"{name} has no contiguous dimension, and kernels read rows or columns of adjacent elements",
                got=f"{name} of shape {shape} with strides {stride} for {asked}",
                expected="stride 1 in either dimension (row-major, transposed and sliced tensors are read in place)",
                fix=f"to make such a copy: {name}.contiguous()",
            )
        )
    inner = inner_dims[0]
    pitch = stride[1 - inner]
    pitch_bytes = pitch * matrix.element_bytes
    if pitch < shape[inner]:
        return StrideError(
            sentence(
                f"rows of {name} overlap in memory, which no kernel reads yet",
                got=f"{name}.stride({1 - inner}) = {pitch} elements between rows of {shape[inner]} for {asked}",
                expected="a stride of at least the row's length",
                fix=f"to copy it to memory of its own: {name}.contiguous()",
            )
        )
    if pitch_bytes >= MAX_PITCH_BYTES:
        return StrideError(
            sentence(
                f"the row pitch of {name} is beyond what a tensor map can hold",
                got=f"{name}.stride({1 - inner}) = {pitch} elements = {pitch_bytes} bytes for {asked}",
                expected=f"under {MAX_PITCH_BYTES} bytes",
            )
        )
    step = ALIGNMENT_BYTES // matrix.element_bytes
    return AlignmentError(
        sentence(
            f"the row pitch of {name} is not aligned: TMA and cp.async need a multiple of 16 bytes between rows",
            got=f"{name}.stride({1 - inner}) = {pitch} elements = {pitch_bytes} bytes (shape {shape}) for {asked}",
            expected=f"a multiple of {step} elements; the nearest above is {(pitch + step - 1) // step * step}",
            fix=f"keep {name} in a buffer whose rows are padded to that, and pass the slice of it",
        )
    )


def misaligned_pointer(name: str, address: int, storage_offset: int, element_bytes: int) -> AlignmentError:
    """The error for a tensor that starts off a 16-byte boundary."""
    return AlignmentError(
        sentence(
            f"{name} is not aligned: its first element must lie on a 16-byte boundary, the rule of TMA and cp.async",
            got=f"an address {address % ALIGNMENT_BYTES} bytes past one ({name}.storage_offset() = {storage_offset})",
            expected=f"an offset that is a multiple of {ALIGNMENT_BYTES // element_bytes} elements",
            fix=f"to make an aligned copy: {name}.clone()",
        )
    )


def span_elements(matrix: Matrix) -> int:
    """Elements from the first to one past the last, in memory order."""
    if 0 in matrix.shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(matrix.shape, matrix.stride))


def may_share_memory(first: Matrix, first_address: int, second: Matrix, second_address: int) -> bool:
    """Whether two matrices have an element in common; True also where telling them apart would take a search.

    Exact for column blocks of one buffer (equal pitch, both row-major or both column-major).
    """
    first_end = first_address + span_elements(first) * first.element_bytes
    second_end = second_address + span_elements(second) * second.element_bytes
    if first_end <= second_address or second_end <= first_address:
        return False
    for inner in (1, 0):
        if not (first.is_contiguous_along(inner) and second.is_contiguous_along(inner)):
            continue
        pitch = first.stride[1 - inner] * first.element_bytes
        if pitch <= 0 or pitch != second.stride[1 - inner] * second.element_bytes:
            continue
        width = first.shape[inner] * first.element_bytes
        other_width = second.shape[inner] * second.element_bytes
        if width > pitch or other_width > pitch:
            continue
        column = (second_address - first_address) % pitch
        return column < width or column + other_width > pitch
    return True
