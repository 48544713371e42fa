"""tools/gpu_smoke.py and the sanitizer's record without a GPU: the products it adds to every kernel, on the emulator."""

from __future__ import annotations

import json
import sys

import pytest
from support.problems import for_kernel, run
from support.programs import load_program

import hopper_gemm
from hopper_gemm import _C, Schedule
from hopper_gemm.registry import all_kernels

gpu_smoke, sanitize_record = (load_program(name, "tools") for name in ("gpu_smoke", "sanitize_record"))


@pytest.mark.parametrize("product", list(gpu_smoke.packed_products()), ids=lambda p: f"{p.a_dtype} {p.precision} {p.a_batch} {p.scale_a}")
def test_what_is_packed(product):
    with hopper_gemm.emulator():
        assert run(product, "cpu") == ""


@pytest.mark.parametrize("schedule", Schedule)
def test_every_option_at_once(schedule):
    kernel = next(k for k in all_kernels() if k.emulated and k.schedule is schedule)
    with hopper_gemm.emulator():
        assert run(for_kernel(kernel, 70, 72, 40, **gpu_smoke.OPTIONS), "cpu") == ""


def test_every_kernel_meets_every_group_it_can():
    records = _C.kernels()
    listed = [(group, types) for group, types, _, _ in gpu_smoke.checks(records, gpu_smoke.SHAPES[:1])]
    groups = {group: sum(g == group for g, _ in listed) for group in ("slices", "options", "packing")}
    sums = [record["accumulator"] for record in records]
    assert groups["slices"] == sums.count("f32") and groups["options"] == len(sums) - sums.count("s32")
    assert groups["packing"] == len(list(gpu_smoke.packed_products()))
    assert {types for group, types in listed if group == "kernels"} == {k.input for k in all_kernels()}


def test_the_record_says_what_was_covered(tmp_path, monkeypatch):
    covered = {"kernels": {"bf16": 2}, "packing": {"s8": 1}}
    text = f"gpu_smoke: covered {json.dumps(covered)}\ngpu_smoke: 3 passed, 0 failed\n========= ERROR SUMMARY: 0 errors\n"
    (tmp_path / "memcheck.log").write_text(text)
    monkeypatch.setattr(sys, "argv", ["sanitize_record.py", str(tmp_path), str(tmp_path / "sanitize.json")])
    sanitize_record.main()
    tool = json.loads((tmp_path / "sanitize.json").read_text())["tools"]["memcheck"]
    assert tool["covered"] == covered and (tool["products_passed"], tool["errors"]) == (3, 0)
