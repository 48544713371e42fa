"""Runs a list of cases on the GPU and writes one JSON object, a row per case and candidate, as they finish."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .. import _extension
from ..device import card_of
from ..errors import HopperGemmError
from ..operands import Matrix, operand_majors
from ..plan import Plan, Request, make_plan
from ..problem import Problem
from ..registry import Kernel, all_kernels, kernels
from ..schedule import AUTO, Schedule
from ..selector import load_model
from ..walk import Walk
from . import measure
from .environment import environment
from .peers import peer_call
from .suites import Case

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


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
    floors = load_model()["floors"]
    flops, traffic = 2 * case.m * case.n * case.k, 2 * (case.m * case.k + case.k * case.n + case.m * case.n)
    return float(max(flops / (floors["tflops"][mode] * 1e6), traffic / (floors["hbm_tb_per_s"] * 1e6)))


@dataclass(frozen=True)
class _Entry:
    """A candidate: how it is asked for, and the plan of it."""

    asked: str
    plan: Plan


def _rows(case: Case, options: BenchOptions) -> Iterator[dict[str, Any]]:
    problem = _problem(case, options)
    if problem is None:
        return
    entries = _entries(problem, options)
    sets = Operands(case, options.seed)
    calls = {"torch": sets.torch_call} | {
        name: sets.kernel_call(e.plan.kernel, e.plan.chosen.walk) for name, e in entries.items()
    }
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
            "kernel": entry.plan.kernel.name if entry else name,
            "us": round(timing.us, 3),
            "torch_us": round(baseline.us, 3) if baseline else None,
            "ratio": round(timing.ratio_to(baseline), 4) if baseline else None,
            "floor_us": round(floor_us(case, options.mode), 3),
        }


def _problem(case: Case, options: BenchOptions) -> Problem | None:
    a_shape, b_shape = _stored_shapes(case)
    try:
        for name, shape in (("a", a_shape), ("b", b_shape)):
            operand_majors(Matrix(name, shape, (shape[1], 1), 2), 1, "the benchmark")
    except HopperGemmError as error:
        options.on_note(f"{case}: {error}")
        return None
    return case.problem()


def _peer_calls(case: Case, sets: Operands, options: BenchOptions) -> dict[str, measure.Call]:
    calls = {}
    for name in options.peers:
        try:
            calls[name] = peer_call(name, case, sets)
        except (ImportError, ValueError) as error:
            options.on_note(f"{case}: {name} is left out: {error}")
    return calls


def _entries(problem: Problem, options: BenchOptions) -> dict[str, _Entry]:
    """Candidates by name. A schedule stands for the kernel the selector picks within it."""
    card = card_of(torch.cuda.current_device())
    built = [k for k in all_kernels() if k.compiled]
    names = [AUTO, *(s.value for s in Schedule)] if "all" in options.schedules else list(options.schedules)
    entries: dict[str, _Entry] = {}
    for name in names:
        try:
            entries[name] = _Entry(name, make_plan(problem, Request(name), built, card))
        except HopperGemmError as error:
            options.on_note(str(error))
    for kernel in kernels(options.kernels) if options.kernels else []:
        if kernel.compiled and _reads(kernel, problem):
            plan = make_plan(problem, Request(config=kernel.name), [kernel], card)
            entries[kernel.name] = _Entry(kernel.schedule.value, plan)
    return entries


def _reads(kernel: Kernel, problem: Problem) -> bool:
    return kernel.input == problem.input and kernel.operand_layout in problem.layouts


def _stored_shapes(case: Case) -> tuple[tuple[int, int], tuple[int, int]]:
    a = (case.m, case.k) if case.layout[0] == "t" else (case.k, case.m)
    b = (case.n, case.k) if case.layout[1] == "n" else (case.k, case.n)
    return a, b


class Operands:
    """Random normal inputs in rotation, and preallocated outputs."""

    def __init__(self, case: Case, seed: int, device: str = "cuda") -> None:
        dtype = _DTYPES[case.dtype]
        a_shape, b_shape = _stored_shapes(case)
        self.count = measure.input_sets(2 * (case.m * case.k + case.k * case.n))
        generator = torch.Generator(device).manual_seed(seed)

        def normal(shape: tuple[int, int]) -> torch.Tensor:
            return torch.randn(shape, generator=generator, device=device, dtype=torch.float32).to(dtype)

        stored_a = [normal(a_shape) for _ in range(self.count)]
        stored_b = [normal(b_shape) for _ in range(self.count)]
        self.a = [s if case.layout[0] == "t" else s.t() for s in stored_a]
        self.b = [s.t() if case.layout[1] == "n" else s for s in stored_b]
        self.out = [torch.empty(case.m, case.n, device=device, dtype=dtype) for _ in range(self.count)]

    def torch_call(self, i: int) -> None:
        torch.mm(self.a[i], self.b[i], out=self.out[i])

    def kernel_call(self, kernel: Kernel, walk: Walk) -> measure.Call:
        gemm = _extension.load().gemm
        exchanged = kernel.exchanges

        def call(i: int) -> None:
            gemm(kernel.id, self.a[i], self.b[i], self.out[i], walk.raster_index, walk.group, 0, exchanged)

        return call

    def agrees(self, call: measure.Call, tolerance: float = 2e-2) -> bool:
        """Whether a call gives torch's result, but for rounding."""
        self.torch_call(0)
        expected = self.out[0].float()
        self.out[0].fill_(float("nan"))
        call(0)
        difference = (self.out[0].float() - expected).norm()
        return bool(difference <= tolerance * expected.norm())
