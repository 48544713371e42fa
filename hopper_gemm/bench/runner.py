"""Runs a list of cases on the GPU and writes one JSON object, a row per case and candidate, as they finish."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..device import card_of
from ..errors import HopperGemmError
from ..registry import Kernel, kernels
from ..schedule import AUTO, Schedule
from ..selector import load_model
from . import measure
from .arithmetic import ARITHMETIC
from .environment import environment
from .operands import Operands
from .peers import peer_call
from .suites import Case


@dataclass
class BenchOptions:
    """What to run and for how long.

    Args:
        schedules: names, "auto" or "all" (the five and auto).
        kernels: a glob: also every kernel it matches, by name.
        peers: other libraries to time in the same rounds (peers.py).
        rounds: interleaved rounds per case.
        best: if more candidates than this, a short pass first picks these.
        mode: "sustained" (back to back) or "burst" (250 ms idle before each measurement).
        seconds: stop starting new cases after this long.
    """

    schedules: Sequence[str] = ("auto",)
    kernels: str | None = None
    peers: Sequence[str] = ()
    rounds: int = 12
    best: int = 8
    mode: str = "sustained"
    seconds: float = float("inf")
    seed: int = 0
    json_path: Path | None = None
    on_row: Callable[[dict[str, Any]], None] = field(default=lambda row: None)
    on_note: Callable[[str], None] = field(default=lambda text: None)
    on_case: Callable[[Case], None] = field(default=lambda case: None)  # it is finished


def run_bench(cases: Sequence[Case], options: BenchOptions) -> dict[str, Any]:
    """Measures every case; returns the result object (also written to `json_path` after every case).

    Raises:
        DeviceError: no Hopper GPU.
    """
    card_of(torch.cuda.current_device() if torch.cuda.is_available() else 0)
    result = {**environment(options.mode), "rows": []}
    begin = time.monotonic()
    for position, case in enumerate(cases):
        if time.monotonic() - begin > options.seconds:
            options.on_note(f"time is up: {len(cases) - position} cases left out")
            break
        for row in _rows(case, options):
            result["rows"].append(row)
            options.on_row(row)
        options.on_case(case)
        torch.cuda.empty_cache()
        if options.json_path:
            write_json(options.json_path, result)
    return result


def write_json(path: Path, result: dict[str, Any]) -> None:
    """Writes head and rows, one row a line, replacing the file in one step."""
    head = {k: v for k, v in result.items() if k != "rows"}
    rows = ",\n".join("  " + json.dumps(row) for row in result["rows"])
    text = json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + rows + "\n ]\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def floor_us(case: Case, mode: str) -> float:
    """The card's own limit: max(FLOPs / measured wgmma ceiling, bytes / measured bandwidth)."""
    floors, kind = load_model()["floors"], ARITHMETIC[case.dtype]
    flops = 2 * case.m * case.n * case.k
    traffic = kind.input.itemsize * (case.m * case.k + case.k * case.n) + kind.output.itemsize * case.m * case.n
    tflops = (kind.tflops or floors["tflops"])[mode]
    return float(max(flops / (tflops * 1e6), traffic / (floors["hbm_tb_per_s"] * 1e6)))


@dataclass(frozen=True)
class _Entry:
    """A candidate: how it is asked for, the kernel that stands for, and the call."""

    asked: str
    kernel: Kernel
    call: measure.Call


def _rows(case: Case, options: BenchOptions) -> Iterator[dict[str, Any]]:
    sets = Operands(case, options.seed)
    entries = _entries(case, sets, options)
    calls = {"torch": sets.torch_call} | {name: entry.call for name, entry in entries.items()}
    calls |= _peer_calls(case, sets, options)
    candidates = measure.capture(calls, sets.count, lambda name, e: options.on_note(f"{case}: {name} failed: {e}"))
    for name in [n for n in candidates if n != "torch" and not sets.agrees(calls[n])]:
        options.on_note(f"{case}: {name} gives a wrong result and is left out")
        del candidates[name]
    order = random.Random(options.seed)
    if len(candidates) > options.best + 1:
        short = measure.time_interleaved(candidates, 3, order=order, shortened=0.2)
        keep = sorted((n for n in short if n in entries), key=lambda n: short[n].us)[: options.best]
        candidates = {n: c for n, c in candidates.items() if n in keep or n not in entries}
    idle = 0.25 if options.mode == "burst" else 0.0
    times = measure.time_interleaved(candidates, options.rounds, order=order, idle_s=idle)
    peers = {name: times[name] for name in options.peers if name in times}
    for name, timing in times.items():
        if name == "torch":
            continue
        entry, baseline = entries.get(name), times.get("torch")
        yield {
            **({"label": case.label} if case.label else {}),
            "m": case.m,
            "n": case.n,
            "k": case.k,
            "dtype": case.dtype,
            "layout": case.layout,
            "schedule": entry.asked if entry else name,
            "kernel": entry.kernel.name if entry else name,
            "us": round(timing.us, 3),
            "torch_us": round(baseline.us, 3) if baseline else None,
            "ratio": round(timing.ratio_to(baseline), 4) if baseline else None,
            "floor_us": round(floor_us(case, options.mode), 3),
            **(_against(peers, timing) if entry and peers else {}),
        }


def _against(peers: Mapping[str, measure.Timing], timing: measure.Timing) -> dict[str, Any]:
    """The times of the other libraries, and the ratio to the fastest of them."""
    best = min(peers, key=lambda name: peers[name].us)
    return {
        "peer": best,
        "peer_us": round(peers[best].us, 3),
        "peer_ratio": round(timing.ratio_to(peers[best]), 4),
        "peers": {name: round(peer.us, 3) for name, peer in peers.items()},
    }


def _peer_calls(case: Case, sets: Operands, options: BenchOptions) -> dict[str, measure.Call]:
    calls = {}
    for name in options.peers:
        try:
            calls[name] = peer_call(name, case, sets)
        except Exception as error:  # whatever another library raises must not take ours along
            options.on_note(f"{case}: {name} is left out: {_first_line(error)}")
    return calls


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _entries(case: Case, sets: Operands, options: BenchOptions) -> dict[str, _Entry]:
    """Candidates by name. A schedule stands for the kernel the selector picks within it."""
    names = [AUTO, *(s.value for s in Schedule)] if "all" in options.schedules else list(options.schedules)
    entries: dict[str, _Entry] = {}
    for name in names:
        try:
            entries[name] = _Entry(name, sets.plan(schedule=name).kernel, sets.call(schedule=name))
        except HopperGemmError as error:
            options.on_note(f"{case}: {error}")
    for kernel in kernels(options.kernels) if options.kernels else []:
        if kernel.compiled and _reads(kernel, sets):
            entries[kernel.name] = _Entry(kernel.schedule.value, kernel, sets.call(config=kernel.name))
    return entries


def _reads(kernel: Kernel, sets: Operands) -> bool:
    try:
        return sets.plan(config=kernel.name).kernel.name == kernel.name
    except HopperGemmError:
        return False
