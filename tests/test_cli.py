"""The command line where there is no GPU: output, exit status, help."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("typer")
import hopper_gemm
from hopper_gemm import cli


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


def test_explain_says_when_contiguous_tensors_would_be_refused(monkeypatch, capsys):
    assert call("explain", "512", "512", "511", monkeypatch=monkeypatch) == 0
    assert "16-byte rule" in capsys.readouterr().out
    assert call("explain", "512", "512", "512", monkeypatch=monkeypatch) == 0
    assert "16-byte rule" not in capsys.readouterr().out


def test_explain(monkeypatch, capsys):
    assert call("explain", "4096", "4096", "4096", "--sms", "114", "--layout", "tt", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert "114 SMs" in text and "layout tt" in text and "candidates" in text


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("explain", "64", "64", "64", "--schedule", "pingpng"), ("unknown schedule", "pingpong")),
        (("explain", "64", "64", "64", "--layout", "xx"), ("unknown layout", "tn")),
        (("explain", "64", "64", "64", "--dtype", "fp8"), ("unknown dtype", "bf16")),
        (("explain", "64", "64", "64", "--config", "nothing"), ("names no kernel",)),
        (("bench", "--suite", "smke"), ("unknown suite", "smoke")),
        (("bench", "--shapes", "12x12"), ("not a shape", "MxNxK")),
        (("bench", "--mode", "fast"), ("unknown mode", "burst")),
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
    assert call("bench", monkeypatch=monkeypatch) == cli.NO_GPU
    assert "Hopper GPU" in capsys.readouterr().err


@pytest.mark.parametrize("command", [None, "demo", "info", "list", "explain", "bench"])
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
