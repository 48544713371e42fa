"""Addressing rules against brute force: which layouts are readable, and whether two views share an element."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hopper_gemm import errors
from hopper_gemm.operands import (
    Extent,
    Matrix,
    check_no_self_overlap,
    may_share_memory,
    operand_majors,
    output_is_row_major,
    packed_majors,
    span_elements,
)

SIZES = st.integers(1, 6)
settings.register_profile("here", deadline=None, derandomize=True, max_examples=300)
settings.load_profile("here")


def addresses(shape, stride, offset) -> set[int]:
    indices = itertools.product(*map(range, shape))
    return {offset + sum(i * s for i, s in zip(index, stride)) for index in indices}


def extent(shape, stride, offset) -> Extent:
    return Extent(2 * offset, 2, shape, stride)


@st.composite
def views(draw) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """A window of a row-major or column-major buffer with one of a few pitches, or of a batch of them."""
    pitch, width, rows = draw(st.sampled_from([8, 12, 16])), draw(SIZES), draw(SIZES)
    offset = draw(st.integers(0, 40))
    shape, stride = ((rows, width), (pitch, 1)) if draw(st.booleans()) else ((width, rows), (1, pitch))
    if draw(st.booleans()):
        shape, stride = (draw(st.integers(1, 3)), *shape), (draw(st.sampled_from([pitch, 6 * pitch, 50])), *stride)
    return shape, stride, offset


@given(views(), views())
def test_no_shared_element_is_missed(first, second):
    one, other = extent(*first), extent(*second)
    shared = bool(addresses(*first) & addresses(*second))
    said = may_share_memory(one, other)
    assert said or not shared
    assert said == may_share_memory(other, one)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 16), st.integers(1, 5), st.integers(1, 3))
def test_column_blocks_of_one_buffer_are_told_apart_exactly(width, other_width, column, rows, batch):
    pitch = 24
    first, second = ((batch, rows, width), (5 * pitch, pitch, 1), 0), ((batch, rows, other_width), (5 * pitch, pitch, 1), column)
    shared = bool(addresses(*first) & addresses(*second))
    assert may_share_memory(extent(*first), extent(*second)) == shared


STRIDES = [(8, 1), (1, 8), (16, 1), (1, 24), (5, 1), (1, 3), (16, 2), (0, 1), (1, 0), (1, 1)]


@given(SIZES, SIZES, st.sampled_from(STRIDES), st.sampled_from([1, 2, 4]), st.sampled_from([0, 8, 64, 3, None]), st.booleans())
def test_a_readable_operand_is_one_tma_could_read(rows, columns, stride, element_bytes, batch, aligned):
    matrix = Matrix((rows, columns), stride, element_bytes, batch, aligned)
    readable = set()
    for major, inner in (("k", 1), ("mn", 0)):
        one_row, pitch = matrix.shape[1 - inner] == 1, matrix.stride[1 - inner]
        contiguous = matrix.stride[inner] == 1 or matrix.shape[inner] == 1
        fits = one_row or (pitch * element_bytes % 16 == 0 and pitch >= matrix.shape[inner])
        if contiguous and fits and aligned and batch is not None and batch * element_bytes % 16 == 0:
            readable.add(major)
    assert set(operand_majors(matrix, 1)) == (readable if element_bytes == 2 else readable - {"mn"})


def test_a_packed_copy_keeps_the_contiguous_dimension_where_kernels_read_it():
    assert packed_majors(Matrix((9, 7), (7, 1), 2), 1) == ("k", "mn")
    assert packed_majors(Matrix((9, 7), (1, 9), 2), 1) == ("mn", "k")
    assert packed_majors(Matrix((9, 7), (2, 40), 2), 1)[0] == "mn"
    assert packed_majors(Matrix((9, 7), (0, 1), 2), 1)[0] == "k"
    assert packed_majors(Matrix((9, 7), (1, 9), 1), 1) == packed_majors(Matrix((9, 7), (1, 9), 4), 1) == ("k",)


OUTPUTS = [(8, 1), (1, 8), (6, 1), (1, 6), (16, 2), (3, 1), (0, 1), (1, 1), (2, 3), (4, 6), (7, 3)]


@given(SIZES, SIZES, st.sampled_from(OUTPUTS))
def test_a_writable_output_has_an_element_per_address(rows, columns, stride):
    shape = (rows, columns)
    distinct = len(addresses(shape, stride, 0)) == rows * columns
    try:
        check_no_self_overlap(shape, stride)
    except errors.OverlapError:
        assert not distinct
    else:
        assert distinct
        row_major = output_is_row_major(Matrix(shape, stride, 2))
        if row_major is not None:
            inner = 1 if row_major else 0
            assert stride[inner] == 1 or shape[inner] == 1
    assert output_is_row_major(Matrix((3, 4), (4, 1), 2, None)) is None


@given(st.lists(st.integers(1, 4), min_size=3, max_size=4), st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_an_output_of_a_batch_that_passes_has_an_element_per_address(shape, stride):
    stride = stride[: len(shape)]
    try:
        check_no_self_overlap(shape, stride)
    except errors.OverlapError:
        pass
    else:
        assert len(addresses(shape, stride, 0)) == torch.Size(shape).numel()


def test_spans():
    assert span_elements((3, 4), (10, 1)) == 24
    assert span_elements((1, 1), (99, 99)) == 1
    assert span_elements((0, 4), (4, 1)) == 0
    x = torch.empty(1000)[5:].as_strided((3, 4), (50, 2))
    assert span_elements((3, 4), (50, 2)) == x[2, 3].storage_offset() - x[0, 0].storage_offset() + 1
    with pytest.raises(errors.OverlapError, match="overlaps itself"):
        check_no_self_overlap((4, 4), (0, 1))
