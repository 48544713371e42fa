"""The benchmark as a person sees it: rows while they finish, then the geometric mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, sentence
from .runner import BenchOptions, run_bench
from .suites import cases_of, load_suite, parse_shapes

if TYPE_CHECKING:
    from rich.console import Console


def run_and_print(
    console: Console,
    *,
    suite: str | None,
    shapes: str | None,
    layouts: Sequence[str] | None,
    dtypes: Sequence[str] | None,
    schedules: Sequence[str],
    kernels: str | None,
    rounds: int,
    best: int,
    mode: str,
    seconds: float,
    seed: int,
    json_path: Path | None,
) -> dict[str, Any]:
    """Runs a suite or a list of shapes; prints and returns the result.

    Raises:
        OptionError: an unknown suite, shape, layout, dtype or mode.
        DeviceError: no Hopper GPU.
    """
    if mode not in ("sustained", "burst"):
        raise OptionError(sentence(f"unknown mode {mode!r}", expected="sustained or burst"))
    if shapes is not None:
        cases = cases_of(parse_shapes(shapes), layouts or ["tn"], dtypes or ["bf16"])
    else:
        cases = load_suite(suite or "smoke", layouts, dtypes)
    console.print(
        f"{'shape':>20} {'type':4} {'lay':3} {'schedule':16} {'us':>9} {'torch us':>9} {'ratio':>6} {'floor us':>8} "
        f"{'TFLOP/s':>7}  kernel"
    )
    options = BenchOptions(
        schedules=schedules,
        kernels=kernels,
        rounds=rounds,
        best=best,
        mode=mode,
        seconds=seconds,
        seed=seed,
        json_path=json_path,
        on_row=lambda row: console.print(_line(row)),
        on_note=lambda text: console.print(f"  [dim]{text}[/dim]"),
    )
    result = run_bench(cases, options)
    _print_means(console, result["rows"])
    if json_path:
        console.print(f"written to {json_path}")
    return result


def _line(row: dict[str, Any]) -> str:
    torch_us = f"{row['torch_us']:9.2f}" if row["torch_us"] else "        -"
    ratio = f"{row['ratio']:6.3f}" if row["ratio"] else "     -"
    tflops = 2e-6 * row["m"] * row["n"] * row["k"] / row["us"]
    shape = f"{row['m']}x{row['n']}x{row['k']}"
    return (
        f"{shape:>20} {row['dtype']:4} {row['layout']:3} {row['schedule']:16} {row['us']:9.2f} {torch_us} {ratio} "
        f"{row['floor_us']:8.2f} {tflops:7.1f}  {row['kernel']}"
    )


def _print_means(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    by_schedule: dict[str, list[float]] = {}
    for row in rows:
        if row["ratio"]:
            by_schedule.setdefault(row["schedule"], []).append(row["ratio"])
    for schedule, ratios in by_schedule.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        console.print(
            f"{schedule}: geometric mean {mean:.3f} x torch.mm over {len(ratios)} rows, least {min(ratios):.3f}"
        )
