"""The program of epilogue options with pretended times: every set of options computes what torch computes."""

from __future__ import annotations

import json

import pytest
import torch
from support.pretend_time import pretend_time
from support.programs import load_program

import hopper_gemm

epilogue = load_program("epilogue")


@pytest.fixture
def emulated(monkeypatch):
    pretend_time(monkeypatch)
    monkeypatch.setattr(epilogue, "SHAPES", ((72, 48, 64),))
    cuda = epilogue.Operands
    monkeypatch.setattr(epilogue, "Operands", lambda *arguments: cuda(*arguments, device="cpu"))
    with hopper_gemm.emulator():
        yield


@pytest.mark.parametrize("name", [name for name, options in epilogue.OPTIONS.items() if options.dtype == torch.bfloat16])
def test_a_row_of_every_set_of_options(emulated, name):
    notes = []
    row = epilogue.measure_options(name, epilogue.Operands(72, 48, 64, torch.bfloat16, 0), None, 3, 0, notes.append)
    assert notes == [] and row["difference"] < 1e-2 and row["ratio"] > 0 and row["kernel"].startswith("bf16_bf16_f32_tn")
    assert (row["fused_us"] is not None) == (epilogue.OPTIONS[name].fused is not None)
    assert name in epilogue.line(row)


def test_wrong_results_and_errors_are_notes(emulated, monkeypatch):
    o, notes = epilogue.Operands(72, 48, 64, torch.bfloat16, 0), []
    monkeypatch.setattr(hopper_gemm, "matmul", lambda a, b, out, **options: out.fill_(1))
    assert epilogue.measure_options("bias", o, None, 1, 0, notes.append) is None and "from torch's" in notes[0]
    assert epilogue.measure_options("bias", o, "no_kernel", 1, 0, notes.append) is None
    monkeypatch.delattr(hopper_gemm, "matmul")
    assert epilogue.measure_options("bias", o, None, 1, 0, notes.append) is None and "AttributeError" in notes[2]


def test_from_command_line_to_file(emulated, monkeypatch, tmp_path, capsys):
    arguments = ["epilogue.py", "--only", "plain,c+beta", "--rounds", "2", "--json", str(tmp_path / "e.json")]
    monkeypatch.setattr("sys.argv", arguments)
    assert epilogue.main() == 0
    result = json.loads((tmp_path / "e.json").read_text())
    assert [r["options"] for r in result["rows"]] == ["plain", "c+beta"] and "72x48x64 c+beta" in capsys.readouterr().out
