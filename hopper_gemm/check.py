"""Runs one kernel on the emulator, seed after seed, and reports what it finds: races, deadlocks, protocol errors.

By default without arithmetic: element (m, n) of the result must be `protocol_value(m, n)`, which comes out only if every
part of K was multiplied for it, once, and stored in its place. That costs a tenth of a product and shows the same faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from . import _extension
from .config import Config, matching
from .errors import ShapeError, sentence
from .problem import INPUT_NAMES, default_output
from .registry import Kernel, all_kernels, by_name

_DTYPES = {name: dtype for dtype, name in INPUT_NAMES.items()}


@dataclass(frozen=True)
class CheckRun:
    """One run: a seed and what was found. `seed` and the shape replay it exactly."""

    seed: int
    findings: tuple[str, ...]
    steps: int
    stmatrix_rows: int
    stmatrix_cycles: int

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of the findings: "deadlock", "early-read", ... (docs/emulator.md)."""
        return frozenset(finding.split(":", 1)[0] for finding in self.findings)


@dataclass(frozen=True)
class CheckReport:
    """What `check` found. `ok` if nothing."""

    kernel: str
    shape: tuple[int, int, int]
    sm_count: int
    arithmetic: bool
    runs: tuple[CheckRun, ...] = field(repr=False)

    @property
    def ok(self) -> bool:
        return not any(run.findings for run in self.runs)

    @property
    def failing_seeds(self) -> tuple[int, ...]:
        return tuple(run.seed for run in self.runs if run.findings)

    @property
    def findings(self) -> dict[str, int]:
        """Each finding (once per kind and source line, more or less) and in how many runs it was seen."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for finding in run.findings:
                counts[finding] = counts.get(finding, 0) + 1
        return counts

    @property
    def bank_conflict_cycles(self) -> int:
        """Cycles that stmatrix lost to bank conflicts in the first run."""
        return self.runs[0].stmatrix_cycles - self.runs[0].stmatrix_rows // 8 if self.runs else 0

    def __str__(self) -> str:
        m, n, k = self.shape
        lines = [
            f"{self.kernel} at {m}x{n}x{k}: {len(self.runs)} runs on {self.sm_count} SMs"
            f"{'' if self.arithmetic else ', without arithmetic'}, {len(self.failing_seeds)} with findings"
        ]
        if self.failing_seeds:
            lines.append("  seeds " + ", ".join(str(seed) for seed in self.failing_seeds))
        first: dict[str, str] = {}
        for finding in self.findings:
            first.setdefault(finding.split(":", 1)[0], finding)
        lines += ["  " + finding.replace("\n", "\n  ") for finding in first.values()]
        lines.append(f"  bank conflicts of the epilogue: {self.bank_conflict_cycles} cycles")
        return "\n".join(lines)


def protocol_value(m: int, n: int) -> torch.Tensor:
    """The result of a run without arithmetic, (m, n): small integers that every output type holds exactly."""
    row, column = torch.arange(m).unsqueeze(1), torch.arange(n).unsqueeze(0)
    return (row * 31 + column * 7 + (row % 13) * (column % 11)) % 250 + 1


def resolve(kernel: str | Kernel | Config) -> Kernel:
    """The kernel meant by a name, a config or a kernel."""
    if isinstance(kernel, Kernel):
        return kernel
    exact = by_name().get(kernel) if isinstance(kernel, str) else None
    return exact or matching(kernel, [k for k in all_kernels() if k.emulated], None, "bf16")[0]


def check_extents(m: int, n: int, k: int) -> None:
    """Raises ShapeError where there is no product to run."""
    if not all(isinstance(extent, int) and extent > 0 for extent in (m, n, k)):
        raise ShapeError(sentence("an empty product runs no kernel", got=f"M, N, K = {m!r}, {n!r}, {k!r}", expected="three positive integers"))


@dataclass(frozen=True)
class Operands:
    """Operands of a kernel's own layout and order of the output, padded rows."""

    a: torch.Tensor
    b: torch.Tensor
    out: torch.Tensor

    @staticmethod
    def of(kernel: Kernel, m: int, n: int, k: int, out_dtype: torch.dtype | None = None, seed: int = 0) -> Operands:
        generator = torch.Generator().manual_seed(seed)
        a_type, b_type = _DTYPES[kernel.a_type], _DTYPES[kernel.b_type]
        step = 16 // kernel.element_bytes  # elements of whole 16 bytes

        def matrix(rows: int, columns: int, row_major: bool, kind: torch.dtype) -> torch.Tensor:
            stored = (rows, columns) if row_major else (columns, rows)
            buffer = torch.randint(-2, 3, (stored[0], (stored[1] + step - 1) // step * step + step), generator=generator).to(kind)
            view = buffer[:, : stored[1]]
            return view if row_major else view.t()

        a = matrix(m, k, kernel.layout[0] == "t", a_type)
        b = matrix(k, n, kernel.layout[1] == "t", b_type)
        return Operands(a, b, matrix(m, n, kernel.output != "column_major", out_dtype or default_output(a_type)))


def emulated(kernel: Kernel, operands: Operands, *, static: str = "", **options: Any) -> dict[str, Any]:
    """One run; findings are returned, not thrown. `static`: the kernel's operand, "a" or "b", that nothing still writes."""
    tensors = operands.a, operands.b, operands.out
    if static == "a":  # the caller's b of the exchanged product
        tensors = operands.b.t(), operands.a.t(), operands.out.t()
        options["exchanged"] = True
    group = options.pop("group", 2)
    return _extension.load().gemm_emulated(
        kernel.id, *tensors, group=group, keep_findings=True, static_b=bool(static), **options
    )


def run_once(kernel: Kernel, operands: Operands, seed: int, sm_count: int, arithmetic: bool) -> CheckRun:
    raster = seed % 3  # every third seed walks the tiles along N, every third has them begin apart
    static = ("", "a", "b")[seed // 2 % 3]  # of six seeds two promise a static A, two a static B
    report = emulated(
        kernel, operands, seed=seed, sm_count=sm_count, protocol_only=not arithmetic, raster=raster, static=static
    )
    findings = list(report["findings"])
    if not findings:
        wrong = _wrong_result(operands, arithmetic)
        findings = [wrong] if wrong else []
    return CheckRun(seed, tuple(findings), report["steps"], report["stmatrix_rows"], report["stmatrix_cycles"])


def _wrong_result(operands: Operands, arithmetic: bool) -> str:
    out = operands.out.double()
    if arithmetic:  # integers in -2..2: exact in any order, up to the rounding of the output
        expected = (operands.a.double() @ operands.b.double()).to(operands.out.dtype).double()
    else:
        expected = protocol_value(*out.shape).double()
    # Parts of a split K are shares of the value, which f16 accumulators round.
    wrong = ((out - expected).abs() > 0.01 + 2.0**-10 * expected.abs()).nonzero()
    if not len(wrong):
        return ""
    m, n = (int(index) for index in wrong[0])
    return f"wrong-result: element ({m}, {n}) is {out[m, n].item():g}, expected {expected[m, n].item():g}; {len(wrong)} are wrong"


def check(
    kernel: str | Kernel | Config,
    m: int,
    n: int,
    k: int,
    *,
    seeds: int | Iterable[int] = 20,
    sm_count: int = 2,
    arithmetic: bool = False,
    out_dtype: torch.dtype | None = None,
) -> CheckReport:
    """Runs a kernel under many interleavings and reports every race, deadlock and protocol error.

    >>> report = hopper_gemm.check("bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma", 300, 520, 456)
    >>> assert report.ok, report

    Args:
        kernel: of this build, by name, as `Kernel` or as `Config`.
        m, n, k: extents of the product.
        seeds: how many, or which. Each is one interleaving (and one order of the tiles) and replays exactly.
        sm_count: CTAs that can be resident; few make persistent CTAs do several tiles.
        arithmetic: multiply integers and compare the result too.
        out_dtype: of the output; matmul's default if not given.

    Returns:
        A report; print it to read it.
    """
    found = resolve(kernel)
    check_extents(m, n, k)
    operands = Operands.of(found, m, n, k, out_dtype)
    chosen = range(seeds) if isinstance(seeds, int) else seeds
    sm_count = max(sm_count, found.cluster_size)
    runs = tuple(run_once(found, operands, seed, sm_count, arithmetic) for seed in chosen)
    return CheckReport(found.name, (m, n, k), sm_count, arithmetic, runs)


def ragged_shape(kernel: Kernel, tiles: int = 4) -> tuple[int, int, int]:
    """A small shape with ragged edges that wraps the ring more than twice and gives persistent CTAs several tiles."""
    tile_m, tile_n, tile_k = kernel.tile
    blocks = kernel.stages + 1 if kernel.schedule.is_persistent else (2 * kernel.stages + 1) * kernel.cluster_k
    m = max(1, tiles // 2) * kernel.cluster[0] * tile_m - tile_m // 2
    n = 2 * kernel.cluster[1] * tile_n - min(8, tile_n - 8)
    # The extent that is not contiguous in the output is odd; the other one lets TMA store it.
    m, n = (m, n + 1) if kernel.output == "column_major" else (m + 1, n)
    return m, n, blocks * tile_k - tile_k // 2


def iterate(kernels: Iterable[Kernel], seeds: Iterable[int], sm_count: int = 2) -> Iterator[CheckReport]:
    """`check` of each kernel on its ragged shape."""
    chosen = list(seeds)
    for kernel in kernels:
        yield check(kernel, *ragged_shape(kernel), seeds=chosen, sm_count=sm_count)
