"""Repeated calls with options: launched from C++ without Python's checks, for whatever numbers and addresses are usual; the
rest goes the long way, with the same results and refusals.
"""

from __future__ import annotations

import math

import pytest
import torch
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.reference import Reference

import hopper_gemm
from hopper_gemm import errors, known, linear, matmul, ops, products, scaled_matmul

BF16, F32 = torch.bfloat16, torch.float32


def integers(*shape: int, seed: int = 0, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.fixture
def long_ways(pretend_gpu: PretendGpu, monkeypatch: pytest.MonkeyPatch) -> list[str]:  # noqa: F811
    """One entry for each call that went the long way."""
    seen, long_way = [], ops.long_way

    def counted(*arguments):
        seen.append("long")
        return long_way(*arguments)

    for module in (ops, products):
        monkeypatch.setattr(module, "long_way", counted)
    return seen


A, B = (16, 32), (32, 24)
OPTIONS = {
    "bias": lambda seed: {"bias": integers(24, seed=seed)},
    "bias per row": lambda seed: {"bias": integers(16, 1, seed=seed, dtype=F32)},
    "alpha": lambda seed: {"alpha": 0.25 * seed},
    "whole numbers": lambda seed: {"alpha": seed, "beta": seed + 1, "c": integers(24, seed=seed)},
    "c": lambda seed: {"c": integers(24, 16, seed=seed, dtype=torch.half).t(), "beta": -0.5 * seed},
    "c that is not read": lambda seed: {"c": torch.full((16, 24), math.nan)},
    "activation": lambda seed: {"activation": "gelu"},
    "residual": lambda seed: {"residual": integers(16, 24, seed=seed), "activation": "relu"},
    "all": lambda seed: {
        "bias": integers(24, seed=seed), "c": integers(16, 1, seed=seed + 1), "beta": 2.0, "alpha": 0.5,
        "residual": integers(16, 24, seed=seed + 2), "activation": "silu",
    },
}  # fmt: skip


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_only_the_first_call_goes_the_long_way(long_ways, options, given):
    for seed in range(1, 4):
        a, b, out = integers(*A, seed=seed), integers(*B, seed=seed + 9), torch.empty(16, 24, dtype=BF16)
        keywords = OPTIONS[options](seed)
        y = matmul(a, b, out=out if given else None, **keywords)
        assert Reference(a, b, **keywords).problem_with(y) == ""
        assert not given or y is out
    assert long_ways == ["long"]


def test_layers_and_named_products(long_ways):
    x, weight, bias = integers(2, 8, 32), integers(24, 32), integers(24)
    layer = hopper_gemm.nn.Linear(32, 24, activation="relu", dtype=BF16).requires_grad_(False)
    calls = [
        lambda: linear(x, weight, bias),
        lambda: layer(x),
        lambda: hopper_gemm.addmm(bias, x[0], weight.t()),
        lambda: hopper_gemm.baddbmm(bias, x, weight.t().expand(2, 32, 24)),
    ]
    for count, call in enumerate(calls, 1):
        first = call()
        assert torch.equal(call(), first) and len(long_ways) == count


def test_scaled_products(long_ways):
    a, b = integers(16, 32).to(torch.float8_e4m3fn), integers(24, 32).to(torch.float8_e4m3fn).t()
    for scale in (1.0, 2.0, 4.0):
        row, column = torch.full((16, 1), scale), torch.full((1, 24), 3.0)
        y = scaled_matmul(a, b, row, column, bias=integers(24))
        assert torch.equal(y, (3 * scale * (a.double() @ b.double()) + integers(24).double()).to(BF16))
    assert long_ways == ["long"]
    scaled_matmul(a, b, torch.ones(1), column)
    assert len(long_ways) == 2


def test_whatever_changes_the_epilogue_is_another_product(long_ways):
    a, b, bias = integers(*A), integers(*B), integers(24)
    variants = [
        {"bias": bias}, {"bias": bias[None]}, {"bias": bias.float()}, {"bias": integers(48)[::2]}, {"bias": integers(16, 1)},
        {"c": bias, "beta": 1.0}, {"residual": bias}, {"bias": bias, "activation": "relu"}, {"bias": bias, "activation": "silu"},
        {"c": bias}, {"alpha": 2.0}, {"bias": bias, "residual": bias}, {"bias": bias, "out_dtype": F32},
    ]  # fmt: skip
    for _ in range(2):
        for variant in variants:
            values = {name: value for name, value in variant.items() if name != "out_dtype"}
            assert Reference(a, b, **values).problem_with(matmul(a, b, **variant)) == ""
    assert len(long_ways) == len(variants)


def test_an_addend_may_be_out_and_nothing_else_may_overlap_it(long_ways):
    a, b, out = integers(*A), integers(*B), integers(16, 24, seed=3)
    for name in ("c", "residual"):
        for _ in range(2):
            before, version = out.clone(), out._version
            assert matmul(a, b, out=out, **{name: out}, **({"beta": 1.0} if name == "c" else {})) is out
            assert torch.equal(out.double(), (a.double() @ b.double() + before.double()).to(BF16).double())
            assert out._version > version
    assert len(long_ways) == 2
    memory = integers(17, 24, seed=4)
    for _ in range(2):
        matmul(a, b, out=out, residual=memory[1:])
        with pytest.raises(errors.OverlapError, match="out and residual"):
            matmul(a, b, out=memory[:16], residual=memory[1:])
        with pytest.raises(errors.OverlapError, match="out and bias"):
            matmul(a, b, out=out, bias=out[0])


def test_beta_of_zero_does_not_look_at_c(long_ways):
    a, b, out = integers(*A), integers(*B), torch.empty(16, 24, dtype=BF16)
    want = (a.double() @ b.double()).to(BF16)
    for beta in (0, 0.0, 0, False):
        assert torch.equal(matmul(a, b, c=out[:1], beta=beta, out=out), want)
    assert len(long_ways) == 2  # False is no number of C++'s
    with pytest.raises(errors.OverlapError):
        matmul(a, b, c=out[:1], beta=1.0, out=out)
    with pytest.raises(errors.OptionError, match="beta has nothing"):
        matmul(a, b, beta=1.0)


def test_refusals_come_after_a_call_like_it_too(long_ways):
    a, b, bias = integers(*A), integers(*B), integers(24)
    matmul(a, b, bias=bias)
    with pytest.raises(errors.ArgumentError, match="bias is not a tensor"):
        matmul(a, b, bias=3)
    with pytest.raises(errors.ArgumentError, match="alpha is not a number"):
        matmul(a, b, bias=bias, alpha=torch.ones(()))
    for unknown in ("none", "relo", 3):
        with pytest.raises(errors.OptionError, match="unknown activation"):
            matmul(a, b, bias=bias, activation=unknown)
    with pytest.raises((errors.DTypeError, TypeError), match="resolve_neg"):
        matmul(a, b, bias=torch._neg_view(bias))
    with pytest.raises(TypeError):
        matmul(a, b, bias=bias, alpha=10**400)
    released = bias.clone()
    released.untyped_storage().resize_(0)
    with pytest.raises(errors.ArgumentError, match="no memory"):
        matmul(a, b, bias=released)


def test_negative_views_are_not_taken_for_what_they_are_views_of(long_ways):
    a, b = integers(*A), integers(*B)
    matmul(a, b)
    with pytest.raises((TypeError, AssertionError), match="resolve_neg"):  # the latter of the pretended GPU
        matmul(torch._neg_view(a), b)


def test_addends_that_are_copied_first_are_not_remembered(long_ways):
    a, b = integers(2, 3, 8, 32), integers(32, 24)
    irregular = integers(3, 2, 8, 24).transpose(0, 1)
    for _ in range(3):
        assert Reference(a, b, residual=irregular).problem_with(matmul(a, b, residual=irregular)) == ""
    assert len(long_ways) == 3 and not known.calls


def test_what_the_dispatcher_has_work_for(long_ways):
    a, b, bias = integers(*A), integers(*B), integers(24)
    matmul(a, b, bias=bias)
    assert len(long_ways) == 1
    with torch.autocast("cpu", dtype=BF16):
        matmul(a, b, bias=bias)
    torch.func.vmap(lambda x: matmul(a, b, bias=x))(integers(2, 24))
    assert len(long_ways) > 2
    with pytest.raises(errors.AutogradError, match="written to out="):
        matmul(a, b, bias=bias.float().requires_grad_(), out=torch.empty(16, 24, dtype=BF16))


def test_what_was_forgotten_is_remembered_again(long_ways):
    a, b, bias = integers(*A), integers(*B), integers(24)
    for options in ({}, {"bias": bias}):
        long_ways.clear()
        for _ in range(3):
            matmul(a, b, **options)
        known.forget()
        for _ in range(3):
            matmul(a, b, **options)
        assert len(long_ways) == 2
