"""Refusals of types, scales, epilogues and batches: of our own kind, in words, before anything is written."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from support.exact import BF16
from support.features import needs

import hopper_gemm
from hopper_gemm import errors, matmul

E4M3 = torch.float8_e4m3fn
FOLDER = Path(__file__).parent


def ones(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.ones(shape).to(dtype)


def refused(kind: type[Exception], call, *words: str) -> str:
    """The text of the refusal, which must be of our own kind, long enough to help, and hold the words."""
    with hopper_gemm.emulator(), pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, errors.HopperGemmError)
    text = str(caught.value)
    for word in words:
        assert word in text, (word, text)
    assert len(text) > 30
    return text


def test_every_error_has_a_test_that_names_it():
    """Abstract ones aside, every class of errors.py is expected somewhere by name."""
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - {"HopperGemmError"}
    named = {
        node.attr
        for path in FOLDER.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert classes - named == set()


# --- types


@pytest.mark.parametrize("value", ["TF32", "high", 32, torch.float32])
def test_unknown_precisions(value):
    refused(errors.OptionError, lambda: matmul(ones(8, 8), ones(8, 8), precision=value), repr(value), "'tf32'", "'fp32'")


@needs("e4m3", "s8")
@pytest.mark.parametrize("first, second", [(E4M3, BF16), (torch.int8, BF16), (E4M3, torch.int8), (torch.float32, BF16)])
def test_types_that_do_not_go_together(first, second):
    a, b = ones(16, 16, dtype=first), ones(16, 16, dtype=second)
    refused(errors.DTypeError, lambda: matmul(a, b), str(first), str(second), "dtype")
    refused(errors.DTypeError, lambda: matmul(b, a), str(first), str(second), "dtype")


@needs("s8")
@pytest.mark.parametrize("output", [torch.int8, torch.int64, torch.bool])
def test_outputs_integers_do_not_have(output):
    x = ones(16, 16, dtype=torch.int8)
    refused(errors.DTypeError, lambda: matmul(x, x, out_dtype=output), str(output), "torch.int32")


# --- epilogue


def with_untouched_out(kind: type[Exception], *words: str, **options: object) -> None:
    out = torch.full((8, 16), 7.0).to(BF16)
    refused(kind, lambda: matmul(ones(8, 8), ones(8, 16), out=out, **options), *words)
    assert bool((out == 7).all())


@pytest.mark.parametrize("shape", [(15,), (8,), (7, 1), (1, 15), (16, 1), (2, 16), (1, 1, 16), (16, 16)])
def test_a_bias_of_the_wrong_shape(shape):
    with_untouched_out(errors.ShapeError, "bias", str(shape), "16", bias=ones(*shape))


@pytest.mark.parametrize("name", ["c", "residual"])
@pytest.mark.parametrize("shape", [(8, 15), (9, 16), (16, 8), (2, 8, 16)])
def test_a_term_that_cannot_be_broadcast(name, shape):
    options = {name: ones(*shape)} | ({"beta": 1.0} if name == "c" else {})
    with_untouched_out(errors.ShapeError, name, str(shape), "(8, 16)", **options)


@pytest.mark.parametrize("name", ["c", "bias", "residual"])
def test_terms_of_a_wrong_kind(name):
    beta = {"beta": 1.0} if name == "c" else {}
    with_untouched_out(errors.DTypeError, name, "torch.int64", **{name: ones(16, dtype=torch.int64)[None], **beta})
    with_untouched_out(errors.ArgumentError, name, "list", **{name: [1.0] * 16, **beta})


def test_beta_without_c():
    with_untouched_out(errors.OptionError, "beta", "c", beta=1.0)


@pytest.mark.parametrize("value", ["swish", "ReLU", "", 3, torch.relu])
def test_unknown_activations(value):
    words = ("activation", repr(value), "'relu'", "'gelu_tanh'", "'sigmoid'")
    with_untouched_out((errors.OptionError, errors.ArgumentError), *words, activation=value)


@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("value", ["2", None, [1.0], 1j])
def test_factors_that_are_no_numbers(name, value):
    with_untouched_out(errors.ArgumentError, name, type(value).__name__, **{name: value, "c": ones(8, 16)})


def test_out_that_overlaps_the_bias():
    out = torch.full((8, 16), 7.0).to(BF16)
    refused(errors.OverlapError, lambda: matmul(ones(8, 8), ones(8, 16), out=out, bias=out[3]), "overlap", "bias")
    assert bool((out == 7).all())


# --- scales


@needs("e4m3")
def test_scales_of_inputs_that_take_none():
    one = torch.ones(())
    text = refused(errors.HopperGemmError, lambda: hopper_gemm.scaled_matmul(ones(8, 8).int(), ones(8, 8).int(), one, one))
    assert "int32" in text


@needs("e4m3")
@pytest.mark.parametrize("scale", ["1", [1.0], 1.0])
def test_scales_that_are_no_tensors(scale):
    x = ones(16, 16, dtype=E4M3)
    refused(errors.ArgumentError, lambda: hopper_gemm.scaled_matmul(x, x, scale, torch.ones(())), "scale_a")


# --- batches and torch's names


@pytest.mark.parametrize("a, b", [((2, 8, 8), (3, 8, 8)), ((4, 2, 8, 8), (3, 8, 8))])
def test_batches_that_cannot_be_broadcast(a, b):
    refused(errors.ShapeError, lambda: matmul(ones(*a), ones(*b)), str(a[:-2]), str(b[:-2]), "batch")


def test_bmm_takes_three_dimensions():
    refused(errors.ShapeError, lambda: hopper_gemm.bmm(ones(8, 8), ones(8, 8)), "(8, 8)", "(B, M, K)")
    refused(errors.ShapeError, lambda: hopper_gemm.bmm(ones(2, 8, 8), ones(1, 8, 8)), "2", "1")


def test_addmm_takes_two_dimensions():
    refused(errors.ShapeError, lambda: hopper_gemm.addmm(ones(8), ones(2, 8, 8), ones(8, 8)), "2")
    refused(errors.ShapeError, lambda: hopper_gemm.addmm(ones(9), ones(8, 8), ones(8, 8)), "(9,)", "(8, 8)")


def test_linear_names_its_weight():
    text = refused(errors.ShapeError, lambda: hopper_gemm.linear(ones(4, 8), ones(16, 7)))
    assert "8" in text and "7" in text
