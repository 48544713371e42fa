"""The benchmark as a person sees it: rows while they finish, then the geometric means; and the files that are asked for."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..device import card_of
from .peers import check_peers
from .runner import BenchOptions, run_bench
from .suites import Case

if TYPE_CHECKING:
    from rich.console import Console


def run_and_print(
    console: Console,
    cases: Sequence[Case],
    options: BenchOptions,
    *,
    csv_path: Path | None = None,
    plot_folder: Path | None = None,
) -> dict[str, Any]:
    """Measures the cases; prints and returns the result, and writes it where it is asked for.

    Raises:
        OptionError: an unknown mode or peer.
        DeviceError: no Hopper GPU.
    """
    from rich.progress import Progress

    check_peers(options.peers)
    card_of(0)  # the refusal comes before the first line
    console.print(HEADER)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("cases", total=len(cases))
        options.on_row = lambda row: progress.console.print(_line(row))
        options.on_note = lambda text: progress.console.print(f"  {text}", style="dim", markup=False)
        options.on_case = lambda case: progress.advance(task)
        result = run_bench(cases, options)
    print_means(console, result["rows"])
    if options.json_path:
        console.print(f"written to {options.json_path}")
    if csv_path:
        write_csv(csv_path, result["rows"])
        console.print(f"written to {csv_path}")
    if plot_folder and result["rows"]:
        from .charts import save_charts

        for path in save_charts(result, plot_folder):
            console.print(f"drawn in {path}")
    return result


HEADER = (
    f"{'shape':>20} {'type':4} {'lay':3} {'schedule':16} {'us':>9} {'torch us':>9} {'ratio':>6} {'floor us':>8} {'TFLOP/s':>7}  kernel"
)


def _line(row: dict[str, Any]) -> str:
    torch_us = f"{row['torch_us']:9.2f}" if row["torch_us"] else "        -"
    ratio = f"{row['ratio']:6.3f}" if row["ratio"] else "     -"
    tflops = 2e-6 * row["m"] * row["n"] * row["k"] / row["us"]
    shape = f"{row['m']}x{row['n']}x{row['k']}"
    label = f"  ({row['label']})" if row.get("label") else ""
    return (
        f"{shape:>20} {row['dtype']:4} {row['layout']:3} {row['schedule']:16} {row['us']:9.2f} {torch_us} {ratio} "
        f"{row['floor_us']:8.2f} {tflops:7.1f}  {row['kernel']}{label}"
    )


def print_means(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    by_schedule: dict[str, list[float]] = {}
    for row in rows:
        if row["ratio"]:
            by_schedule.setdefault(row["schedule"], []).append(row["ratio"])
    for schedule, ratios in by_schedule.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        console.print(
            f"{schedule}: geometric mean {mean:.3f} x torch.mm over {len(ratios)} rows, least {min(ratios):.3f}"
        )


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """A header and a line for each row, in the order of the JSON's fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)
