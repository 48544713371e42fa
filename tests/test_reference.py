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


FLOAT_OUTPUTS = (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2)
KINDS = {"tf32": torch.float32, "fp8": torch.float8_e4m3fn, "bf8": torch.float8_e5m2, "int8": torch.int8}


def typed(dtype: torch.dtype, m: int = 64, n: int = 48, k: int = 256) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    if dtype == torch.int8:
        return tuple(torch.randint(-128, 128, s, generator=generator).to(dtype) for s in ((m, k), (k, n)))
    return tuple(torch.randn(s, generator=generator).to(dtype) for s in ((m, k), (k, n)))


@pytest.mark.parametrize("out", FLOAT_OUTPUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_rounded_exact_results_of_every_type_pass_and_a_dropped_product_does_not(kind, out):
    a, b = typed(KINDS[kind])
    scale = torch.full((), 2.0**-9 if kind == "int8" else 1.0)
    reference = Reference(a, b, scale_a=scale)
    saturated = reference.exact.clamp(-448, 448) if out == torch.float8_e4m3fn else reference.exact
    assert reference.problem_with(saturated.to(out)) == ""
    dropped = Reference(a[:, 1:], b[1:], scale_a=scale).exact.clamp(-448, 448).to(out)
    assert reference.problem_with(dropped) != ""


def test_integer_outputs_are_exact():
    a, b = typed(torch.int8)
    reference = Reference(a, b)
    y = (a.int() @ b.int()).int()
    assert reference.problem_with(y) == ""
    y[2, 3] += 1
    assert "[2, 3]" in reference.problem_with(y)


def test_float32_inputs_are_rounded_to_nearest_for_tf32_and_kept_for_fp32():
    a, b = typed(torch.float32)
    exact = (a.double() @ b.double()).float()
    truncated = [(x.view(torch.int32) & ~0x1FFF).view(torch.float32).double() for x in (a, b)]
    assert Reference(a, b, precision="fp32").problem_with(exact) == ""
    for wrong in (exact, (truncated[0] @ truncated[1]).float()):
        assert "outside the bound" in Reference(a, b).problem_with(wrong)


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh", "silu", "sigmoid"])
def test_the_epilogue_in_its_order(activation):
    a, b = typed(torch.bfloat16, k=64)
    c, residual, bias = torch.randn(64, 48), torch.randn(48).half(), torch.randn(64, 1)
    given = {"alpha": 0.5, "beta": -2.0, "c": c, "bias": bias, "activation": activation, "residual": residual}
    reference = Reference(a, b, **given)
    x = 0.5 * (a.float() @ b.float()) - 2 * c + bias
    functions = torch.nn.functional
    shaped = {
        None: x, "relu": x.relu(), "gelu": functions.gelu(x), "gelu_tanh": functions.gelu(x, approximate="tanh"),
        "silu": functions.silu(x), "sigmoid": x.sigmoid(),
    }[activation]  # fmt: skip
    assert reference.problem_with(shaped + residual) == ""
    assert reference.problem_with((shaped + residual).bfloat16()) == ""
    for missing in ("alpha", "beta", "bias", "residual"):
        rest = {name: value for name, value in given.items() if name != missing}
        assert Reference(a, b, **rest).problem_with(shaped + residual) != ""
    assert Reference(a, b, beta=0.0, c=torch.full_like(c, float("nan"))).problem_with(a.float() @ b.float()) == ""


def test_results_that_lie_together_between_two_numbers_of_the_output_type():
    """A saturated sigmoid and one addend: nearly all results are 1.12 or 2.12, 0.12 from what e5m2 holds."""
    a, b = typed(torch.bfloat16, k=53)
    given = {"alpha": -2.0, "activation": "sigmoid", "residual": torch.full((1, 1), 1.12)}
    right = Reference(a, b, **given)
    assert right.problem_with(right.exact.to(torch.float8_e5m2)) == ""
    dropped = Reference(a[:, 1:], b[1:], **given).exact.bfloat16()
    assert right.problem_with(right.exact.bfloat16()) == "" != right.problem_with(dropped)


@pytest.mark.parametrize("out", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_integers_too_large_for_fp8_saturate(out):
    a, b = torch.full((4, 64), 64.0).bfloat16(), torch.full((64, 8), 64.0).bfloat16()
    reference = Reference(a, b)
    largest = torch.full((4, 8), torch.finfo(out).max).to(out)
    assert reference.inexact_integers(largest) == "" and reference.problem_with(largest) == ""
    for wrong in (float("nan"), torch.finfo(out).max / 2):
        assert "instead of" in reference.inexact_integers(torch.full((4, 8), wrong).to(out))


@pytest.mark.parametrize("out", [torch.float16, torch.float8_e5m2])
def test_infinity_is_what_fp16_overflows_to_and_fp8_does_not(out):
    a, b = torch.full((4, 64), 64.0).half(), torch.full((64, 8), 64.0).half()
    infinite = torch.full((4, 8), float("inf")).to(out)
    assert (Reference(a, b).problem_with(infinite) == "") == (out == torch.float16)
    assert "outside the bound" in Reference(a / 16, b).problem_with(infinite)


def test_fp16_sums_have_a_bound_of_their_own():
    a, b = typed(torch.float16, k=64)
    y = torch.zeros(64, 48, dtype=torch.float16)
    for i in range(0, 64, 16):
        y = (y.double() + a[:, i : i + 16].double() @ b[i : i + 16].double()).half()
    assert Reference(a, b, accumulate="fp16").problem_with(y) == ""
    assert Reference(a, b).problem_with(y) != ""
    y[2, 3] += 1
    assert "[2, 3]" in Reference(a, b, accumulate="fp16").problem_with(y)


def test_batches_and_scales():
    a, b = torch.randn(2, 1, 16, 64).to(torch.float8_e4m3fn), torch.randn(3, 64, 24).to(torch.float8_e4m3fn)
    rows, columns = torch.rand(16, 1) + 0.5, torch.rand(1, 24) + 0.5
    reference = Reference(a, b, scale_a=rows, scale_b=columns)
    y = (a.float() @ b.float()) * rows * columns
    assert reference.exact.shape == (2, 3, 16, 24) and reference.problem_with(y) == ""
    assert Reference(a, b, scale_a=rows, scale_b=columns, scale_result=torch.tensor(0.3)).problem_with(y * 0.3) == ""
    y[1, 2, 3, 4] += 1
    assert "[1, 2, 3, 4]" in reference.problem_with(y)
