"""The kernels of this build as objects: what each one is, and a filter by name."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _extension, manifest
from .schedule import Schedule


@dataclass(frozen=True)
class Kernel:
    """One kernel of the build. Tiles are (M, N, K) in elements, clusters (M, N) in CTAs."""

    id: int = field(repr=False)
    name: str
    schedule: Schedule = field(repr=False)
    a_type: str = field(repr=False)
    b_type: str = field(repr=False)
    accumulator: str = field(repr=False)
    layout: str = field(repr=False)
    tile: tuple[int, int, int] = field(repr=False)
    cluster: tuple[int, int] = field(repr=False)
    stages: int = field(repr=False)
    consumers: int = field(repr=False)
    swizzles: tuple[int, int] = field(repr=False)
    store: str = field(repr=False)
    mmas_in_flight: int = field(repr=False)
    output: str = field(repr=False)
    cluster_k: int = field(repr=False)
    promote_k: int = field(repr=False)
    alternates: bool = field(repr=False)  # a promoting kernel that multiplies into two sets of accumulators in turn
    turns_k: bool = field(repr=False)  # tiles begin their sums at different k-blocks, by their place along the rows of A
    turns_when_told: bool = field(repr=False)  # the same along the columns of B, in launches whose walk is "apart"
    threads: int = field(repr=False)
    shared_bytes: int = field(repr=False)
    compiled: bool
    emulated: bool
    automatic: bool

    @property
    def input(self) -> str:
        """The types of A and B in one word: "bf16", or "e4m3_e5m2" if they differ."""
        return str(manifest.pair_name(self.a_type, self.b_type))

    @property
    def element_bytes(self) -> int:
        """Of an element of A and of B."""
        return int(manifest.ELEMENT_BYTES[self.a_type])

    @property
    def smem(self) -> int:
        """Dynamic shared memory of a CTA in bytes."""
        return self.shared_bytes

    @property
    def registers(self) -> int | None:
        """Registers of a thread at entry as the driver reports them; None without a Hopper GPU."""
        return resident(self.id)["registers"] if self.compiled and _has_gpu() else None

    @property
    def exchanges(self) -> bool:
        """Whether it computes a row-major `out` as out.t() = b.t() @ a.t()."""
        return self.output == "column_major"

    @property
    def operand_layout(self) -> str:
        """Layout letters of the `a` and `b` of a row-major `out` it can compute."""
        flipped = {"tn": "tn", "tt": "nn", "nn": "tt", "nt": "nt"}
        return flipped[self.layout] if self.exchanges else self.layout

    @property
    def family(self) -> str:
        """What the cost model's `factor` is fitted to: "pingpong 128x128 1x2x1", clusters as m x n x k."""
        sides = self.tile[:2], (*self.cluster, self.cluster_k)
        return f"{self.schedule.value} " + " ".join("x".join(map(str, side)) for side in sides)

    @property
    def cluster_size(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster_k


def kernels(pattern: str = "*") -> list[Kernel]:
    """Kernels of this build whose name matches a glob, in registry order.

    >>> [k.name for k in hopper_gemm.kernels("bf16_*_tn_*_pingpong_*")]
    """
    return [k for k in all_kernels() if fnmatch.fnmatchcase(k.name, pattern)]


@functools.cache
def all_kernels() -> tuple[Kernel, ...]:
    """Every kernel of the build."""
    return tuple(kernel_of(i, record) for i, record in enumerate(_extension.load().kernels()))


@functools.cache
def by_name() -> dict[str, Kernel]:
    return {k.name: k for k in all_kernels()}


def kernel_of(index: int, record: Mapping[str, Any]) -> Kernel:
    """A Kernel from one record of `_C.kernels()` (fields of manifest.Row and the derived numbers)."""
    letters = ("t" if record["a_major"] == "k" else "n") + ("n" if record["b_major"] == "k" else "t")
    return Kernel(
        id=int(record.get("id", index)),
        name=record["name"],
        schedule=Schedule(record["schedule"]),
        a_type=record["a_type"],
        b_type=record["b_type"],
        accumulator=record["accumulator"],
        layout=letters,
        tile=(record["tile_m"], record["tile_n"], record["tile_k"]),
        cluster=(record["cluster_m"], record["cluster_n"]),
        stages=record["stages"],
        consumers=record["consumers"],
        swizzles=(record["a_swizzle"], record["b_swizzle"]),
        store=record["store"],
        mmas_in_flight=record["mmas_in_flight"],
        output=record["output"],
        cluster_k=record["cluster_k"],
        promote_k=record["promote_k"],
        alternates=record["alternates"],
        turns_k=record["turns_k"],
        turns_when_told=record["turns_when_told"],
        threads=record["threads"],
        shared_bytes=record["shared_bytes"],
        compiled=record["compiled"],
        emulated=record["emulated"],
        automatic=record["automatic"],
    )


@functools.cache
def resident(kernel_id: int, device: int = 0) -> dict[str, int]:
    """What the driver reports for a compiled kernel: registers, bytes, clusters that can be resident at once."""
    return dict(_extension.load().kernel_resources(kernel_id, device))


@functools.cache
def _has_gpu() -> bool:
    return bool(_extension.load().device_info(0)["available"])
