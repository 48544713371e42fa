"""One product under Nsight Compute: the command, the metrics that decide about a matrix product, and what they say.

Clocks are left alone (--clock-control none): ncu's default locks the base clock, at which the balance of tensor cores and
memory is another one. `python -m hopper_gemm.profiling` is the program that runs under ncu.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from .bench.suites import Case, cases_of
from .device import card_of
from .errors import DeviceError, sentence
from .explanation import explain_problem
from .plan import Request
from .selector import Card, load_model

WARM_UP = 2  # launches before the profiled one


@dataclass(frozen=True)
class Metric:
    """A metric of ncu: the names it may have (the first that this ncu knows is taken), how to print it, what it says."""

    name: str
    candidates: tuple[str, ...]
    unit: str
    scale: float
    meaning: str


STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = (
    Metric("time", ("gpu__time_duration.sum",), "us", 1e-3, "of this one launch; ncu's replays leave caches and clocks colder than bench"),
    Metric("SM clock", ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"), "MHz", 1e-6, "below about 1,600 at full load: the power limit holds it down"),
    Metric("shared memory busy", ("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",), "%", 1, "ordinary and epilogue accesses only: wgmma's own reads are not in it"),
    Metric("bank conflicts", ("l1tex__data_bank_conflicts_pipe_lsu.sum",), "", 1, "should be near 0: the tiles are swizzled"),
    Metric("L2 busy", ("lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "lts__throughput.avg.pct_of_peak_sustained_elapsed"), "%", 1, "high with a tensor pipe that is not: larger tiles, or clusters with multicast"),
    Metric("L2 hit rate", ("lts__t_sector_hit_rate.pct",), "%", 1, "low: tiles in flight share few rows and columns; raster and group decide"),
    Metric("DRAM busy", ("dram__throughput.avg.pct_of_peak_sustained_elapsed",), "%", 1, "near 90 or above: bound by memory, no schedule helps; less K or fewer bytes do"),
    Metric("DRAM read", ("dram__bytes_read.sum",), "MB", 1e-6, "compare with the bytes of A and B: more means operands are read again"),
    Metric("DRAM written", ("dram__bytes_write.sum",), "MB", 1e-6, "compare with the bytes of the output"),
    Metric("registers", ("launch__registers_per_thread",), "", 1, "of a thread at entry; setmaxnreg moves them between warpgroups afterwards"),
    Metric("shared memory", ("launch__shared_mem_per_block_dynamic",), "KB", 1 / 1024, "dynamic, of a CTA"),
    Metric("grid", ("launch__grid_size",), "", 1, "CTAs; a persistent kernel launches what is resident"),
    Metric("stalled on wgmma", (STALL.format("gmma"),), "", 1, "warps waiting to issue or for a group: a consumer that does nothing else is right"),
    Metric("stalled on memory", (STALL.format("long_scoreboard"),), "", 1, "waiting for L1, L2 or DRAM: high in multistage, near 0 elsewhere but for waits on mbarriers"),
    Metric("stalled at barriers", (STALL.format("barrier"),), "", 1, "CTA or named barriers: in multistage one per k-block, elsewhere the epilogue's"),
    Metric("stalled asleep", (STALL.format("sleeping"),), "", 1, "idle lanes of the producer warpgroup: harmless"),
    Metric("stalled on shared memory", (STALL.format("short_scoreboard"),), "", 1, "stmatrix and barrier operations: the epilogue"),
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Profile:
    kernel: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def profile_product(case: Case, schedule: str, config: str | None, *, ncu: Path | None = None, report: Path | None = None) -> Profile:
    """Runs the product a few times under ncu and reads the last launch.

    Raises:
        DeviceError: no Hopper GPU, no ncu, or ncu may not read the counters.
    """
    card = card_of(torch.cuda.current_device() if torch.cuda.is_available() else 0)
    program = find_ncu(ncu)
    kernel = explain_problem(case.problem(), Request(schedule, config), card).kernel
    known = {metric.name: name for metric in METRICS if (name := _known(metric, _base_names(program)))}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        done = subprocess.run(command(program, case, kernel, known.values(), log, report), capture_output=True, text=True, timeout=600)
        text = log.read_text(encoding="utf-8") if log.exists() else ""
    if done.returncode != 0 or "No kernels were profiled" in text + done.stdout:
        raise DeviceError(_why_ncu_failed(text + done.stdout + done.stderr))
    values = parse(text)
    found = {m.name: values.get(known.get(m.name, "")) for m in METRICS}
    lines = [Line(m.name, _text(m, found[m.name]), m.meaning) for m in METRICS]
    lines.insert(2, _tensor_pipe(case, card, found["time"], found["SM clock"]))
    return Profile(kernel, tuple(lines), _notes(case, report))


def find_ncu(given: Path | None) -> Path:
    """ncu's path.

    Raises:
        DeviceError: there is none.
    """
    places = [given] if given else [shutil.which("ncu")] + [
        Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "ncu",
        *sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True),
    ]
    for place in places:
        if place and os.access(place, os.X_OK):
            return Path(place)
    raise DeviceError(
        sentence(
            "Nsight Compute (ncu) was not found",
            got=f"no program at {given}" if given else "none on PATH, in CUDA_HOME or in /opt/nvidia/nsight-compute",
            fix="install NVIDIA Nsight Compute, or pass --ncu; without it `bench` still gives times and the floor",
        )
    )


def command(ncu: Path, case: Case, kernel: str, metrics: Iterable[str], log: Path, report: Path | None) -> list[str]:
    """The command line of ncu over this module."""
    options = ["--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
    options += ["--kernel-name", "regex:gemm_kernel", "--launch-skip", str(WARM_UP), "--launch-count", "1"]
    if report:
        options += ["--set", "full", "--force-overwrite", "--export", str(report)]
    options += ["--metrics", ",".join(metrics)]
    product = [str(case.m), str(case.n), str(case.k), case.dtype, case.layout, kernel]
    return [str(ncu), *options, sys.executable, "-m", "hopper_gemm.profiling", *product]


def parse(text: str) -> dict[str, float]:
    """The numbers of the last kernel in ncu's raw CSV: a header, a line of units, a line for each launch."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 3:
        return {}
    values = {}
    for name, word in zip(rows[0], rows[-1]):
        try:
            values[name] = float(word.replace(",", ""))
        except ValueError:
            continue
    return values


