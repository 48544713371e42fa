"""`tune`: times the kernels that can run a product on the GPU at hand and remembers the fastest, which `matmul` then runs.

Sustained load, balanced random order, operands rotating beyond the L2, CUDA graphs: as the benchmark measures.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from . import ops
from .checks import check_memory, check_tensors
from .device import card_of
from .errors import CaptureError, DeviceError, UnsupportedProblemError, sentence
from .lowering import result_shape
from .operands import span_elements
from .plan import Request
from .problem import DTYPES, Problem, read_problem
from .registry import all_kernels
from .schedule import AUTO, Schedule, parse_schedule
from .search import search
from .selector import Prediction
from .tuned import Choice, key_of, table_of

if TYPE_CHECKING:
    from .bench import measure
    from .bench.suites import Case

TOLERANCE = 2e-2  # between the results of two kernels, relative


@dataclass(frozen=True)
class Tuning:
    """What `tune` found for one problem; `str()` of it is meant to be read."""

    problem: Problem
    choice: Choice

    @property
    def speedup(self) -> float:
        """The time of the model's choice over that of the kernel which runs from now on."""
        return self.choice.model_us / self.choice.us

    def __str__(self) -> str:
        c = self.choice
        walk = ", ".join(f"{name} {value}" for name, value in c.walk.items())
        gain = "the model's choice" if c.is_the_models else f"{self.speedup:.3f} x as fast as the model's choice"
        return f"{self.problem.describe()}: {c.us:.2f} us, {gain}: {c.kernel} ({walk}), of {len(c.measured)} kernels"

    __repr__ = __str__


def tune(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    out_dtype: torch.dtype | None = None,
    schedule: str | Schedule = "auto",
    accumulate: str | None = None,
    precision: str | None = None,
    use_fast_accum: bool = False,
    seconds: float = 4.0,
    note: Callable[[str], None] | None = None,
) -> Tuning:
    """Finds the fastest kernel for `a @ b` by measurement. `matmul` and `explain` use it from now on, in every process of
    this user on a GPU of this model, until the library changes; `matmul(..., deterministic=True)` does not.

    Another kernel may sum in another order, so the last bits of results may differ from those before tuning.

    Args:
        a, b: tensors of the shape, dtype and layout to tune for, on the GPU; copies of them rotate through the L2.
        schedule: tunes among the kernels of one schedule, for calls that name it.
        out_dtype, accumulate, precision, use_fast_accum: as in the calls to tune for.
        seconds: about how long to measure.
        note: called with a line of text at every step; by default a terminal shows it.

    Raises:
        CaptureError: a CUDA graph is being captured on the current stream.
        DeviceError: no Hopper GPU.
        HopperGemmError: what `matmul` raises for the same arguments.
    """
    _refuse_capture()
    check_tensors(a, b, None)
    if not a.is_cuda:
        raise DeviceError(
            sentence(
                "tuning measures time on a Hopper GPU", got=f"tensors on {a.device}", fix="pass CUDA tensors; the emulator has no time"
            )
        )
    card, request = card_of(a.get_device()), Request(schedule)
    problem = read_problem(a, b, None, out_dtype, accumulate, precision=precision, fast_accum=use_fast_accum)
    check_memory(a, b, None)
    if problem.is_empty:
        raise UnsupportedProblemError(sentence("an empty product runs no kernel", got=problem.describe()))
    built = [k for k in all_kernels() if k.compiled]
    with torch.cuda.device(a.device), _shown(note) as show:
        show(problem.describe())
        sets = Rotation(a, b, DTYPES[problem.output])
        choice = search(
            problem, request, built, card, Stopwatch(sets, show), seconds=seconds, can_run=sets.can_run, note=show
        )
    remember(problem, schedule, choice, a.get_device())
    return Tuning(problem, choice)


