"""`config=`: which kernels a name, a glob or a Config stands for."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
import torch

import hopper_gemm
from hopper_gemm import Config, Schedule, errors, kernels, manifest
from hopper_gemm.config import matching, parse_name
from hopper_gemm.registry import all_kernels


def test_every_name_of_the_manifests_parses_back_to_its_row():
    for name, row in manifest.selected("default,ablation", "*").items():
        fields = parse_name(name)
        assert fields is not None, name
        assert {k: v for k, v in fields.items() if k != "automatic"} == {
            k: v for k, v in manifest.as_dict(row).items() if k != "automatic"
        }, name


def test_other_names_do_not_parse():
    for name in (
        "",
        "pingpong",
        "bf16_f4_f32_tn_64x64x64_c1x1_s5_tma_tma",
        "bf16_bf16_f32_tx_1x1x1_c1x1_s1_tma_tma",
    ):
        assert parse_name(name) is None


def test_kernels_are_filtered_by_glob():
    found = kernels("bf16_*_tn_*_pingpong_*")
    assert found and all(k.schedule is Schedule.PINGPONG and k.layout == "tn" and k.input == "bf16" for k in found)
    assert kernels() == list(all_kernels())
    assert kernels("nothing*") == []


def test_a_kernel_says_what_it_is():
    kernel = kernels("bf16_bf16_f32_tn_128x128x64_c2x1_s6_pingpong_tma")[0]
    assert kernel.tile == (128, 128, 64) and kernel.cluster == (2, 1) and kernel.stages == 6
    assert kernel.threads == 384 and kernel.automatic
    assert 6 * 32768 < kernel.smem <= 232448
    assert hopper_gemm.is_available() or kernel.registers is None


def test_all_five_schedules_in_all_layouts_and_types_are_built():
    for schedule in Schedule:
        for letters in ("tn", "tt", "nn", "nt"):
            for input_type in ("bf16", "f16"):
                assert [
                    k
                    for k in all_kernels()
                    if (k.schedule, k.layout, k.input, k.automatic) == (schedule, letters, input_type, True)
                ], (schedule, letters, input_type)


@pytest.mark.parametrize(
    "config, check",
    [
        (Config(tile=(128, 256)), lambda k: k.tile[:2] == (128, 256)),
        (Config(tile=(64, 64, 64), stages=5), lambda k: k.tile == (64, 64, 64) and k.stages == 5),
        (Config(cluster=(2, 1)), lambda k: k.cluster == (2, 1)),
        (Config(store="direct"), lambda k: k.store == "direct"),
        (Config(accumulate="fp16"), lambda k: k.accumulator == "f16"),
        (Config(), lambda k: k.accumulator in ("f32", "s32")),
    ],
)
def test_a_config_filters(config, check):
    found = matching(config, all_kernels(), None, "bf16")
    assert found and all(check(k) for k in found)


def test_fp16_sums_only_where_asked_for():
    a = torch.ones(64, 64, dtype=torch.float16)
    with hopper_gemm.emulator():
        for schedule in ("auto", *Schedule):
            assert "_f32_" in hopper_gemm.explain(a, a, schedule=schedule).kernel
        assert "_f16_f16_f16_" in "_" + hopper_gemm.explain(a, a, accumulate="fp16").kernel
        assert "f16_f16_f32" in hopper_gemm.explain(a, a, config="*_128x256x64_*").kernel
        assert "f16_f16_f16" in hopper_gemm.explain(a, a, config="f16_f16_f16_*").kernel


def test_config_text():
    assert str(Config(tile=[128, 256], stages=4)) == "Config(tile=(128, 256), stages=4)"


def test_a_field_that_does_not_exist_is_answered_with_the_one_that_was_meant():
    with pytest.raises(errors.ArgumentError, match=r"no field 'tiles'.*did you mean 'tile'|no field 'tiles'.*Did you mean 'tile'"):
        Config(tiles=(128, 256))
    with pytest.raises(TypeError, match="Expected of tile, cluster"):
        Config(nonsense=1)
    for copied in (copy.copy(Config(stages=4)), pickle.loads(pickle.dumps(Config(stages=4))), dataclasses.replace(Config(), stages=4)):
        assert copied == Config(stages=4)
