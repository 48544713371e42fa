"""Planned products: launched without being planned again, refused for other tensors, and right wherever matmul is."""

from __future__ import annotations

import pytest
import torch
from support.operands import LAYOUTS, Shape, operands
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.programs import load_program

import hopper_gemm
from hopper_gemm import errors, explanation, planned

BF16 = torch.bfloat16


@pytest.fixture
def on_gpu(pretend_gpu: PretendGpu, monkeypatch) -> PretendGpu:  # noqa: F811
    """Plans launch the stand-in of the pretended GPU."""
    monkeypatch.setattr(planned, "_on_gpu", lambda tensor: True)
    monkeypatch.setattr(explanation, "all_kernels", lambda: pretend_gpu.kernels)
    return pretend_gpu


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_plan_is_launched_again_and_again(on_gpu, layout):
    a, b = operands(Shape(72, 88, 40), layout, BF16, integers=True)
    p = hopper_gemm.plan(a, b)
    assert on_gpu.launches == []
    expected = (a.double() @ b.double()).to(BF16)
    out = torch.empty(72, 88, dtype=BF16)
    for _ in range(2):
        assert torch.equal(p(a, b), expected)
        assert p(a, b, out.zero_()) is out and torch.equal(out, expected)
    other = [torch.empty_strided(x.shape, x.stride(), dtype=BF16).copy_(x) for x in (a, b)]
    assert torch.equal(p(*other), expected)
    assert on_gpu.launches == [p.explanation.kernel] * 5 and on_gpu.plans == 0


def test_a_column_major_output_is_planned_as_such(on_gpu):
    a, b = operands(Shape(72, 88, 40), "tn", BF16, integers=True)
    out = torch.empty(88, 72, dtype=BF16).t()
    p = hopper_gemm.plan(a, b, out=out)
    assert p(a, b, out) is out and torch.equal(out, (a.double() @ b.double()).to(BF16)) and on_gpu.plans == 0
    with pytest.raises(errors.ArgumentError, match="out does not lie"):
        p(a, b, torch.empty(72, 88, dtype=BF16))


def test_other_tensors_are_refused(on_gpu):
    a, b = operands(Shape(64, 48, 32), "tn", BF16, integers=True)
    p = hopper_gemm.plan(a, b)
    for name, others in {
        "a": (a[:56], b), "b": (a, b.contiguous()), "a ": (a.float(), b), " b": (a, 3),
    }.items():  # fmt: skip
        with pytest.raises(errors.ArgumentError, match=f"{name.strip()} does not lie"):
            p(*others)
    squares = torch.ones(2, 64, 64).to(BF16)
    with pytest.raises(errors.OverlapError):
        hopper_gemm.plan(*squares)(*squares, squares[0])
    with pytest.raises(errors.DTypeError):
        hopper_gemm.plan(a, b, out_dtype=torch.float64)
    with pytest.raises(TypeError):
        hopper_gemm.plan(a, b, schedul="auto")


def test_options_are_kept(on_gpu):
    a, b = operands(Shape(64, 48, 32), "tn", BF16, integers=True)
    p = hopper_gemm.plan(a, b, schedule="pingpong", out_dtype=torch.float32)
    assert p(a, b).dtype == torch.float32 and "_pingpong_" in on_gpu.launches[0]


def test_options_of_the_epilogue_go_through_matmul(on_gpu, monkeypatch):
    a, b = operands(Shape(64, 48, 32), "tn", BF16, integers=True)
    seen = []
    monkeypatch.setattr(planned.ops, "matmul", lambda *tensors, **options: seen.append(options))
    hopper_gemm.plan(a, b, alpha=2.0, activation="relu")(a, b)
    assert seen == [{"out": None, "alpha": 2.0, "activation": "relu"}]


def test_gradients_go_through_matmul(on_gpu):
    a, b = operands(Shape(64, 48, 32), "tn", BF16, integers=True)
    p = hopper_gemm.plan(a, b)
    assert p(a.requires_grad_(), b).grad_fn is not None
    with torch.no_grad():
        assert p(a, b).grad_fn is None


def test_on_the_emulator():
    a, b = operands(Shape(64, 48, 32), "tt", BF16, integers=True)
    with hopper_gemm.emulator():
        p = hopper_gemm.plan(a, b)
        assert torch.equal(p(a, b), (a.double() @ b.double()).to(BF16))
    with pytest.raises(errors.DeviceError):
        p(a, b)


def test_the_program_that_times_calls(on_gpu, monkeypatch):
    host = load_program("host")
    calls = host.variants(64, device="cpu")
    times = host.measure(calls, 5, 4, 0, lambda: None)
    rows = host.rows(times)
    assert [r["call"] for r in rows] == [name for name in calls if name != "nothing"]
    judged = {r["call"]: r for r in rows if "ok" in r}
    assert set(judged) == set(host.LIMITS) and judged["plan"]["limit"] == 0.6 and judged["plan"]["against"] == "torch.mm"
    assert on_gpu.plans == 4  # with and without out=, of a backward, of a layer
