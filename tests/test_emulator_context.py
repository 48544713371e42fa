"""Asking for the emulator: context, environment variable, warning, reports, log."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch

import hopper_gemm
from hopper_gemm import matmul
from hopper_gemm.emulation import current_emulator


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.bfloat16)


def run(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **env}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_only_inside_the_context_and_nested():
    with hopper_gemm.emulator(seed=1) as outer:
        assert current_emulator() is outer
        with hopper_gemm.emulator(seed=2) as inner:
            assert current_emulator() is inner and inner.seed == 2
        assert current_emulator() is outer
    assert current_emulator() is None


def test_the_context_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), hopper_gemm.emulator():
        1 / 0  # noqa: B018
    assert current_emulator() is None


def test_another_thread_is_not_affected():
    seen = []
    with hopper_gemm.emulator():
        thread = threading.Thread(target=lambda: seen.append(current_emulator()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_reports_are_kept():
    with hopper_gemm.emulator() as emulator:
        for _ in range(3):
            matmul(ones(8, 8), ones(8, 8))
    assert len(emulator.reports) == 3
    assert all(report["findings"] == [] and report["steps"] > 0 for report in emulator.reports)


def test_the_environment_variable():
    code = (
        "import torch, hopper_gemm as hg\n"
        "a = torch.ones(8, 16, dtype=torch.bfloat16)\n"
        "print(float(hg.matmul(a, a.t()).sum()))\n"
    )
    assert run(code, HOPPER_GEMM_EMULATE="1").stdout.strip() == str(8.0 * 8 * 16)
    refused = run(code, HOPPER_GEMM_EMULATE="0")
    assert refused.returncode == 1 and "HOPPER_GEMM_EMULATE=1" in refused.stderr


def test_a_long_run_says_so_first(monkeypatch):
    from hopper_gemm import emulation

    monkeypatch.setattr(emulation, "EMULATED_MACS_PER_SECOND", 1e4)
    with hopper_gemm.emulator(), pytest.warns(hopper_gemm.EmulatorWarning, match=r"will take about \d+ s"):
        matmul(ones(16, 16), ones(16, 16))


def test_the_log_names_each_problem_once():
    code = (
        "import torch, hopper_gemm as hg\n"
        "a, b = (torch.ones(8, k, dtype=torch.bfloat16) for k in (16, 32))\n"
        "with hg.emulator():\n"
        "    for _ in range(3): hg.matmul(a, a.t())\n"
        "    hg.matmul(b, b.t(), schedule='tma')\n"
    )
    lines = run(code, HOPPER_GEMM_LOG="1").stderr.strip().splitlines()
    assert len(lines) == 2
    assert "8 x 8 x 16" in lines[0] and "schedule 'auto'" in lines[0] and "bf16_bf16_f32_tn" in lines[0]
    assert "_tma_" in lines[1] and "predicted" in lines[1]
    assert run(code).stderr == ""
