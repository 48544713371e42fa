"""The demo: one product through every schedule, on the GPU or on the emulator, checked against float64."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import torch

from .device import device_info, unavailable_reason
from .emulation import emulator
from .explanation import explain
from .ops import matmul
from .cli.output import print_table
from .schedule import AUTO, Schedule

if TYPE_CHECKING:
    from rich.console import Console

GPU_SHAPE = (4096, 4096, 4096)
EMULATED_SHAPE = (200, 520, 328)  # ragged in every dimension


def run_demo(console: Console, seed: int) -> bool:
    """Prints a table of schedules; True if every result is within its error bound."""
    reason = unavailable_reason()
    device, (m, n, k) = ("cpu", EMULATED_SHAPE) if reason else ("cuda", GPU_SHAPE)
    console.print(
        f"No Hopper GPU ({reason}): the same kernels on the emulator." if reason else f"On {device_info(0)['name']}."
    )
    generator = torch.Generator(device).manual_seed(seed)
    a, b = (torch.randn(s, generator=generator, device=device).bfloat16() for s in ((m, k), (k, n)))
    exact, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    bound = 2.0**-8 * exact.abs() + (k / 16 + 8) * 2.0**-23 * magnitude

    rows = []
    all_right = True
    with emulator(seed=seed) if reason else contextlib.nullcontext():
        for schedule in (AUTO, *Schedule):
            c = matmul(a, b, schedule=schedule)
            worst = float(((c.double() - exact).abs() / bound).max())
            all_right &= worst <= 1
            rows.append(
                (
                    str(schedule),
                    explain(a, b, schedule=schedule).kernel,
                    f"{worst:.2f}" if worst <= 1 else f"{worst:.2f} WRONG",
                    _emulated_time(a, b, schedule) if reason else _gpu_time(a, b, schedule),
                )
            )
    console.print(f"c = matmul(a, b): bf16, {m} x {n} x {k}")
    print_table(("schedule", "kernel", "error / bound", "time"), rows, console)
    console.print("All within the bound of the float64 reference." if all_right else "A result is wrong.")
    return all_right


def _emulated_time(a: torch.Tensor, b: torch.Tensor, schedule: str) -> str:
    begin = time.perf_counter()
    matmul(a, b, schedule=schedule)
    return f"{time.perf_counter() - begin:.2f} s (emulated)"


def _gpu_time(a: torch.Tensor, b: torch.Tensor, schedule: str, calls: int = 20) -> str:
    out = torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=a.dtype)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        matmul(a, b, out=out, schedule=schedule)
    end.record()
    end.synchronize()
    us = 1e3 * begin.elapsed_time(end) / calls
    return f"{us:.1f} us, {2e-6 * a.shape[0] * a.shape[1] * b.shape[1] / us:.0f} TFLOP/s"
