"""Runs a piece of Python in a fresh process, where products run on the device of the test: cases about first calls."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

PRELUDE = """
import torch, hopper_gemm
from hopper_gemm import matmul
device = {device!r}
def full(value, *shape): return torch.full(shape, float(value), device=device, dtype=torch.bfloat16)
def ones(*shape): return full(1, *shape)
def wait(): torch.cuda.synchronize() if device == "cuda" else None
"""


def environment(device: str, **changes: str) -> dict[str, str]:
    """This environment, with the emulator or without."""
    plain = {k: v for k, v in os.environ.items() if k not in ("HOPPER_GEMM_EMULATE", "HOPPER_GEMM_LOG")}
    emulator = {"HOPPER_GEMM_EMULATE": "1", "CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    return plain | emulator | changes


def start(code: str, device: str, *, prefix: tuple[str, ...] = (), **changes: str) -> subprocess.Popen[str]:
    program = PRELUDE.format(device=device) + textwrap.dedent(code)
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(device, **changes),
    )  # fmt: skip


def finish(process: subprocess.Popen[str], timeout: float = 120) -> str:
    """What it printed; fails with the end of its stderr if it failed, and ends it if it hangs."""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == 0, (process.returncode, output[-1000:], errors[-3000:])
    return output


def python(code: str, device: str, *, timeout: float = 120, **changes: str) -> str:
    """Runs `code` behind `PRELUDE` and returns what it printed."""
    return finish(start(code, device, **changes), timeout)
