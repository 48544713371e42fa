"""The command line where there is no GPU: output, exit status, help."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
import hopper_gemm
from hopper_gemm import cli
from hopper_gemm.bench.peers import peer_names
from hopper_gemm.bench.suites import model_names, suite_names


def call(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["hopper_gemm", *arguments])
    return cli.run()


def test_info(monkeypatch, capsys):
    assert call("info", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    for word in ("hopper_gemm", hopper_gemm.__version__, "torch", "CUDA", "GPU", "kernels", "for the emulator"):
        assert word in text


def test_list_filters_by_glob(monkeypatch, capsys):
    assert call("list", "bf16*tn*pingpong*", "--names", monkeypatch=monkeypatch) == 0
    names = capsys.readouterr().out.split()
    assert names == [k.name for k in hopper_gemm.kernels("bf16*tn*pingpong*")] and names
    assert call("list", "bf16*tn*pingpong*", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert names[0] in text and f"{len(names)} kernels" in text


def test_list_of_nothing_says_so_and_fails(monkeypatch, capsys):
    assert call("list", "fp16_*", monkeypatch=monkeypatch) == 1
    assert "f16" in capsys.readouterr().out


def test_explain_says_when_contiguous_tensors_are_packed(monkeypatch, capsys):
    for arguments, packed in ((("512", "512", "511"), "a and b"), (("512", "512", "512"), ""), (("64", "64", "64", "--dtype", "fp8", "--layout", "tt"), "b")):
        assert call("explain", *arguments, monkeypatch=monkeypatch) == 0
        text = capsys.readouterr().out
        assert (f"packs   {packed} to aligned memory first" in text) if packed else "packs" not in text


def test_explain(monkeypatch, capsys):
    assert call("explain", "4096", "4096", "4096", "--sms", "114", "--layout", "tt", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert "114 SMs" in text and "layout tt" in text and "candidates" in text


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("explain", "64", "64", "64", "--schedule", "pingpng"), ("unknown schedule", "pingpong")),
        (("explain", "64", "64", "64", "--layout", "xx"), ("unknown layout", "tn")),
        (("explain", "64", "64", "64", "--dtype", "fp7"), ("unknown dtype", "bf16")),
        (("explain", "64", "64", "64", "--config", "nothing"), ("names no kernel",)),
        (("bench", "--suite", "smke"), ("unknown suite", "smoke")),
        (("bench", "--shapes", "12x12"), ("not a shape", "MxNxK")),
        (("bench", "--shapes", "8:4"), ("not a size or a range", "first:last")),
        (("bench", "--mode", "fast"), ("unknown mode", "burst")),
        (("bench", "--model", "llma-3-8b"), ("unknown model", "llama-3-8b")),
        (("bench", "--model", "llama-3-8b", "--suite", "smoke"), ("more than one list", "--suite and --model")),
        (("bench", "--peers", "cutlas"), ("unknown peer", "deep_gemm")),
        (("plot", "nothing.json"), ("not a result of bench", "FileNotFoundError")),
        (("check", "*", "0", "64", "64"), ("M", "1")),
        (("trace", "*", "64", "64", "-1"), ("-1",)),
        (("explain", "64", "64"), ("Missing argument", "K")),
        (("nonsense",), ("nonsense",)),
    ],
)
def test_wrong_arguments_give_a_sentence_and_status_2(arguments, words, monkeypatch, capsys):
    assert call(*arguments, monkeypatch=monkeypatch) == 2
    text = capsys.readouterr().err
    for word in words:
        assert word in text


@pytest.mark.skipif(hopper_gemm.is_available(), reason="there is a GPU")
def test_bench_without_a_gpu_says_so(monkeypatch, capsys):
    for command in (("bench",), ("profile", "64", "64", "64")):
        assert call(*command, monkeypatch=monkeypatch) == cli.NO_GPU
        text = capsys.readouterr()
        assert "Hopper GPU" in text.err and text.out == ""


@pytest.mark.parametrize("command", [None, *(name for commands in cli.COMMANDS.values() for name in commands)])
def test_help(command, monkeypatch, capsys):
    assert call(*([command] if command else []), "--help", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr()
    assert "Usage" in text.out + text.err


@pytest.mark.skipif(hopper_gemm.is_available(), reason="there is a GPU")
def test_demo_runs_every_schedule_on_the_emulator():
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    command = [sys.executable, "-m", "hopper_gemm", "demo"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    for schedule in ("auto", *hopper_gemm.Schedule):
        assert f"\n{schedule} " in run.stdout
    assert "emulator" in run.stdout and "All within the bound" in run.stdout


def test_info_and_list_as_json(monkeypatch, capsys):
    assert call("info", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["hopper_gemm"].startswith(hopper_gemm.__version__)
    assert call("list", "bf16*tn*pingpong*", "--json", monkeypatch=monkeypatch) == 0
    records = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in records] == [k.name for k in hopper_gemm.kernels("bf16*tn*pingpong*")]
    assert records[0]["schedule"] == "pingpong" and len(records[0]["tile"]) == 3


def test_a_table_is_as_wide_as_its_cells_on_any_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    assert call("list", "bf16*tn*pingpong*", monkeypatch=monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(hopper_gemm.kernels("bf16*tn*pingpong*"))
    assert all(hopper_gemm.kernels(line.split()[0]) for line in lines[1:-1])


def test_version(monkeypatch, capsys):
    assert call("--version", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.split() == ["hopper_gemm", hopper_gemm.__version__]


def test_bench_help_lists_the_choices(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    assert call("bench", "--help", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    for word in (*suite_names(), *model_names(), *peer_names(), "--plot", "--csv", "--json"):
        assert word in text


def test_check_and_trace(monkeypatch, capsys, tmp_path):
    name = next(k.name for k in hopper_gemm.kernels("*pingpong*") if k.emulated and k.cluster_size == 1)
    assert call("check", name, "72", "64", "64", "--seeds", "2", monkeypatch=monkeypatch) == 0
    assert f"{name} at 72x64x64: 2 runs" in capsys.readouterr().out
    assert call("trace", name, "72", "64", "64", "--out", str(tmp_path / "t.json"), monkeypatch=monkeypatch) == 0
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["kernel"] == name


def test_check_reports_what_it_finds_with_status_1(monkeypatch, capsys):
    module = importlib.import_module("hopper_gemm.check")
    run = module.CheckRun(7, ("deadlock: nobody moves",), 1, 0, 0)
    monkeypatch.setattr(module, "run_once", lambda *arguments: run)
    name = next(k.name for k in hopper_gemm.kernels() if k.emulated)
    assert call("check", name, "64", "64", "64", "--seed", "7", monkeypatch=monkeypatch) == 1
    assert "deadlock: nobody moves" in capsys.readouterr().out


def test_plot(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    results = Path(__file__).parents[1] / "benchmarks" / "results"
    for name in ("suite", "schedules"):
        assert call("plot", str(results / f"{name}.json"), "--out", str(tmp_path / name), monkeypatch=monkeypatch) == 0
        paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
        assert len(paths) == 6 and all(p.stat().st_size > 5000 for p in paths)
        assert "H200" in (tmp_path / name / "roofline.svg").read_text() and "851 TFLOP/s" in (tmp_path / name / "roofline.svg").read_text()
    assert "7.33" in (tmp_path / "suite" / "ratios.svg").read_text()  # beyond the axis: said in words