def tune_cases(cases: Sequence[Case], *, seconds: float = 4.0, note: Callable[[str], None] | None = None) -> Iterator[Tuning]:
    """`tune` for shapes, dtypes and layouts given by name (bench/suites.py), random normal values; one result after the other."""
    from .bench.operands import Operands

    for case in cases:
        one = Operands(case, seed=0, count=1)
        yield tune(one.a[0], one.b[0], **one.arithmetic.options, seconds=seconds, note=note)


def remember(problem: Problem, schedule: str | Schedule, choice: Choice, device: int) -> None:
    """Puts a choice into the table of a GPU; `matmul` plans anew."""
    key = key_of(problem, str(parse_schedule(schedule) or AUTO))
    table_of(card_of(device)).record({key: choice})
    ops.forget_launches()


class Rotation:
    """Copies of the operands, in the same layout, as many as it takes to miss the L2."""

    def __init__(self, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> None:
        from .bench import measure  # not when the package is imported

        self.count = measure.input_sets(a.nbytes + b.nbytes)
        self.a = [_copy(a) for _ in range(self.count)]
        self.b = [_copy(b) for _ in range(self.count)]
        self.out = measure.rotated_outputs(self.count, result_shape(a, b), dtype, a.device)

    def call(self, prediction: Prediction) -> measure.Call:
        return lambda i: ops.launch(prediction, self.a[i], self.b[i], self.out[i])

    def can_run(self, prediction: Prediction) -> str:
        return ops.refusal(prediction, self.a[0], self.b[0], self.out[0])

    def result(self, prediction: Prediction) -> torch.Tensor:
        self.out[0].zero_()
        self.call(prediction)(0)
        return self.out[0].double()


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Of the same strides, also where several elements are the same memory."""
    span = tensor.as_strided((span_elements(tensor.shape, tensor.stride()),), (1,)).clone()
    return span.as_strided(tensor.shape, tensor.stride())


class Stopwatch:
    """Times predictions on a GPU; what was captured once is kept for the next pass."""

    def __init__(self, sets: Rotation, note: Callable[[str], None]) -> None:
        self._sets, self._note = sets, note
        self._order = random.Random(0)
        self._captured: dict[str, measure.Candidate] = {}

    def __call__(self, predictions: Mapping[str, Prediction], rounds: int, fraction: float) -> dict[str, measure.Timing]:
        from .bench import measure

        fresh = {name: self._sets.call(p) for name, p in predictions.items() if name not in self._captured}
        self._captured |= measure.capture(fresh, self._sets.count, lambda name, e: self._note(f"{name} failed: {e}"))
        names = [name for name in predictions if name in self._captured]
        if fraction == 1:
            names = self._agreeing({name: predictions[name] for name in names})
        chosen = {name: self._captured[name] for name in names}
        return measure.time_interleaved(chosen, rounds, order=self._order, shortened=fraction)

    def _agreeing(self, predictions: Mapping[str, Prediction]) -> list[str]:
        """Those that give the first one's result: a kernel that is fast and wrong must not be remembered."""
        results = {name: self._sets.result(p) for name, p in predictions.items()}
        expected = next(iter(results.values()))
        names = [n for n, r in results.items() if (r - expected).norm() <= TOLERANCE * expected.norm()]
        for name in results.keys() - set(names):
            self._note(f"{name} gives another result and is left out")
        return names


def _refuse_capture() -> None:
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise CaptureError(
            sentence(
                "tuning measures, and nothing can be measured while a CUDA graph is being captured",
                fix="call tune before the capture; matmul inside it then uses what was found",
            )
        )


@contextlib.contextmanager
def _shown(note: Callable[[str], None] | None) -> Iterator[Callable[[str], None]]:
    """The given function, or a line on the terminal that changes."""
    if note is not None or not sys.stderr.isatty():
        yield note or (lambda text: None)
        return
    from rich.console import Console

    with Console(stderr=True).status("tuning") as status:
        yield lambda text: status.update(f"tuning: {text}")
