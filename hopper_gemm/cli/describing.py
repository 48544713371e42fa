"""The commands that look and run nothing: info, list, explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import _extension, cache
from .._version import __version__
from ..bench.arithmetic import ARITHMETIC
from ..bench.suites import cases_of
from ..device import card_of, device_info, unavailable_reason
from ..explanation import explain_problem
from ..plan import Request
from ..registry import Kernel, kernels
from ..selector import Card, load_model
from ..tuned import table_of
from .output import console, print_table


def info(
    as_json: Annotated[bool, typer.Option("--json", help="For scripts and bug reports.")] = False,
) -> None:
    """The GPU, the driver, what this build holds, and where things are kept."""
    rows = _facts()
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for name, value in rows.items():
        console.print(f"[bold]{name:12}[/bold]  {value}")


def _facts() -> dict[str, str]:
    import torch

    build, device, reason = _extension.load().build_info(), device_info(0), unavailable_reason(0)
    built = kernels()
    return {
        "hopper_gemm": f"{__version__} ({Path(__file__).parents[1]})",
        "torch": f"{torch.__version__} (built against {build['torch']})",
        "CUDA": str(build["cuda"] or "built without nvcc: emulator only"),
        "GPU": f"{device['name']}, {device['sm_count']} SMs, {device['l2_bytes'] >> 20} MB L2" if device["name"] else "none found",
        "driver": _driver(device),
        "can run": "yes" if not reason else f"no: {reason}",
        "kernels": f"{sum(k.compiled for k in built)} for the GPU, {sum(k.emulated for k in built)} for the emulator",
        "sources": str(build["sources_sha"]),
        "model": f"{load_model()['card']}, {load_model()['date']}",
        "tuned": _tuned(reason),
    }


def _tuned(reason: str) -> str:
    """What `tune` has found on GPUs like this one, and where it is kept."""
    if reason:
        try:
            return f"nothing here; tables are kept in {cache.folder()}"
        except OSError as error:
            return str(error)
    table = table_of(card_of(0))
    table.refresh()
    return f"{len(table.choices)} problems in {table.path}"


def _driver(device: dict[str, Any]) -> str:
    """The driver's own version, the CUDA version it runs, the power limit: what decides about speed and about support."""
    from ..bench.environment import smi

    version, power = smi("driver_version", "power.limit")
    cuda = int(device["driver_version"])
    if not version and not cuda:
        return "none found"
    parts = [version or "", f"CUDA {cuda // 1000}.{cuda % 1000 // 10}" if cuda else "", f"power limit {power} W" if power else ""]
    return ", ".join(part for part in parts if part)


def list_kernels(
    pattern: Annotated[str, typer.Argument(help="Glob over kernel names, in quotes.")] = "*",
    names_only: Annotated[bool, typer.Option("--names", help="One name a line, for scripts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All fields, for scripts.")] = False,
) -> None:
    """The kernels of this build, for example: list 'bf16_*_tn_*_pingpong_*'"""
    found = kernels(pattern)
    if names_only:
        for kernel in found:
            print(kernel.name)
    elif as_json:
        print(json.dumps([_record(kernel) for kernel in found], indent=1))
    elif found:
        header = ("kernel", "tile", "cluster", "stages", "threads", "registers", "smem KB", "built for", "chosen by")
        print_table(header, [_row(kernel) for kernel in found])
        console.print(f"{len(found)} kernels")
    if not found:
        console.print(f"no kernel of this build matches {pattern!r}; types in names are those of the glossary (fp16 is f16)", style=None)
        raise typer.Exit(1)


def _row(k: Kernel) -> tuple[str, ...]:
    return (
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


def _record(k: Kernel) -> dict[str, Any]:
    return {**{name: value for name, value in vars(k).items() if name != "id"}, "schedule": str(k.schedule), "registers": k.registers}


def explain(
    m: Annotated[int, typer.Argument(metavar="M", min=1, help="Rows of the output.")],
    n: Annotated[int, typer.Argument(metavar="N", min=1, help="Columns of the output.")],
    k: Annotated[int, typer.Argument(metavar="K", min=1, help="The summed extent.")],
    dtype: Annotated[str, typer.Option(help=f"One of {', '.join(ARITHMETIC)}.")] = "bf16",
    layout: Annotated[str, typer.Option(help="A: t is K-major, n M-major. B: n is K-major, t N-major.")] = "tn",
    schedule: Annotated[str, typer.Option(help="auto, or a schedule's name.")] = "auto",
    config: Annotated[str | None, typer.Option(help="A kernel's name or a glob.")] = None,
    sms: Annotated[int | None, typer.Option(min=1, help="SMs of the card; of the GPU here, or 132, if not given.")] = None,
) -> None:
    """Which kernel a product of contiguous M x K and K x N operands gets, why, and why not the others."""
    (case,) = cases_of([(m, n, k)], [layout], [dtype])
    console.print(str(explain_problem(case.problem(), Request(schedule, config), _card(sms))))


def _card(sms: int | None) -> Card:
    if unavailable_reason(0) == "":
        found = device_info(0)
        return Card(found["name"], sms or found["sm_count"], found["l2_bytes"])
    assumed = Card()
    return Card(f"{assumed.name} (assumed)", sms or assumed.sm_count, assumed.l2_bytes)
