"""The commands that measure: bench and profile on a Hopper GPU, and plot, which draws what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..bench.peers import peer_names
from ..bench.suites import DTYPES, cases_of
from ..errors import OptionError, sentence
from .output import console
from .shapes import TOKENS, Dtypes, Layouts, Model, Shapes, Suite, Tokens, cases_asked_for, words

HOW, WHERE = "How", "Where the result goes"


def bench(
    suite: Suite = None,
    shapes: Shapes = None,
    model: Model = None,
    tokens: Tokens = TOKENS,
    layouts: Layouts = None,
    dtype: Dtypes = None,
    schedule: Annotated[str, typer.Option(help="auto, all, or names separated by commas.", rich_help_panel=HOW)] = "auto",
    kernels: Annotated[str | None, typer.Option("--kernels", help="Also every kernel this glob matches.", rich_help_panel=HOW)] = None,
    peers: Annotated[
        str | None, typer.Option(help=f"Also other libraries, if installed: {', '.join(peer_names())}.", rich_help_panel=HOW)
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds per shape.", rich_help_panel=HOW)] = 12,
    best: Annotated[int, typer.Option(min=1, help="Kernels kept after a short pass.", rich_help_panel=HOW)] = 8,
    mode: Annotated[str, typer.Option(help="sustained (back to back) or burst (rested before each).", rich_help_panel=HOW)] = "sustained",
    seconds: Annotated[float | None, typer.Option(help="Start no new shape after this long.", rich_help_panel=HOW)] = None,
    seed: Annotated[int, typer.Option(help="Of the inputs and of the order in a round.", rich_help_panel=HOW)] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Written after every shape.", rich_help_panel=WHERE)] = None,
    csv_path: Annotated[Path | None, typer.Option("--csv", help="The rows alone.", rich_help_panel=WHERE)] = None,
    plot_folder: Annotated[Path | None, typer.Option("--plot", help="A folder for charts, SVG and PNG.", rich_help_panel=WHERE)] = None,
) -> None:
    """Time kernels against torch.mm: interleaved rounds, medians of per-round ratios."""
    from ..bench.report import run_and_print
    from ..bench.runner import BenchOptions

    if mode not in ("sustained", "burst"):
        raise OptionError(sentence(f"unknown mode {mode!r}", expected="sustained or burst"))
    options = BenchOptions(
        schedules=schedule.split(","),
        kernels=kernels,
        peers=words(peers) or (),
        rounds=rounds,
        best=best,
        mode=mode,
        seconds=float("inf") if seconds is None else seconds,
        seed=seed,
        json_path=json_path,
    )
    cases = cases_asked_for(suite, shapes, model, tokens, layouts, dtype)
    run_and_print(console, cases, options, csv_path=csv_path, plot_folder=plot_folder)


def plot(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A JSON file that bench has written.")],
    out: Annotated[Path, typer.Option(help="The folder to draw in.")] = Path("charts"),
) -> None:
    """Draw a result of bench: roofline, ratio per shape, TFLOP/s over size; SVG and PNG."""
    from ..bench.charts import save_charts

    for path in save_charts(_read(result), out):
        print(path)


def _read(path: Path) -> dict[str, Any]:
    """A result object.

    Raises:
        OptionError: the file is not one, or is empty.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = found["rows"]
        if rows and {"m", "n", "k", "us", "schedule"} <= set(rows[0]):
            return dict(found)
        problem = "no rows of a benchmark"
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
    raise OptionError(sentence(f"{path} is not a result of bench", got=problem, expected="a file written by: hopper-gemm bench --json"))


def profile(
    m: Annotated[int, typer.Argument(metavar="M", min=1, help="Rows of the output.")],
    n: Annotated[int, typer.Argument(metavar="N", min=1, help="Columns of the output.")],
    k: Annotated[int, typer.Argument(metavar="K", min=1, help="The summed extent.")],
    dtype: Annotated[str, typer.Option(help=f"One of {', '.join(DTYPES)}.")] = "bf16",
    layout: Annotated[str, typer.Option(help="A: t is K-major, n M-major. B: n is K-major, t N-major.")] = "tn",
    schedule: Annotated[str, typer.Option(help="auto, or a schedule's name.")] = "auto",
    config: Annotated[str | None, typer.Option(help="A kernel's name or a glob.")] = None,
    ncu: Annotated[Path | None, typer.Option(help="Nsight Compute's program; looked for on PATH and in CUDA's folders if not given.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also keep a full report for the ncu-ui here.")] = None,
) -> None:
    """Run one kernel under Nsight Compute and explain what matters: tensor pipe, shared memory, L2, DRAM, stalls."""
    from ..profiling import profile_product
    from .output import print_table

    (case,) = cases_of([(m, n, k)], [layout], [dtype])
    found = profile_product(case, schedule, config, ncu=ncu, report=report)
    console.print(f"{case}: {found.kernel}")
    print_table(("metric", "value", "what it says"), [(line.name, line.value, line.meaning) for line in found.lines])
    for note in found.notes:
        console.print(note)
