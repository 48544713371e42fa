"""The command line: demo, info, list, explain, bench. Each command is a thin layer over the Python interface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import _extension
from ._version import __version__
from .device import device_info, unavailable_reason
from .errors import DeviceError, HopperGemmError
from .explanation import explain_problem
from .plan import Request
from .problem import Problem
from .registry import kernels
from .selector import Card, load_model
from .text_table import text_table

app = typer.Typer(
    name="hopper_gemm",
    help="Hopper (sm_90a) matrix multiplication: what is built, what would run, how fast it is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(highlight=False, soft_wrap=True)

NO_GPU = 3  # exit status where a command needs a Hopper GPU


def run() -> int:
    """Runs the command line; refusals are printed as sentences.

    0: done, 1: nothing found, or something wrong was found, 2: wrong arguments, 3: no GPU.
    """
    try:
        status = app(standalone_mode=False, prog_name="python -m hopper_gemm")  # the code of a typer.Exit
        return status if isinstance(status, int) else 0
    except DeviceError as error:
        status = NO_GPU
        message = str(error)
    except HopperGemmError as error:
        status, message = 2, str(error)
    except typer.Abort:
        return 130
    except Exception as error:  # click's own usage errors say how they want to be shown
        if not hasattr(error, "show"):
            raise
        error.show()
        return int(getattr(error, "exit_code", 2))
    print(f"hopper_gemm: {message}", file=sys.stderr)
    return status


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Of the random inputs.")] = 0,
) -> None:
    """Multiply with each schedule, on the GPU or else on the emulator, and compare with float64."""
    from .demo import run_demo

    if not run_demo(console, seed):
        raise typer.Exit(1)


@app.command()
def info() -> None:
    """The GPU, the driver, and what this build holds."""
    import torch

    build, device, reason = _extension.load().build_info(), device_info(0), unavailable_reason(0)
    built = kernels()
    rows = {
        "hopper_gemm": f"{__version__} ({Path(__file__).parent})",
        "torch": f"{torch.__version__} (built against {build['torch']})",
        "CUDA": str(build["cuda"] or "built without nvcc: emulator only"),
        "GPU": f"{device['name']}, {device['sm_count']} SMs" if device["name"] else "none found",
        "can run": "yes" if not reason else f"no: {reason}",
        "kernels": f"{sum(k.compiled for k in built)} for the GPU, {sum(k.emulated for k in built)} for the emulator",
        "sources": str(build["sources_sha"]),
        "model": f"{load_model()['card']}, {load_model()['date']}",
    }
    for name, value in rows.items():
        console.print(f"{name:12}  {value}")


@app.command("list")
def list_kernels(
    pattern: Annotated[str, typer.Argument(help="Glob over kernel names.")] = "*",
    names_only: Annotated[bool, typer.Option("--names", help="One name a line, for scripts.")] = False,
) -> None:
    """The kernels of this build."""
    found = kernels(pattern)
    if names_only:
        for kernel in found:
            print(kernel.name)
        return
    header = ("kernel", "tile", "cluster", "stages", "threads", "registers", "smem KB", "built for", "chosen by")
    rows = [
        (
            k.name,
            "x".join(map(str, k.tile)),
            f"{k.cluster[0]}x{k.cluster[1]}",
            str(k.stages),
            str(k.threads),
            str(k.registers or "-"),
            f"{k.smem / 1024:.0f}",
            " ".join(name for name, has in (("GPU", k.compiled), ("emulator", k.emulated)) if has),
            "auto" if k.automatic else "config=",
        )
        for k in found
    ]
    console.print(text_table(header, rows))
    console.print(f"{len(found)} kernels")
    if not found:
        console.print("no name matches; types in names are bf16, f16 and f32: see the glossary of README.md")
        raise typer.Exit(1)


@app.command()
def explain(
    m: Annotated[int, typer.Argument(metavar="M", min=1)],
    n: Annotated[int, typer.Argument(metavar="N", min=1)],
    k: Annotated[int, typer.Argument(metavar="K", min=1)],
    dtype: Annotated[str, typer.Option(help="bf16 or fp16.")] = "bf16",
    layout: Annotated[str, typer.Option(help="A: t is K-major, n M-major. B: n is K-major, t N-major.")] = "tn",
    schedule: Annotated[str, typer.Option(help="auto, or a schedule's name.")] = "auto",
    config: Annotated[str | None, typer.Option(help="A kernel's name or a glob.")] = None,
    sms: Annotated[int | None, typer.Option(help="SMs of the card; of the GPU here, or 132, if not given.")] = None,
) -> None:
    """Which kernel an M x N x K product gets, why, and why not the others."""
    from .bench.suites import cases_of

    (case,) = cases_of([(m, n, k)], [layout], [dtype])
    name = "bf16" if case.dtype == "bf16" else "f16"
    a_major, b_major = "k" if layout[0] == "t" else "mn", "k" if layout[1] == "n" else "mn"
    console.print(
        str(
            explain_problem(Problem(m, n, k, name, name, (a_major,), (b_major,)), Request(schedule, config), _card(sms))
        )
    )
    if note := _contiguous_note(m, n, k, layout):
        console.print(note)


def _contiguous_note(m: int, n: int, k: int, layout: str) -> str:
    """What `explain` takes for granted, if contiguous tensors of this shape would be refused."""
    rows = (k if layout[0] == "t" else m, k if layout[1] == "n" else n)
    if all(row % 8 == 0 for row in rows):
        return ""
    return (
        f"  note    rows padded to multiples of 8 elements are assumed: contiguous ones of {rows[0]} and {rows[1]} "
        "elements break the 16-byte rule, and matmul refuses them"
    )


def _card(sms: int | None) -> Card:
    if unavailable_reason(0) == "":
        info = device_info(0)
        return Card(info["name"], sms or info["sm_count"], info["l2_bytes"])
    assumed = Card()
    return Card(f"{assumed.name} (assumed)", sms or assumed.sm_count, assumed.l2_bytes)


@app.command()
def bench(
    suite: Annotated[str, typer.Option(help="Shapes from a list shipped with the package.")] = "smoke",
    shapes: Annotated[str | None, typer.Option(help="Shapes instead: MxNxK,... or a number for a cube.")] = None,
    schedule: Annotated[str, typer.Option(help="auto, all, or names separated by commas.")] = "auto",
    kernels: Annotated[str | None, typer.Option("--kernels", help="Also every kernel this glob matches.")] = None,
    layouts: Annotated[str | None, typer.Option(help="Of tn, tt, nn, nt, separated by commas.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Of bf16, fp16, separated by commas.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds per shape.")] = 12,
    best: Annotated[int, typer.Option(min=1, help="Candidates kept after a short pass.")] = 8,
    mode: Annotated[str, typer.Option(help="sustained or burst.")] = "sustained",
    seconds: Annotated[float, typer.Option(help="Start no new shape after this long.")] = 1e9,
    seed: Annotated[int, typer.Option(help="Of the inputs and of the order in a round.")] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result here, row by row.")] = None,
) -> None:
    """Time kernels against torch.mm: interleaved rounds, medians of per-round ratios."""
    from .bench.report import run_and_print

    words = {name: text.split(",") if text else None for name, text in (("layouts", layouts), ("dtype", dtype))}
    run_and_print(
        console,
        suite=None if shapes else suite,
        shapes=shapes,
        layouts=words["layouts"],
        dtypes=words["dtype"],
        schedules=schedule.split(","),
        kernels=kernels,
        rounds=rounds,
        best=best,
        mode=mode,
        seconds=seconds,
        seed=seed,
        json_path=json_path,
    )


@app.command(name="check")
def check_command(
    kernel: Annotated[str, typer.Argument(help="Name of a kernel of this build, or a glob (the first match).")],
    m: int,
    n: int,
    k: int,
    seeds: Annotated[int, typer.Option(help="How many interleavings.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Only this one: replays a failure.")] = None,
    sms: Annotated[int, typer.Option(help="CTAs that can be resident.")] = 2,
    arithmetic: Annotated[bool, typer.Option(help="Multiply, and compare the result too.")] = False,
) -> None:
    """Run a kernel on the emulator under many interleavings; exit status 1 if anything is found. Needs no GPU."""
    from .check import check

    report = check(kernel, m, n, k, seeds=seeds if seed is None else [seed], sm_count=sms, arithmetic=arithmetic)
    print(report)
    if not report.ok:
        raise typer.Exit(1)


@app.command(name="trace")
def trace_command(
    kernel: Annotated[str, typer.Argument(help="Name of a kernel of this build, or a glob (the first match).")],
    m: int,
    n: int,
    k: int,
    out: Annotated[Path, typer.Option(help="SVG picture, or .json for Perfetto and chrome://tracing.")] = Path("timeline.svg"),
    sms: Annotated[int, typer.Option(help="CTAs that can be resident.")] = 2,
) -> None:
    """Draw the timeline of one emulated run. Needs no GPU."""
    from .timeline import timeline

    drawn = timeline(kernel, m, n, k, sm_count=sms)
    print(f"{drawn.save(out)}: {len(drawn.events)} events, {drawn.cycles} cycles, {drawn.kernel}")
