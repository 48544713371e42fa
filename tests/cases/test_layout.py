"""Cases of the kinds layout and alignment: however an operand lies in memory, its values are what counts."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones

from hopper_gemm import matmul


def transposed_copy(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous().t()


@pytest.mark.parametrize("which", ["a", "b", "both", "b K-major", "transposed"])
def test_c009_views_inside_larger_matrices(which, device):
    size = 1024 if device == "cuda" else 256
    half, quarter, eighth = size // 2, size // 4, size // 8
    big_a, big_b = ints(size, size, device=device), ints(size, size, device=device, seed=1)
    a, b = big_a[:half, quarter : quarter + half], big_b[eighth : eighth + half, :half]
    pair = {
        "a": (a, b.contiguous()), "b": (a.contiguous(), b), "both": (a, b), "b K-major": (a, transposed_copy(b)),
        "transposed": (a.t(), b.t()),
    }[which]  # fmt: skip
    assert_exact(matmul(*pair), *pair)


@pytest.mark.parametrize("steps", [((2, 2), (1, 1)), ((1, 2), (1, 2)), ((3, 5), (2, 3)), ((2, 1), (7, 1))])
def test_c010_neither_stride_is_1(steps, device):
    (p, q), (r, s) = steps
    a = ints(64 * p, 96 * q, device=device)[::p, ::q]
    b = ints(96 * r, 40 * s, device=device)[::r, ::s]
    assert_exact(matmul(a, b), a, b)
    assert_exact(matmul(b.t(), a.t()), b.t(), a.t())


def test_c011_the_last_token_of_a_sequence(device):
    tokens, weight = ints(1, 8, 2048, device=device), ints(32, 2048, device=device)
    a, b = tokens[:, 7, :], weight.t()
    assert a.stride() == (16384, 1)
    assert_exact(matmul(a, b), a, b)


def test_c013_expanded_operands(device):
    row, column = ints(1, 128, device=device), ints(128, 1, device=device)
    one = torch.full((1, 1), 2.0, device=device, dtype=BF16)
    for a, b in (
        (row.expand(192, 128), column.expand(128, 80)),
        (one.expand(192, 128), column.expand(128, 80)),
        (row.expand(192, 128), one.expand(128, 80)),
        (one.expand(64, 64), one.expand(64, 64)),
    ):
        assert_exact(matmul(a, b), a, b)


@pytest.mark.parametrize("size", [512, 96, 63])
@pytest.mark.parametrize("offset", [1, 3, 7])
def test_c016_operands_that_start_anywhere_in_their_buffer(offset, size, device):
    if device == "cpu":
        size = min(size, 96)
    fa = ints(size * size + offset, device=device)[offset:].view(size, size)
    fb = ints(size * size + offset, device=device, seed=1)[offset:].view(size, size)
    assert fa.data_ptr() % 16 != 0
    for a, b in ((fa, fb.clone()), (fa.clone(), fb), (fa, fb), (fa, fb.t())):
        assert_exact(matmul(a, b), a, b)
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


@pytest.mark.parametrize("k", [511, 509, 15, 1])
def test_c017_rows_of_an_odd_number_of_bytes_apart(k, device):
    a, b = ints(96, k, device=device), ints(k, 72, device=device)
    assert_exact(matmul(a, b), a, b)
    b = ints(72, k, device=device).t()
    assert_exact(matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "e4m3", "s8"])
def test_c017_odd_rows_of_every_type(dtype, device):
    from support.features import has
    from support.problems import DTYPES

    if not has(dtype):
        pytest.skip(f"not in this build: {dtype}")
    a, b = (ints(*shape, device=device, dtype=DTYPES[dtype]) for shape in ((33, 51), (51, 29)))
    precision = {"precision": "tf32"} if dtype == "fp32" else {}
    output = torch.int32 if dtype == "s8" else torch.float32
    for x, y in ((a, b), (transposed_copy(a), b), (a, transposed_copy(b)), (transposed_copy(a), transposed_copy(b))):
        assert_exact(matmul(x, y, out_dtype=output, **precision), x, y)
