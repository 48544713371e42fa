"""Addressing rules against brute force: which layouts are readable, and whether two views share an element."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hopper_gemm import errors
from hopper_gemm.operands import Matrix, may_share_memory, operand_majors, output_is_row_major, span_elements

SIZES = st.integers(1, 6)
settings.register_profile("here", deadline=None, derandomize=True, max_examples=300)
settings.load_profile("here")


def addresses(shape, stride, offset) -> set[int]:
    return {offset + i * stride[0] + j * stride[1] for i in range(shape[0]) for j in range(shape[1])}


@st.composite
def views(draw) -> tuple[tuple[int, int], tuple[int, int], int]:
    """A window of a row-major or column-major buffer with one of a few pitches."""
    pitch, width, rows = draw(st.sampled_from([8, 12, 16])), draw(SIZES), draw(SIZES)
    offset = draw(st.integers(0, 40))
    if draw(st.booleans()):
        return (rows, width), (pitch, 1), offset
    return (width, rows), (1, pitch), offset


@given(views(), views())
def test_no_shared_element_is_missed(first, second):
    matrices = [Matrix("", shape, stride, 2) for shape, stride, _ in (first, second)]
    shared = bool(addresses(*first) & addresses(*second))
    said = may_share_memory(matrices[0], 2 * first[2], matrices[1], 2 * second[2])
    assert said or not shared
    assert said == may_share_memory(matrices[1], 2 * second[2], matrices[0], 2 * first[2])


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 16), st.integers(1, 5))
def test_column_blocks_of_one_buffer_are_told_apart_exactly(width, other_width, column, rows):
    pitch = 24
    first, second = Matrix("", (rows, width), (pitch, 1), 2), Matrix("", (rows, other_width), (pitch, 1), 2)
    shared = bool(addresses((rows, width), (pitch, 1), 0) & addresses((rows, other_width), (pitch, 1), column))
    assert may_share_memory(first, 0, second, 2 * column) == shared


@given(
    SIZES, SIZES, st.sampled_from([(8, 1), (1, 8), (16, 1), (1, 24), (5, 1), (1, 3), (16, 2), (0, 1), (1, 0), (1, 1)])
)
def test_a_readable_operand_is_one_tma_could_read(rows, columns, stride):
    matrix = Matrix("a", (rows, columns), stride, 2)
    readable = set()
    for major, inner in (("k", 1), ("mn", 0)):
        one_row, pitch = matrix.shape[1 - inner] == 1, matrix.stride[1 - inner]
        contiguous = matrix.stride[inner] == 1 or matrix.shape[inner] == 1
        if contiguous and (one_row or (pitch * 2 % 16 == 0 and pitch >= matrix.shape[inner])):
            readable.add(major)
    if readable:
        assert set(operand_majors(matrix, 1, "a test")) == readable
    else:
        with pytest.raises(errors.StrideError) as caught:
            operand_majors(matrix, 1, "a test")
        assert "a test" in str(caught.value) and "tride" in str(caught.value)


@given(SIZES, SIZES, st.sampled_from([(8, 1), (1, 8), (6, 1), (1, 6), (16, 2), (3, 1), (0, 1), (1, 1)]))
def test_a_writable_output_has_an_element_per_address(rows, columns, stride):
    matrix = Matrix("out", (rows, columns), stride, 2)
    try:
        row_major = output_is_row_major(matrix)
    except (errors.StrideError, errors.OverlapError):
        unit = any(matrix.is_contiguous_along(d) for d in (0, 1))
        distinct = len(addresses((rows, columns), stride, 0)) == rows * columns
        assert not (unit and distinct)
    else:
        assert len(addresses((rows, columns), stride, 0)) == rows * columns
        inner = 1 if row_major else 0
        assert stride[inner] == 1 or matrix.shape[inner] == 1


def test_spans():
    assert span_elements(Matrix("", (3, 4), (10, 1), 2)) == 24
    assert span_elements(Matrix("", (1, 1), (99, 99), 2)) == 1
    assert span_elements(Matrix("", (0, 4), (4, 1), 2)) == 0


def test_torch_agrees_about_the_span():
    x = torch.empty(1000)[5:].as_strided((3, 4), (50, 2))
    assert span_elements(Matrix("", (3, 4), (50, 2), 4)) == x[2, 3].storage_offset() - x[0, 0].storage_offset() + 1
