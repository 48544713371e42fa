"""The benchmark's parts that need no GPU: suites, shapes, statistics, JSON, the hash of the sources."""

from __future__ import annotations

import json
import math
import random

import pytest
import torch

from hopper_gemm import errors
from hopper_gemm.bench import environment, measure, runner, suites
from hopper_gemm.bench.suites import (
    Case,
    cases_of,
    load_model_layers,
    load_suite,
    model_names,
    parse_extents,
    parse_shapes,
    suite_names,
)


def test_every_suite_loads():
    assert {"peers", "schedules", "smoke", "layouts", "types"} <= set(suite_names())
    for name in suite_names():
        cases = load_suite(name)
        assert cases and len(set(cases)) == len(cases)
    assert len(load_suite("peers")) == 39


def test_layouts_and_dtypes_are_replaced():
    assert {c.layout for c in load_suite("smoke", layouts=["nt"])} == {"nt"}
    assert {c.dtype for c in load_suite("smoke", dtypes=["fp16", "bf16"])} == {"fp16", "bf16"}
    with pytest.raises(errors.OptionError, match="unknown layout 'xy'"):
        load_suite("smoke", layouts=["xy"])


def test_shapes():
    assert parse_shapes("4096, 1x2x3") == [(4096, 4096, 4096), (1, 2, 3)]
    assert cases_of([(1, 2, 3)], ["tn", "tt"], ["bf16"])[1] == Case(1, 2, 3, "bf16", "tt")
    for bad in ("", "1x2", "axbxc", "0", "-1"):
        with pytest.raises(errors.OptionError, match="not a shape"):
            parse_shapes(bad)


def test_ranges_of_shapes():
    assert parse_extents("4096") == [4096] and parse_extents("512:5000") == [512, 1024, 2048, 4096]
    assert parse_extents("1:64:*4") == [1, 4, 16, 64] and parse_extents("1024:2048:512") == [1024, 1536, 2048]
    assert parse_shapes("64:128") == [(64, 64, 64), (128, 128, 128)]
    assert parse_shapes("1:2x8x16:32, 5") == [(1, 8, 16), (1, 8, 32), (2, 8, 16), (2, 8, 32), (5, 5, 5)]
    for bad in ("2:1", "0:4", "1:4:*1", "1:4:0", "1:2:3:4", "a:b"):
        with pytest.raises(errors.OptionError, match="not a shape"):
            parse_shapes(bad)


def test_layers_of_models():
    cases = load_model_layers("llama-3-8b", [1, 4096])
    assert [(c.m, c.n, c.k) for c in cases[:2]] == [(1, 6144, 4096), (1, 4096, 4096)] and len(cases) == 10
    assert cases[0].label == "qkv" and cases[-1] == Case(4096, 128256, 4096)
    assert {"llama-3-8b", "llama-3-70b", "deepseek-v3"} <= set(model_names())
    for name in model_names():
        assert all(c.n % 64 == 0 and c.k % 64 == 0 for c in load_model_layers(name, [16], ["tn"], ["fp16"]))
    with pytest.raises(errors.OptionError, match="did you mean 'llama-3-8b'|Did you mean 'llama-3-8b'"):
        load_model_layers("llama-3-8", [1])


def test_inputs_rotate_beyond_the_l2():
    assert measure.input_sets(2 * 2 * 4096 * 4096) * 2 * 2 * 4096 * 4096 > 200e6
    assert measure.input_sets(1 << 30) == 1
    assert measure.input_sets(16) == measure.MAX_CALLS


def test_graphs_hold_whole_rotations_but_not_seconds():
    assert [measure.calls_in_graph(*x) for x in ((200, 3), (512, 2), (5, 15), (3, 200), (1, 1300))] == [400, 512, 100, 6, 1]
    assert measure.calls_in_graph(512, 15) == 512 and measure.calls_in_graph(512, 150) == 40 and measure.calls_in_graph(9, 7000) == 1


def test_outputs_of_a_large_product_take_turns():
    few = measure.rotated_outputs(512, (16384, 16384), torch.bfloat16, "meta")
    assert len(few) == 512 and len(set(map(id, few))) == 1
    assert len(set(map(id, measure.rotated_outputs(512, (4096, 8192), torch.bfloat16, "meta")))) == 3
    assert len(set(map(id, measure.rotated_outputs(512, (16, 16), torch.bfloat16, "meta")))) == 512


def test_ratios_are_taken_within_rounds():
    ours, theirs = measure.Timing((10.0, 20.0, 40.0)), measure.Timing((11.0, 22.0, 400.0))
    assert ours.us == 20.0
    assert math.isclose(ours.ratio_to(theirs), 1.1)


def test_rounds_differ_in_length_and_are_alike_within():
    class Candidate:
        def __init__(self):
            self.parts = []

        def round_us(self, shortened):
            self.parts.append(shortened)
            return 1.0

    candidates = {"a": Candidate(), "b": Candidate()}
    measure.time_interleaved(candidates, 12, order=random.Random(0), shortened=0.5)
    assert candidates["a"].parts == candidates["b"].parts and len(set(candidates["a"].parts)) == 12
    assert all(0.4 <= part <= 0.6 for part in candidates["a"].parts)


def test_the_floor_is_the_larger_of_arithmetic_and_traffic():
    assert math.isclose(runner.floor_us(Case(4096, 4096, 4096), "sustained"), 161.5, rel_tol=0.01)
    assert math.isclose(runner.floor_us(Case(16, 6144, 4096), "burst"), 10.9, rel_tol=0.02)


def test_the_result_is_one_object_with_a_row_a_line(tmp_path):
    path = tmp_path / "deep" / "result.json"
    result = {**environment.environment("sustained"), "rows": [{"m": 1, "us": 2.5}, {"m": 2, "us": 3.5}]}
    runner.write_json(path, result)
    assert json.loads(path.read_text()) == result
    assert path.read_text().count("\n") < 25
    for key in ("gpu", "power_limit_w", "torch", "cuda", "commit", "sources_sha", "date", "command", "mode"):
        assert key in result
    runner.write_json(path, {**result, "rows": []})
    assert json.loads(path.read_text())["rows"] == []


def test_a_benchmark_needs_a_gpu():
    import hopper_gemm

    if hopper_gemm.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(errors.DeviceError):
        runner.run_bench([Case(64, 64, 64)], runner.BenchOptions())


def test_suites_are_package_data():
    assert suites._FOLDER.parent.name == "bench" and (suites._FOLDER / "smoke.json").is_file()
