"""The accuracy program on the emulator, small: that every row comes, and that a worse result is called one."""

from __future__ import annotations

import json

import pytest
import torch
from support import features
from support.programs import load_program
from support.reference import Reference

import hopper_gemm

accuracy = load_program("accuracy")
# What the CPU's torch can do itself; the others need CUDA.
ON_CPU = [(name, output) for name, output in accuracy.COMPARED if name not in ("tf32", "fp32")]
ON_CPU = [(name, output) for name, output in ON_CPU if output == accuracy.ARITHMETIC[name].output]
FEATURE = {"int8": "s8", "fp8": "e4m3", "fp8_fast": "e4m3"}


@pytest.mark.parametrize("name, output", ON_CPU, ids=lambda value: str(value).removeprefix("torch."))
def test_rows(name, output):
    if not features.has(FEATURE.get(name, name)):
        pytest.skip(f"not in this build: {name}")
    generator = torch.Generator().manual_seed(0)
    with hopper_gemm.emulator():
        row = accuracy.row(name, output, 32, 64, generator)
    assert row["k"] == 64 and row["parts"] == 1 and row["ok"] and row["rms_ratio"] <= 1.1
    assert name == "int8" or 0 < row["adversarial"] <= 1


@pytest.mark.parametrize("name", ["bf16", "fp8", "tf32"])
def test_adversarial_data_cancels(name):
    kind = accuracy.ARITHMETIC[name]
    generator = torch.Generator().manual_seed(0)
    for make, least in ((accuracy.cancelling, 20), (accuracy.spread, 2)):
        a, b = make(kind, 48, 40, 1024, generator)
        reference = Reference(a, b, **kind.options)
        assert a.dtype == kind.input and a.stride(1) == 1 and b.stride(0) == 1
        assert float(reference.magnitude.mean() / reference.exact.abs().mean()) > least


def test_errors_are_noted_and_time_ends_the_run():
    notes = []
    with hopper_gemm.emulator():
        assert list(accuracy.rows(["no such type"], [64], 8, 60, "cpu", notes.append)) == [] and notes == []
        assert list(accuracy.rows(["bf16"], [64], 8, -1, "cpu", notes.append)) == []
    assert "time is up" in notes[0]
    assert accuracy.rms_limit(torch.float32, 16384) == 2 and accuracy.rms_limit(torch.bfloat16, 16384) == 1.1
    assert accuracy.rms_limit(torch.float32, 64) == 1.1
    assert accuracy.ratio(2.0, 1.0) == 2 and accuracy.ratio(0.0, 0.0) == 0 and accuracy.ratio(1.0, 0.0) == float("inf")


def test_from_command_line_to_file(monkeypatch, tmp_path):
    rows = accuracy.rows
    monkeypatch.setattr(accuracy, "rows", lambda *arguments: rows(*arguments[:4], "cpu", arguments[5]))
    monkeypatch.setattr(accuracy, "COMPARED", [("bf16", torch.bfloat16), ("fp16", torch.float16)])
    monkeypatch.setattr("sys.argv", ["accuracy.py", "--ks", "64", "--size", "16", "--json", str(tmp_path / "a.json")])
    with hopper_gemm.emulator():
        assert accuracy.main() == 0
    result = json.loads((tmp_path / "a.json").read_text())
    assert [r["type"] for r in result["rows"]] == ["bf16", "fp16"] and result["notes"] == []
