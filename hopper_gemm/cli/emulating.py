"""The commands that run kernels where there is no GPU: demo, check, trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import console

KernelName = Annotated[str, typer.Argument(metavar="KERNEL", help="Name of a kernel of this build, or a glob (the first match).")]
Rows = Annotated[int, typer.Argument(metavar="M", min=1, help="Rows of the output.")]
Columns = Annotated[int, typer.Argument(metavar="N", min=1, help="Columns of the output.")]
Depth = Annotated[int, typer.Argument(metavar="K", min=1, help="The summed extent.")]
Sms = Annotated[int, typer.Option(min=1, help="CTAs that can be resident.")]


def demo(
    seed: Annotated[int, typer.Option(help="Of the random inputs.")] = 0,
) -> None:
    """Multiply with each schedule, on the GPU or else on the emulator, and compare with float64."""
    from ..demo import run_demo

    if not run_demo(console, seed):
        raise typer.Exit(1)


def check(
    kernel: KernelName,
    m: Rows,
    n: Columns,
    k: Depth,
    seeds: Annotated[int, typer.Option(min=1, help="How many interleavings.")] = 20,
    seed: Annotated[int | None, typer.Option(min=0, help="Only this one: replays a failure.")] = None,
    sms: Sms = 2,
    arithmetic: Annotated[bool, typer.Option(help="Multiply, and compare the result too.")] = False,
) -> None:
    """Run a kernel on the emulator under many interleavings; exit status 1 if a race, deadlock or wrong result is found."""
    from rich.progress import track

    from ..check import check as run_check

    chosen = range(seeds) if seed is None else [seed]
    watched = track(chosen, "interleavings", console=console, transient=True, disable=not console.is_terminal)
    report = run_check(kernel, m, n, k, seeds=watched, sm_count=sms, arithmetic=arithmetic)
    print(report)
    if not report.ok:
        raise typer.Exit(1)


def trace(
    kernel: KernelName,
    m: Rows,
    n: Columns,
    k: Depth,
    out: Annotated[Path, typer.Option(help="SVG picture, or .json for Perfetto and chrome://tracing.")] = Path("timeline.svg"),
    sms: Sms = 2,
) -> None:
    """Draw the timeline of one emulated run: who loads, computes, waits and stores when."""
    from ..timeline import timeline

    drawn = timeline(kernel, m, n, k, sm_count=sms)
    print(f"{drawn.save(out)}: {len(drawn.events)} events, {drawn.cycles} cycles, {drawn.kernel}")
