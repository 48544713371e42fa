"""The library's kernels under the emulator's eyes: each once on a ragged shape, each protocol class under many seeds."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

import hopper_gemm
from hopper_gemm.check import check, protocol_value, ragged_shape
from hopper_gemm.registry import Kernel, all_kernels
from hopper_gemm.timeline import timeline

SEEDS = 20


def emulated() -> list[Kernel]:
    return [kernel for kernel in all_kernels() if kernel.emulated]


def protocol_classes() -> list[Kernel]:
    """The kernel with the smallest tile of each combination that changes who waits for whom."""
    smallest: dict[tuple, Kernel] = {}
    for kernel in sorted(emulated(), key=lambda k: (k.tile[0] * k.tile[1], k.name)):
        key = (kernel.schedule, kernel.cluster, kernel.cluster_k, kernel.store, kernel.output, kernel.layout, kernel.mmas_in_flight)
        smallest.setdefault(key, kernel)
    return list(smallest.values())


def complaint(name: str, first: int, seeds: int) -> str:
    kernel = hopper_gemm.kernels(name)[0]
    report = check(kernel, *ragged_shape(kernel), seeds=range(first, first + seeds))
    return "" if report.ok else str(report)


def run_all(kernels: list[Kernel], seeds: int) -> None:
    names = [kernel.name for kernel in kernels]
    assert names
    with ProcessPoolExecutor(2) as pool:
        complaints = list(pool.map(complaint, names, range(len(names)), [seeds] * len(names)))
    assert not any(complaints), "\n".join(filter(None, complaints))


def test_every_kernel_once():
    run_all(emulated(), 1)


def test_every_protocol_class_under_many_seeds():
    run_all(protocol_classes(), SEEDS)


def test_a_run_replays():
    kernel = protocol_classes()[-1]
    first, again = (check(kernel, 200, 136, 300, seeds=[7]).runs[0].steps for _ in range(2))
    assert first == again


def test_report_reads():
    report = check(emulated()[0], 100, 72, 200, seeds=2, arithmetic=True)
    assert report.ok and not report.failing_seeds and report.bank_conflict_cycles == 0
    assert "2 runs" in str(report) and report.kernel in str(report)
    assert protocol_value(3, 2).shape == (3, 2) and protocol_value(300, 300).max() <= 250


@pytest.mark.parametrize("suffix", ["svg", "json"])
def test_timelines_are_written(tmp_path, suffix):
    pingpong = next(k for k in emulated() if k.schedule is hopper_gemm.Schedule.PINGPONG)
    drawn = timeline(pingpong, 384, 256, 256)
    text = drawn.save(tmp_path / f"t.{suffix}").read_text()
    assert {"wait", "transfer", "mma", "mainloop", "epilogue", "load"} <= {event.kind for event in drawn.events}
    assert "epilogue" in text and "wait full" in text
