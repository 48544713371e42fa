"""The benchmark and the ablation from end to end with pretended times, so that no GPU time is lost to a slip."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rich")
from rich.console import Console
from support import pretend_bench
from support.programs import load_program

from hopper_gemm.bench import peers, report, runner
from hopper_gemm.bench.runner import BenchOptions, run_bench
from hopper_gemm.bench.suites import Case
from hopper_gemm.selector import Card

library = pretend_bench.library

def test_rows_of_all_schedules(library, tmp_path):
    rows, notes = [], []
    options = BenchOptions(
        schedules=("all",), rounds=3, json_path=tmp_path / "r.json", on_row=rows.append, on_note=notes.append
    )
    result = run_bench([Case(64, 72, 80), Case(64, 64, 64, "fp16", "nt")], options)
    assert rows == result["rows"] == json.loads((tmp_path / "r.json").read_text())["rows"]
    assert len(rows) == 12
    assert {r["schedule"] for r in rows} == {"auto", "multistage", "tma", "warp_specialized", "cooperative", "pingpong"}
    assert set(rows[0]) == {
        "m", "n", "k", "dtype", "layout", "schedule", "kernel", "us", "torch_us", "ratio", "floor_us"
    }  # fmt: skip
    assert all(r["ratio"] > 0 and f"_{r['layout']}_" in r["kernel"] for r in rows)
    assert not notes


def test_a_case_that_is_refused_is_a_note(library):
    notes = []
    result = run_bench([Case(64, 64, 64)], BenchOptions(schedules=("pingpng",), rounds=1, on_note=notes.append))
    assert result["rows"] == [] and len(notes) == 1 and "64x64x64" in notes[0] and "pingpng" in notes[0]


def test_a_broken_kernel_is_left_out(library):
    library.broken = "cooperative"
    notes = []
    result = run_bench([Case(64, 64, 64)], BenchOptions(schedules=("all",), rounds=1, on_note=notes.append))
    assert {r["schedule"] for r in result["rows"]} >= {"multistage", "tma", "pingpong"}
    assert not any("cooperative" in r["kernel"] for r in result["rows"])
    assert "it broke" in notes[0]


def test_a_wrong_kernel_is_left_out(library):
    library.wrong = "pingpong"
    notes = []
    result = run_bench([Case(64, 64, 64)], BenchOptions(schedules=("tma", "pingpong"), rounds=1, on_note=notes.append))
    assert [r["schedule"] for r in result["rows"]] == ["tma"] and "wrong result" in notes[0]


def test_many_kernels_are_thinned_out_first(library, monkeypatch):
    monkeypatch.setattr(runner, "kernels", lambda glob: [k for k in library.kernels if "pingpong" in k.name])
    result = run_bench([Case(64, 64, 64)], BenchOptions(schedules=(), kernels="*pingpong*", rounds=2, best=3))
    assert len(result["rows"]) == 3 and len({r["kernel"] for r in result["rows"]}) == 3


def test_time_limit(library):
    notes = []
    options = BenchOptions(rounds=1, seconds=-1.0, on_note=notes.append)
    assert run_bench([Case(64, 64, 64)], options)["rows"] == [] and "1 cases left out" in notes[0]


def test_peers_run_in_the_same_rounds_or_are_left_out_with_a_note(library, monkeypatch):
    def made(case, operands):
        return operands.torch_call

    def absent(case, operands):
        raise ModuleNotFoundError("No module named 'deep_gemm'")

    monkeypatch.setattr(peers, "_PEERS", {"compile": made, "deep_gemm": absent})
    notes = []
    result = run_bench([Case(64, 64, 64)], BenchOptions(rounds=2, peers=("compile", "deep_gemm"), on_note=notes.append))
    assert [r["schedule"] for r in result["rows"]] == ["auto", "compile"] and result["rows"][1]["kernel"] == "compile"
    assert result["rows"][1]["ratio"] > 0 and len(notes) == 1 and "deep_gemm is left out" in notes[0]


def test_the_report_prints_rows_and_means(library, capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(report, "card_of", lambda index: Card())
    options = BenchOptions(rounds=1, json_path=tmp_path / "r.json")
    cases = [Case(64, 64, 64, label="qkv"), Case(64, 64, 64, layout="tt")]
    report.run_and_print(Console(width=200, soft_wrap=True), cases, options, csv_path=tmp_path / "r.csv", plot_folder=tmp_path)
    text = capsys.readouterr().out
    assert text.count("64x64x64") == 2 and "auto: geometric mean" in text and "2 rows" in text and "(qkv)" in text
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0].startswith("label,m,n,k,dtype,layout,schedule,kernel,us") and [x.split(",")[1] for x in lines[1:]] == ["64", "64"]
    for name in ("roofline", "ratios", "sizes"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 5000 and (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_every_ablation_group_names_kernels_of_the_manifests_and_gives_rows(library, monkeypatch):
    from hopper_gemm import manifest

    ablation = load_program("ablation")
    listed = manifest.selected("default,ablation", "*")
    groups = ablation.chosen(None)
    assert {g.topic for g in groups} == {
        "wait_group", "stages", "swizzle", "raster", "cluster", "store", "fp16 sums"
    }  # fmt: skip
    for group in groups:
        assert [v.kernel for v in group.variants if v.kernel not in listed] == []
        assert len(group.variants) >= 2
    by_name = {k.name: k for k in library.kernels}
    monkeypatch.setattr(ablation, "by_name", lambda: by_name)
    monkeypatch.setattr(ablation, "Operands", runner.Operands)
    notes = []
    walks = next(g for g in groups if g.topic == "raster" and g.variants[0].kernel in by_name)
    rows = list(ablation.measure_group(walks, (64, 64, 64), 2, 0, notes.append))
    assert len(rows) == len(walks.variants) and not notes
    assert rows[0]["baseline"] == walks.variants[0].label and rows[0]["speed"] == 1
    sums = next(g for g in groups if g.baselines)
    rows = list(ablation.measure_group(sums, (64, 64, 64), 2, 0, notes.append))
    assert len(rows) == 4 and rows[0]["baseline"] in sums.baselines