def _base_names(ncu: Path) -> set[str]:
    """Metrics this ncu has for the chip, without their suffixes."""
    done = subprocess.run([str(ncu), "--query-metrics", "--chip", "gh100"], capture_output=True, text=True, timeout=120)
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def _known(metric: Metric, bases: set[str]) -> str:
    return next((c for c in metric.candidates if c.startswith("launch__") or c.split(".")[0] in bases), "")


def _tensor_pipe(case: Case, card: Card, nanoseconds: float | None, hertz: float | None) -> Line:
    """From the arithmetic: ncu counts the instructions of this pipe on a Hopper GPU, not the cycles it is busy."""
    name, meaning = "tensor pipe busy", "share of the cycles that the multiplications take at the full rate: what a large product should fill"
    if not nanoseconds or not hertz:
        return Line(name, "-", meaning)
    problem = case.problem()
    rate = load_model()["mma_flop_per_cycle"] * 2 / problem.element_bytes
    share = problem.flops / (rate * card.sm_count * nanoseconds * 1e-9 * hertz)
    return Line(name, f"{100 * share:.3g} %", meaning)


def _text(metric: Metric, value: float | None) -> str:
    if value is None:
        return "-"
    number = value * metric.scale
    return f"{number:,.0f} {metric.unit}".strip() if abs(number) >= 100 else f"{number:.3g} {metric.unit}".strip()


def _notes(case: Case, report: Path | None) -> tuple[str, ...]:
    m, n, k = case.m, case.n, case.k
    least = 2e-6 * (m * k + k * n), 2e-6 * m * n
    notes = [f"bytes of A and B {least[0]:,.1f} MB, of the output {least[1]:,.1f} MB; the stalls are warps per issued instruction"]
    return (*notes, f"full report: {report}") if report else tuple(notes)


def _why_ncu_failed(text: str) -> str:
    if "ERR_NVGPUCTRPERM" in text:
        return sentence(
            "ncu may not read the GPU's performance counters",
            got="ERR_NVGPUCTRPERM",
            fix="run it as root, or have an administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0",
        )
    said = [line for line in text.splitlines() if "ERROR" in line or "Error" in line] or text.strip().splitlines()[-3:]
    return sentence("ncu did not profile the kernel", got=" ".join(said)[:500] or "no output", fix="try it alone: ncu --version")


def run_under_ncu(words: list[str]) -> None:
    """The profiled process: random normal inputs, a few launches of one kernel."""
    from .bench.operands import Operands

    m, n, k, dtype, layout, kernel = words
    (case,) = cases_of([(int(m), int(n), int(k))], [layout], [dtype])
    operands = Operands(case, seed=0)
    call = operands.call(config=kernel)
    for i in range(WARM_UP + 1):
        call(i % operands.count)
    torch.cuda.synchronize()


if __name__ == "__main__":
    run_under_ncu(sys.argv[1:])
