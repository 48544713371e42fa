"""The program of odd problems and types with pretended times: its table, its operands, and that failures become notes."""

from __future__ import annotations

import dataclasses
import json
import types

import pytest
import torch
from support.pretend_time import pretend_time
from support.programs import load_program

import hopper_gemm
from hopper_gemm import manifest

any_problem = load_program("any_problem")


def test_the_table_is_the_one_promised():
    by_about = {c.about: c for c in any_problem.COMPARISONS}
    assert by_about["odd K"].limit == 4.0 and by_about["odd N, row-major"].limit == 4.5
    assert by_about["B stored (K, N)"].limit == 1.6 and len(any_problem.COMPARISONS) == 4 + 5 * 3
    sliced = by_about["slices 2 bytes in, pitch 8,200 bytes"]
    assert sliced.of_aligned == 1.25


def test_operands_lie_as_asked():
    c = any_problem.Comparison("odd", "", 6, 5, 4096, a=any_problem.SLICED, b=any_problem.Memory(k_major=False))
    sets = any_problem.Operands(c, c.a, c.b, seed=0, device="cpu")
    a, b = sets.a[0], sets.b[0]
    assert a.shape == (6, 4096) and a.stride() == (4100, 1) and a.stride(0) * 2 == 8200 and a.data_ptr() % 16 == 2
    assert b.shape == (4096, 5) and b.stride() == (5, 1) and sets.out[0].shape == (6, 5)
    assert torch.equal(any_problem.Operands(c, c.a, c.b, 0, "cpu").a[0], a)


@pytest.fixture
def small(monkeypatch):
    pretend_time(monkeypatch)
    monkeypatch.setattr(hopper_gemm, "matmul", lambda a, b, out, **options: out.copy_(a.double() @ b.double()))
    return dataclasses.replace


def test_a_row_of_every_comparison(small):
    done = 0
    for c in any_problem.COMPARISONS:
        c = dataclasses.replace(c, m=24, n=16, k=64 + c.k % 2)
        notes = []
        row = any_problem.compare(c, 3, 0, notes.append, device="cpu")
        assert notes == [] and row["ratio"] > 0 and row["difference"] < 1e-2, (c, notes)
        assert (row["of_beside"] is not None) == bool(c.of_aligned)
        assert row["ok"] == ((row["ratio"] >= c.limit) and (not c.of_aligned or row["of_beside"] <= c.of_aligned))
        assert str(row["m"]) in any_problem.line(row)
        done += 1
    assert done == len(any_problem.COMPARISONS)


def test_wrong_results_and_errors_are_notes(small, monkeypatch):
    c = dataclasses.replace(any_problem.COMPARISONS[0], m=8, n=8, k=64)
    notes = []
    monkeypatch.setattr(hopper_gemm, "matmul", lambda a, b, out, **options: out.fill_(1))
    assert any_problem.compare(c, 1, 0, notes.append, "cpu") is None and "from torch's" in notes[0]

    def refuses(*args, **kwargs):
        raise NotImplementedError("not today\nwith details")

    monkeypatch.setattr(hopper_gemm, "matmul", refuses)
    assert any_problem.compare(c, 1, 0, notes.append, "cpu") is None
    assert notes[1].endswith("NotImplementedError: not today")
    assert list(any_problem.rows(["odd"], 1, -1, 0, notes.append)) == [] and "time is up" in notes[2]


def test_the_plain_path_beside_kernels_without_options(small, monkeypatch):
    name = "bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma"
    built = [types.SimpleNamespace(name=n, compiled=True) for n in (name, f"{name}_unfused", "bf16_x_tn_other_unfused")]
    monkeypatch.setattr(hopper_gemm, "kernels", lambda glob: built)
    monkeypatch.setattr(any_problem, "PLAIN_SHAPES", ((16, 24, 64), (8, 8, 8)))
    seen = []

    def matmul(a, b, out, config):
        seen.append(config)
        return out.copy_(a.double() @ b.double())

    monkeypatch.setattr(hopper_gemm, "matmul", matmul)
    notes = []
    rows = list(any_problem.plain_rows(2, 0, notes.append, device="cpu"))
    assert len(rows) == 2 and not notes and set(seen) == {name, f"{name}_unfused"}
    assert rows[0]["about"] == name and rows[0]["beside"] == "compiled without options" and rows[0]["beside_limit"] == 1.01
    assert rows[0]["ok"] == (rows[0]["of_beside"] <= 1.01)
    monkeypatch.setattr(hopper_gemm, "kernels", lambda glob: [])
    assert list(any_problem.plain_rows(2, 0, notes.append, device="cpu")) == [] and "ablation" in notes[0]


def test_kernels_without_options_have_their_twins():
    listed = manifest.selected("default,ablation", "*")
    unfused = [name for name in listed if name.endswith(any_problem.UNFUSED)]
    assert unfused and all(name.removesuffix(any_problem.UNFUSED) in listed for name in unfused)


def test_from_command_line_to_file(small, monkeypatch, tmp_path, capsys):
    cpu_compare = any_problem.compare
    tiny = [dataclasses.replace(c, m=8, n=8, k=32, limit=0.0, of_aligned=0.0) for c in any_problem.COMPARISONS[:2]]
    monkeypatch.setattr(any_problem, "COMPARISONS", tiny)
    monkeypatch.setattr(any_problem, "compare", lambda *arguments: cpu_compare(*arguments, device="cpu"))
    monkeypatch.setattr("sys.argv", ["any_problem.py", "--only", "odd", "--rounds", "2", "--json", str(tmp_path / "a.json")])
    assert any_problem.main() == 0
    result = json.loads((tmp_path / "a.json").read_text())
    assert len(result["rows"]) == 2 and result["notes"] == [] and "odd K" in capsys.readouterr().out
