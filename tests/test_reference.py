"""The checks themselves: each must fail on the mistake it is there for."""

from __future__ import annotations

import pytest
import torch
from support.guards import Guarded
from support.operands import Shape, breaks_the_rule, operands
from support.reference import Reference, same_bits


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_rounded_exact_product_passes(dtype):
    a, b = operands(Shape(96, 80, 4096), "tn", torch.bfloat16)
    reference = Reference(a, b)
    assert reference.problem_with(reference.exact.to(dtype)) == ""


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_one_dropped_k_index_is_caught(dtype):
    a, b = operands(Shape(128, 128, 1024), "tn", dtype)
    reference = Reference(a, b)
    without_last = (a[:, :-1].double() @ b[:-1].double()).to(dtype)
    assert "missing" in reference.problem_with(without_last) or "outside" in reference.problem_with(without_last)


def test_nan_a_wrong_element_and_a_wrong_shape_are_caught():
    a, b = operands(Shape(32, 32, 32), "tt", torch.bfloat16)
    reference = Reference(a, b)
    y = reference.exact.bfloat16()
    for value in (float("nan"), float(y[3, 5]) + 1):
        bad = y.clone()
        bad[3, 5] = value
        assert "[3, 5]" in reference.problem_with(bad)
    assert "shape" in reference.problem_with(y[:-1])


def test_a_wrong_integer_is_caught():
    a, b = operands(Shape(16, 16, 16), "nn", torch.bfloat16, integers=True)
    reference = Reference(a, b)
    y = reference.exact.bfloat16()
    assert reference.inexact_integers(y) == ""
    y[0, 1] += 1
    assert "[0, 1]" in reference.inexact_integers(y)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("column_major", [True, False])
def test_guard_bands_see_one_written_element(aligned, column_major):
    guarded = Guarded(5, 12, torch.bfloat16, "cpu", aligned=aligned, column_major=column_major)
    guarded.view.fill_(1)
    assert guarded.damage() == ""
    assert guarded.view.shape == (5, 12)
    storage = guarded.buffer.view(-1)
    storage[guarded.view.storage_offset() - 1] = 1
    assert "outside out" in guarded.damage()


def test_operands_are_what_their_layout_says():
    for layout, a_inner, b_inner in (("tn", 1, 0), ("tt", 1, 1), ("nn", 0, 0), ("nt", 0, 1)):
        a, b = operands(Shape(9, 10, 11), layout, torch.bfloat16)
        assert a.shape == (9, 11) and b.shape == (11, 10)
        assert a.stride(a_inner) == 1 and b.stride(b_inner) == 1
        assert not breaks_the_rule(a) and not breaks_the_rule(b)
        assert a.data_ptr() % 16 == 0 and b.data_ptr() % 16 == 0
    a, _ = operands(Shape(9, 8, 11), "tn", torch.bfloat16, contiguous=True)
    assert breaks_the_rule(a)


def test_same_bits_tells_signed_zeros_apart():
    zero = torch.zeros(2, dtype=torch.bfloat16)
    assert same_bits(zero, zero.clone()) and not same_bits(zero, -zero)
