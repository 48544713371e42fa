"""Tensors that look ordinary and are not, and options at their extremes: refused with a sentence, or right."""

from __future__ import annotations

import pytest
import torch
from support.operands import Shape, operands
from support.reference import Reference

import hopper_gemm
from hopper_gemm import Config, _extension, errors, matmul
from hopper_gemm.registry import all_kernels


class Wrapper(torch.Tensor):
    """A tensor without memory of its own, as quantized weights and distributed tensors are built."""

    @staticmethod
    def __new__(cls, like: torch.Tensor) -> Wrapper:
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, strides=like.stride(), dtype=like.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return operands(Shape(40, 24, 64), "tn", torch.bfloat16)


def test_a_wrapper_without_memory_is_asked_itself():
    a, b = pair()
    with hopper_gemm.emulator(), pytest.raises(NotImplementedError, match="hopper_gemm.matmul"):
        matmul(Wrapper(a), b)


def test_a_view_with_its_negative_bit_set_is_refused():
    a, b = pair()
    with hopper_gemm.emulator():
        with pytest.raises((TypeError, NotImplementedError), match="resolve_neg"):
            matmul(torch._neg_view(a), b)
        y = matmul(torch._neg_view(a).resolve_neg(), b)
    assert Reference(-a, b).problem_with(y) == ""


def test_a_forward_mode_tangent_is_not_dropped():
    a, b = pair()
    with hopper_gemm.emulator(), torch.autograd.forward_ad.dual_level():
        y = matmul(torch.autograd.forward_ad.make_dual(a, torch.ones_like(a)), b)
        tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
    assert Reference(torch.ones_like(a), b).problem_with(tangent) == ""


@pytest.mark.parametrize("raster", [0, 1, 2])
@pytest.mark.parametrize("group", [-3, 0, 5, 2**20, 858993460, 2**30, 2**31 - 1])
def test_any_group_visits_every_tile(raster, group):
    a, b = operands(Shape(200, 330, 64), "tn", torch.bfloat16)
    for schedule in ("pingpong", "tma"):
        kernel = next(
            k
            for k in all_kernels()
            if k.emulated and (k.schedule.value, k.input, k.layout, k.output) == (schedule, "bf16", "tn", "row_major")
        )
        out = torch.full((200, 330), float("nan"), dtype=torch.bfloat16)
        _extension.load().gemm_emulated(kernel.id, a, b, out, raster, group)
        assert Reference(a, b).problem_with(out) == ""


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"tile": 128}, errors.ArgumentError),
        ({"tile": (128, "256")}, errors.ArgumentError),
        ({"stages": "4"}, errors.ArgumentError),
        ({"stages": 0}, errors.ArgumentError),
        ({"consumers": -1}, errors.ArgumentError),
        ({"store": "foo"}, errors.ConfigError),
    ],
)
def test_bad_configs_are_named(fields, error):
    with pytest.raises(error, match=next(iter(fields))):
        Config(**fields)


@pytest.mark.parametrize("sm_count", [0, -3, 2.5])
def test_an_emulator_has_whole_sms(sm_count):
    with pytest.raises(errors.OptionError, match="sm_count"), hopper_gemm.emulator(sm_count=sm_count):
        pass


def test_explain_refuses_what_matmul_refuses():
    a, b = pair()
    with pytest.raises(errors.ShapeError):
        hopper_gemm.explain(a[:, 1:], b)
    with pytest.raises(errors.UnsupportedProblemError, match="empty product"):
        hopper_gemm.explain(a[:0], b)


def test_the_nearest_kernel_of_another_layout_is_one_that_runs():
    a, b = operands(Shape(40, 24, 64), "tt", torch.bfloat16)
    name = "bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma"
    with hopper_gemm.emulator():
        with pytest.raises(errors.UnsupportedProblemError) as caught:
            matmul(a, b, config=name)
        twin = name.replace("_tn_", "_tt_")
        assert f"nearest kernel is {twin}" in str(caught.value)
        assert Reference(a, b).problem_with(matmul(a, b, config=twin)) == ""


def test_explain_of_numbers_says_what_it_takes():
    for arguments in ((4096, 4096, 4096), (4096, 4096), (torch.ones(8, 8), torch.ones(8, 8), 8)):
        with pytest.raises(errors.ArgumentError, match="takes the two tensors.*hopper-gemm explain"):
            hopper_gemm.explain(*arguments)
