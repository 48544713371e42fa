"""From a problem to one kernel: which kernels may run it, which of them the model prefers, and the texts for "none"."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import manifest
from .config import Config, matching
from .errors import UnsupportedProblemError, sentence
from .operands import K_MAJOR
from .problem import Problem
from .registry import Kernel
from .schedule import AUTO, Schedule, parse_schedule
from .selector import Card, Prediction, load_model, rank
from .tuned import Choice, key_of, put_first, shipped_choices, table_of
from .walk import LINE_BYTES


@dataclass(frozen=True)
class Request:
    """What the caller named: a schedule and / or a config, both optional; whether the user's tuned table may choose, and the one
    that ships with the library; whether the choice must be the same for every M (then no table does: what is tuned is one M);
    whether nothing still writes b (then the shipped table does not: it was measured without that promise).
    """

    schedule: str | Schedule = "auto"
    config: str | Config | None = None
    tuned: bool = True
    batch_invariant: bool = False
    static_b: bool = False
    shipped: bool = True

    def __str__(self) -> str:
        if self.config is None:
            return f"schedule {str(self.schedule)!r}"
        beside = "" if self.schedule == "auto" else f" with schedule {str(self.schedule)!r}"
        return f"config {str(self.config)!r}{beside}"


@dataclass(frozen=True)
class Plan:
    """The kernel and walk for one problem; `alternatives` are the other candidates, best first by the model."""

    problem: Problem
    chosen: Prediction
    alternatives: Sequence[Prediction] = field(repr=False)
    rejected: dict[str, int] = field(repr=False)  # reason -> kernels of the build it rules out
    tuned: Choice | None = field(default=None, repr=False)  # the measurement that chose, if not the model
    measured_in_place: bool = False  # it was measured on what is left after the copies

    @property
    def kernel(self) -> Kernel:
        return self.chosen.kernel

    @property
    def reason(self) -> str:
        if not self.tuned:
            return self.chosen.reason
        return f"{self.tuned.reason}, without the copies" if self.measured_in_place else self.tuned.reason


def make_plan(
    problem: Problem,
    request: Request,
    built: Sequence[Kernel],
    card: Card,
    can_run: Callable[[Prediction], str] = lambda prediction: "",
) -> Plan:
    """Picks the kernel that was measured to be fastest (`tune`), or else the one the model predicts to be, among those that
    may run the problem.

    Args:
        built: kernels that exist for the machine at hand (compiled, or emulated).
        can_run: the library's own last word: an empty text, or the rule that forbids this kernel.

    Raises:
        ScheduleError, ConfigError: the request names nothing that exists.
        UnsupportedProblemError: it exists but cannot run this problem: which rule, which number.
    """
    candidates, rejected = candidates_for(problem, request, built)
    if not candidates:
        raise UnsupportedProblemError(
            sentence(
                "this build holds no kernels for this machine",
                fix="rebuild where nvcc 13 is found; what was built is shown by: python -m hopper_gemm info",
            )
        )
    ranked = rank(problem, candidates, card, load_model(), request.static_b)
    measured, in_place = _measured_choice(problem, request, card)
    ranked, choice = put_first(measured, ranked)
    if request.batch_invariant:
        ranked = as_for_any_m(problem, ranked, card)
    refusals: dict[str, int] = {}
    for position, prediction in enumerate(ranked):
        refusal = can_run(prediction)
        if not refusal:
            others = ranked[:position] + ranked[position + 1 :]
            tuned = None if position else choice
            plan = Plan(problem, prediction, others, rejected | refusals, tuned, in_place and tuned is not None)
            _log(plan, request)
            return plan
        refusals[refusal] = refusals.get(refusal, 0) + 1
    raise UnsupportedProblemError(
        sentence(f"{request} cannot run this problem ({problem.describe()}): {next(iter(refusals))}")
    )


INVARIANT_M = 512  # rows for which the kernel of all batch-invariant products of one N, K, type and layout is chosen


def as_for_any_m(problem: Problem, predictions: Sequence[Prediction], card: Card) -> list[Prediction]:
    """Predictions in an order that does not depend on the caller's M or batch: that of a product of INVARIANT_M rows.

    A row's bits depend on the kernel alone (its tile and its order of K), so they are the same whatever is multiplied
    beside it. K is not cut into slices, whose number follows from M, and no tiles begin apart, which only those of one row
    may. What is packed does not count, since its size follows from M too.
    """
    m, n = (problem.m, INVARIANT_M) if problem.swapped else (INVARIANT_M, problem.n)
    order = rank(replace(problem.in_place, m=m, n=n, batches=1), [p.kernel for p in predictions], card, load_model())
    place = {prediction.kernel.id: i for i, prediction in enumerate(order)}
    whole = [replace(p, walk=p.walk.for_any_m) for p in predictions]
    return sorted(whole, key=lambda p: place[p.kernel.id])


def _measured_choice(problem: Problem, request: Request, card: Card) -> tuple[Choice | None, bool]:
    """The user's own measurement comes before the library's, and a product with copies takes what the one without them takes,
    which the flag says."""
    if request.config is not None or request.batch_invariant:
        return None, False
    schedule = str(parse_schedule(request.schedule) or AUTO)
    keys = [key_of(problem, schedule), key_of(problem.in_place, schedule)]
    tables: list[Mapping[str, Choice]] = [table_of(card).choices] if request.tuned else []
    if request.shipped and not request.static_b:
        tables.append(shipped_choices(card))
    found = ((table[key], key != keys[0]) for table in tables for key in keys if key in table)
    return next(found, (None, False))


# What asks for a kernel that does not promote, of fp8 and of 3xTF32.
_UNPROMOTED = {False: "use_fast_accum=True", True: "precision='tf32'"}


def candidates_for(problem: Problem, request: Request, built: Sequence[Kernel]) -> tuple[list[Kernel], dict[str, int]]:
    """Kernels that may run the problem as requested, and why the others may not."""
    schedule = parse_schedule(request.schedule)
    rejected: dict[str, int] = {}
    pool = list(built)
    if request.config is not None:
        pool = matching(request.config, pool, schedule, problem.input)
    layouts = " or ".join(problem.layouts)
    rules: list[tuple[str, Callable[[Kernel], bool]]] = [
        (f"of another schedule than {schedule}", lambda k: schedule in (None, k.schedule)),
        (f"of another input type than {problem.input}", lambda k: k.input == problem.input),
        ("only for calls that name them by config=", lambda k: _may_be_chosen(k, problem, request)),
        (f"without promotion, which takes {_UNPROMOTED[problem.split]}", lambda k: _sums_well(k, problem, request)),
        (f"of another accumulator than {problem.accumulate}", lambda k: problem.accumulate in (None, k.accumulator)),
        (f"of another layout than {layouts}", lambda k: k.layout in problem.for_output(k.output).layouts),
        ("ones whose order of K follows from where a row lies, which batch_invariant=True rules out", lambda k: _sums_alike(k, problem, request)),
    ]
    for reason, keeps in rules:
        kept = [k for k in pool if keeps(k)]
        if len(kept) < len(pool):
            rejected[reason] = len(pool) - len(kept)
        if pool and not kept:
            rejected[reason] = len(pool)
            nearest = _nearest(pool[0], problem, built)
            raise UnsupportedProblemError(_why_none(problem, request, reason, len(pool), nearest))
        pool = kept
    # A row or a column can be read two ways: the first that has kernels. fp16 sums only where nothing else matches.
    best = min(_reading(k, problem, request) for k in pool) if pool else 0
    pool = [k for k in pool if _reading(k, problem, request) == best]
    return _whole_boxes(_as_exact_as_asked(pool, problem), problem), rejected


def _whole_boxes(pool: list[Kernel], problem: Problem) -> list[Kernel]:
    """Of the kernels left, those whose boxes are whole swizzle spans, unless all of K is less (docs/notes/small_and_decode.md)."""
    if problem.k * problem.element_bytes < LINE_BYTES:
        return pool
    return [k for k in pool if k.tile[2] * k.element_bytes >= LINE_BYTES] or pool


def _sums_alike(kernel: Kernel, problem: Problem, request: Request) -> bool:
    """Whether all rows of the caller's A are summed in one order, if that was asked for: where a kernel's tiles begin depends on
    the rows of its own A, the weights if the operands are exchanged."""
    return not (request.batch_invariant and kernel.turns_k) or problem.for_output(kernel.output).swapped


def _as_exact_as_asked(pool: list[Kernel], problem: Problem) -> list[Kernel]:
    """Of the kernels left: those that promote where sums are promoted and none elsewhere, no fp16 sums not asked for."""
    exact = [k for k in pool if k.accumulator != "f16"]
    pool = (exact or pool) if problem.accumulate is None else pool
    short = problem.k <= manifest.promotion_k(problem.a_type)  # nothing to promote
    preferred = [k for k in pool if short or (k.promote_k > 0) == problem.promotes]
    return preferred or pool


def _reading(kernel: Kernel, problem: Problem, request: Request) -> tuple[int, int]:
    """Which of the readings of A and B a kernel uses, 0 for the best of each. A packed copy can lie either way, but one that is
    cheapest along K does: for dense bf16 the other gained 0.5% on average and 8% at most (docs/notes/failed_ideas.md). Which is
    the cheapest does not count where all M are to take one kernel: one row of columns looks like a row."""
    seen = problem.for_output(kernel.output)
    ways = zip(seen.packs, (seen.a_majors, seen.b_majors), manifest.majors(kernel.layout))
    readings = [0 if packs and (request.batch_invariant or majors[0] != K_MAJOR) else majors.index(major) for packs, majors, major in ways]
    return (readings[0], readings[1]) if seen.row_major else (readings[1], readings[0])


def _may_be_chosen(kernel: Kernel, problem: Problem, request: Request) -> bool:
    if request.config is not None or kernel.automatic:
        return True
    return problem.accumulate == "f16" and kernel.accumulator == "f16"


def _sums_well(kernel: Kernel, problem: Problem, request: Request) -> bool:
    """Whether sums are promoted where they are to be, unless the kernel was named in full."""
    return kernel.promote_k > 0 or not problem.promotes or request.config == kernel.name


def _nearest(wanted: Kernel, problem: Problem, built: Sequence[Kernel]) -> str:
    """Name of the kernel most like `wanted` among those that can run the problem, or of `wanted` if none can."""

    def runs(k: Kernel) -> bool:
        fits = k.input == problem.input and k.layout in problem.for_output(k.output).layouts
        return fits and problem.accumulate in (None, k.accumulator) and (k.promote_k > 0 or not problem.promotes)

    def apart(k: Kernel) -> tuple[int, int]:
        differs = (k.schedule != wanted.schedule, k.tile != wanted.tile, k.output != wanted.output)
        return 4 * sum(differs) + (k.cluster != wanted.cluster) + (k.stages != wanted.stages), k.id

    return min(filter(runs, built), key=apart, default=wanted).name


def _why_none(problem: Problem, request: Request, reason: str, count: int, nearest: str) -> str:
    kernels = "the one kernel it names is" if count == 1 else f"all {count} kernels it leaves are"
    return sentence(
        f"{request} cannot run this problem: {kernels} {reason}",
        got=f"{problem.describe()}; the nearest kernel is {nearest}",
        expected="a kernel of this type and layout, as listed by: python -m hopper_gemm list",
        fix="leave schedule= and config= away to let the selector choose",
    )


_logged: set[tuple[str, str, str]] = set()


def _log(plan: Plan, request: Request) -> None:
    """HOPPER_GEMM_LOG=1: kernel and reason on stderr, once per problem."""
    if os.environ.get("HOPPER_GEMM_LOG", "0") in ("", "0"):
        return
    line = (plan.problem.describe(), str(request), plan.kernel.name)
    if line not in _logged:
        _logged.add(line)
        print(f"hopper_gemm: {line[0]}, {line[1]}: {line[2]} ({plan.reason})", file=sys.stderr)
