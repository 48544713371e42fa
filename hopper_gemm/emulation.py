"""CPU tensors on the emulator: the GPU's kernels, compiled for this computer, on simulated CTAs. Slow, and
in plain fp32 sums: the last bits may differ from the tensor cores' truncating ones.

Only on request, by `with hopper_gemm.emulator():` or HOPPER_GEMM_EMULATE=1.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import _extension
from .errors import DeviceError, OptionError, sentence
from .problem import Problem
from .registry import Kernel

if TYPE_CHECKING:
    from .selector import Prediction

# Multiply-adds (of whole tiles) the emulator does in a second on one core.
EMULATED_MACS_PER_SECOND = 2.5e8
WARN_SECONDS = 10.0


@dataclass
class Emulator:
    """How CPU tensors are run, and what the runs reported (`reports`, one per product, last 64 kept).

    Args:
        seed: of the interleaving of threads and transfers; the same seed gives the same run.
        sm_count: CTAs that can be resident at once.
        timed: a virtual clock instead of random interleaving, for timelines.
        trace: record what each warpgroup did when, in `reports[-1]["trace"]`.
    """

    seed: int = 0
    sm_count: int = 4
    timed: bool = False
    trace: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list, repr=False)


class EmulatorWarning(UserWarning):
    """A product that will keep the emulator busy for more than about ten seconds."""


_active: ContextVar[Emulator | None] = ContextVar("hopper_gemm_emulator", default=None)


@contextlib.contextmanager
def emulator(*, seed: int = 0, sm_count: int = 4, timed: bool = False, trace: bool = False) -> Iterator[Emulator]:
    """Inside this context, `matmul` runs CPU tensors on the emulator. See `Emulator` for the arguments.

    >>> with hopper_gemm.emulator():
    ...     c = hopper_gemm.matmul(a_on_cpu, b_on_cpu)
    """
    if not isinstance(sm_count, int) or sm_count < 1:
        raise OptionError(sentence("sm_count is not a positive integer", got=repr(sm_count), fix="use 4, the default"))
    token = _active.set(Emulator(seed, sm_count, timed, trace))
    try:
        current = _active.get()
        assert current is not None
        yield current
    finally:
        _active.reset(token)


def current_emulator() -> Emulator | None:
    """The emulator in force: of the innermost context, or of HOPPER_GEMM_EMULATE=1, or None."""
    active = _active.get()
    if active is None and os.environ.get("HOPPER_GEMM_EMULATE", "0") not in ("", "0"):
        return _from_environment
    return active


_from_environment = Emulator()


def require_emulator() -> Emulator:
    """The emulator in force.

    Raises:
        DeviceError: CPU tensors without one.
    """
    active = current_emulator()
    if active is None:
        raise DeviceError(
            sentence(
                "hopper_gemm multiplies CUDA tensors on a Hopper GPU",
                got="tensors on the CPU",
                fix="move them with .cuda(), or run the same kernels on the slow host emulator "
                "with `with hopper_gemm.emulator():` or HOPPER_GEMM_EMULATE=1",
            )
        )
    return active


def estimated_seconds(problem: Problem, kernel: Kernel) -> float:
    """About how long the emulator takes: whole tiles and whole k-blocks count."""
    m, n, k = (-(-size // tile) * tile for size, tile in zip((problem.m, problem.n, problem.k), kernel.tile))
    return problem.batches * m * n * k / EMULATED_MACS_PER_SECOND


def run_emulated(
    emulator: Emulator,
    prediction: Prediction,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    options: Any = None,
    static_b: bool = False,
) -> None:
    """Runs a planned kernel on the emulator, after a warning if it will take long. `options`: the extension's `Epilogue`."""
    problem, kernel, walk = prediction.problem, prediction.kernel, prediction.walk
    seconds = estimated_seconds(problem, kernel)
    if seconds > WARN_SECONDS:
        warnings.warn(
            f"emulating {problem.describe()} will take about {seconds:.0f} s on this computer "
            "(a Hopper GPU takes microseconds); smaller sizes show the same behaviour",
            EmulatorWarning,
            stacklevel=4,
        )
    report = _extension.load().gemm_emulated(
        kernel.id,
        a,
        b,
        out,
        walk.raster_index,
        walk.group,
        emulator.seed,
        emulator.sm_count,
        emulator.timed,
        emulator.trace,
        exchanged=problem.swapped,
        slices=walk.slices,
        epilogue=options,
        static_b=static_b,
    )
    emulator.reports.append(report)
    del emulator.reports[:-64]
