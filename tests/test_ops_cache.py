"""Repeated calls: planned once, launched every time, and everything that depends on addresses checked every time."""

from __future__ import annotations

import itertools

import pytest
import torch
from support.operands import LAYOUTS, Shape, operands
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401

from hopper_gemm import Config, Schedule, errors, known, matmul, ops
from hopper_gemm.registry import by_name

BF16 = torch.bfloat16


def ones(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def test_a_seen_problem_is_not_planned_again(pretend_gpu: PretendGpu):  # noqa: F811
    for value in (1, 2, 3):
        y = matmul(ones(64, 32) * value, ones(32, 48))
        assert bool((y == 32 * value).all()) and y.shape == (64, 48) and y.is_contiguous()
    assert pretend_gpu.plans == 1 and len(pretend_gpu.launches) == 3


def test_whatever_changes_the_launch_is_planned_anew(pretend_gpu: PretendGpu):  # noqa: F811
    a, b = ones(64, 64), ones(64, 64)
    variants = [
        lambda: matmul(a, b),
        lambda: matmul(a[:56], b),
        lambda: matmul(a.t(), b),
        lambda: matmul(a, b.t()),
        lambda: matmul(ones(64, 128)[:, :64], b),
        lambda: matmul(a.half(), b.half()),
        lambda: matmul(a.half(), b.half(), accumulate="fp16"),
        lambda: matmul(a, b, out_dtype=torch.float32),
        lambda: matmul(a, b, schedule="pingpong"),
        lambda: matmul(a, b, schedule=Schedule.TMA),
        lambda: matmul(a, b, config="*_64x128x64_*"),
        lambda: matmul(a, b, config=Config(tile=(64, 128))),
        lambda: matmul(a, b, out=ones(64, 64)),
        lambda: matmul(a, b, out=ones(64, 64, dtype=torch.float32)),
        lambda: matmul(a, b, out=ones(64, 128)[:, :64]),
        lambda: matmul(a, b, out=ones(64, 64).t()),
    ]
    for variant in variants:
        variant()
    assert pretend_gpu.plans == len(variants)
    for variant in variants:
        assert bool((variant() == 64).all())
    assert pretend_gpu.plans == len(variants) and len(pretend_gpu.launches) == 2 * len(variants)


def test_short_names_and_members_share_a_plan(pretend_gpu: PretendGpu):  # noqa: F811
    for schedule in ("pingpong", Schedule.PINGPONG):
        matmul(ones(64, 64), ones(64, 64), schedule=schedule)
    assert pretend_gpu.plans == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_reaches_a_kernel_of_that_layout(pretend_gpu: PretendGpu, layout: str):  # noqa: F811
    a, b = operands(Shape(72, 88, 40), layout, BF16, integers=True)
    for _ in range(2):
        assert torch.equal(matmul(a, b), (a.double() @ b.double()).bfloat16())
    assert all(by_name()[name].operand_layout == layout for name in pretend_gpu.launches)


@pytest.mark.parametrize("layout, swapped", [("tn", "tn"), ("tt", "nn"), ("nn", "tt"), ("nt", "nt")])
def test_column_major_out_swaps_the_operands(pretend_gpu: PretendGpu, layout: str, swapped: str):  # noqa: F811
    a, b = operands(Shape(72, 88, 40), layout, BF16, integers=True)
    out = ones(88, 72).t()
    for _ in range(2):
        assert matmul(a, b, out=out.fill_(0)) is out
        assert torch.equal(out, (a.double() @ b.double()).bfloat16())
    assert all(by_name()[name].operand_layout == swapped for name in pretend_gpu.launches)


def test_addresses_are_checked_on_every_call(pretend_gpu: PretendGpu):  # noqa: F811
    a, b = ones(64, 64), ones(64, 64)
    matmul(a, b)
    matmul(a, b, out=ones(64, 64))
    shifted = torch.ones(64 * 64 + 1, dtype=BF16)[1:].view(64, 64)
    for _ in range(2):
        for pair in ((shifted, b), (a, shifted), (shifted, shifted)):
            assert bool((matmul(*pair) == 64).all())
    assert pretend_gpu.copies == [1, 1, 2] * 2
    for out in (a, b):
        with pytest.raises(errors.OverlapError):
            matmul(a, b, out=out)
    buffer = ones(64, 192)
    for _ in range(2):
        matmul(buffer[:, :64], buffer[:, 64:128], out=buffer[:, 128:])
    assert pretend_gpu.plans == 6


def test_grad_is_asked_for_on_every_call(pretend_gpu: PretendGpu):  # noqa: F811
    a, b = ones(64, 64), ones(64, 64)
    assert matmul(a, b).grad_fn is None
    a.requires_grad_()
    assert matmul(a, b).grad_fn is not None
    with torch.no_grad():
        assert matmul(a, b).grad_fn is None
    with pytest.raises(errors.AutogradError):
        matmul(a, b, out=ones(64, 64))
    assert pretend_gpu.plans == 1


def test_a_plain_call_does_not_touch_the_dispatcher(pretend_gpu: PretendGpu, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ops, "through_dispatcher", None)
    a, b = ones(64, 64), torch.nn.Parameter(ones(64, 64))
    with torch.no_grad():
        assert bool((matmul(a, b) == 64).all())
    with torch.inference_mode():
        assert bool((matmul(a, b) == 64).all())


def test_keywords_are_checked_on_every_call(pretend_gpu: PretendGpu):  # noqa: F811
    matmul(ones(64, 64), ones(64, 64))
    with pytest.raises(TypeError, match="schedul"):
        matmul(ones(64, 64), ones(64, 64), schedul="auto")


def test_out_counts_as_modified(pretend_gpu: PretendGpu):  # noqa: F811
    out = ones(64, 64)
    versions = []
    for _ in range(3):
        matmul(ones(64, 64), ones(64, 64), out=out)
        versions.append(out._version)
    assert versions == sorted(set(versions))
    with torch.inference_mode():
        out = ones(64, 64)
        for _ in range(2):
            matmul(ones(64, 64), ones(64, 64), out=out)


def test_the_memories_are_bounded(pretend_gpu: PretendGpu, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    monkeypatch.setattr(known, "MAX_CHOICES", 3)
    for m in range(1, 30):
        matmul(ones(m, 8), ones(8, 8), config=Config(stages=6) if m % 5 == 0 else None, out_dtype=[None, BF16, torch.float16, torch.float32][m % 4])
        assert 0 < len(known.calls) <= 3
    monkeypatch.setattr(ops, "_MAX_CACHED", 5)
    for m in range(1, 30):
        matmul(ones(m, 8), ones(8, 8), alpha=2.0)
        assert 0 < len(ops._recipes) <= 5


def test_a_tuned_table_that_changed_is_looked_at(pretend_gpu: PretendGpu):  # noqa: F811
    for _ in range(2):
        matmul(ones(64, 64), ones(64, 64))
    ops.forget_launches()
    matmul(ones(64, 64), ones(64, 64))
    assert pretend_gpu.plans == 2


def test_torchs_switches_count_for_float32(pretend_gpu: PretendGpu, monkeypatch):  # noqa: F811
    a, b = torch.ones(64, 64), torch.ones(64, 64)
    switch = ["tf32"]
    for module in (ops, known):
        monkeypatch.setattr(module, "fp32_switch", lambda: switch[0])
    options = {"precision": "tf32"}
    for _ in range(2):
        matmul(a, b, **options)
    assert pretend_gpu.plans == 1
    switch[0] = "ieee"
    for _ in range(2):
        matmul(a, b, **options)
    assert pretend_gpu.plans == 2


def test_refusals_are_not_remembered(pretend_gpu: PretendGpu):  # noqa: F811
    for _ in range(2):
        with pytest.raises(errors.ShapeError):
            matmul(ones(64, 63), ones(64, 64))
    assert pretend_gpu.plans == 0 and not known.calls


def test_packed_and_copied_products_are_planned_once(pretend_gpu: PretendGpu):  # noqa: F811
    out = ones(64, 128)[:, ::2]
    for value in (1, 2, 3):
        y = matmul(ones(64, 63) * value, ones(63, 64), out=out)
        assert y is out and bool((y == 63 * value).all())
    assert pretend_gpu.plans == 1 and len(pretend_gpu.launches) == 3 and pretend_gpu.copies == [1, 1] * 3
    assert not known.calls and len(ops._recipes) == 1


def test_batches_take_the_fast_path(pretend_gpu: PretendGpu):  # noqa: F811
    for a, b in ((ones(3, 64, 64), ones(3, 64, 48)), (ones(2, 3, 40, 64), ones(64, 48)), (ones(64), ones(64, 48))):
        for _ in range(3):
            assert bool((matmul(a, b) == 64).all())
    assert pretend_gpu.plans == 3 and len(pretend_gpu.launches) == 9 and [len(memory) for memory in known._memories.values()] == [3]


def test_empty_products_launch_nothing_and_sums_of_nothing_are_the_librarys(pretend_gpu: PretendGpu):  # noqa: F811
    for m, n, k in itertools.product((0, 8), (0, 8), (0, 8)):
        if 0 in (m, n, k):
            assert bool((matmul(ones(m, k), ones(k, n)) == 0).all())
    assert len(pretend_gpu.launches) == 1  # 8 x 8 x 0, which the library clears
