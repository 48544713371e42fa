"""`explain`: which kernel a product gets, why, and why not the others."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .checks import check_memory, check_tensors
from .config import Config
from .device import card_of
from .emulation import current_emulator
from .errors import ArgumentError, UnsupportedProblemError, sentence
from .plan import Plan, Request, make_plan
from .problem import Problem, read_problem
from .recipe import Recipe
from .registry import all_kernels
from .schedule import Schedule
from .selector import Card, Prediction, load_model


@dataclass(frozen=True)
class Explanation:
    """The plan for one product; `str()` of it is meant to be read."""

    plan: Plan
    request: Request
    card: Card

    @property
    def kernel(self) -> str:
        """Name of the kernel that runs."""
        return self.plan.kernel.name

    @property
    def predicted_us(self) -> float:
        """Of the kernel and of what is packed before and copied after it."""
        return self.plan.chosen.us

    @property
    def candidates(self) -> list[Prediction]:
        """The one that runs, then the others, fastest first by the model."""
        return [self.plan.chosen, *self.plan.alternatives]

    def __str__(self) -> str:
        problem, walk, model = self.plan.problem, self.plan.chosen.walk, load_model()
        lines = [
            f"{problem.describe()} on {self.card.name} ({self.card.sm_count} SMs), {self.request}",
            f"  kernel  {self.kernel}",
            f"  why     {self.plan.reason}",
            f"  walk    {walk.describe()}; about {walk.hbm_bytes / 1e6:.1f} MB from HBM",
        ]
        if walk.slices > 1:
            megabytes = 4e-6 * walk.slices * problem.m * problem.n
            lines.append(
                f"  slices  K in {walk.slices} parts, summed in order by a second launch; {megabytes:.1f} MB of workspace"
            )
        if self.plan.chosen.problem.swapped:
            lines.append("  swapped the kernel computes out.t() = b.t() @ a.t()")
        if self.plan.tuned and not self.plan.tuned.shipped:
            lines.append("  tuned   the table of this GPU chose, which may change the last bits; deterministic=True ignores it")
        lines += packing_lines(self.plan)
        if self.request.static_b:
            lines.append(f"  static  {static_line(self.plan.chosen)}")
        measured = "measured without the copies" if self.plan.measured_in_place else "measured"
        lines.append(f"  candidates (predicted, {measured if self.plan.tuned else 'not measured'}):")
        best = min(p.us for p in self.candidates)
        for prediction in self.candidates[:12]:
            lines.append(
                f"    {prediction.us:10.1f} us  {prediction.us / best:5.2f} x{self._measured(prediction)}  {prediction.kernel.name}"
                f"  ({prediction.waves:.2f} waves, {prediction.bound})"
            )
        if len(self.candidates) > 12:
            lines.append(f"    ... and {len(self.candidates) - 12} slower ones")
        for reason, count in self.plan.rejected.items():
            lines.append(f"  not considered: {count} kernel{'s' * (count != 1)}, {reason}")
        lines.append(f"  model   {model['card']}, {model['date']}")
        return "\n".join(lines)

    def _measured(self, prediction: Prediction) -> str:
        if not self.plan.tuned:
            return ""
        us = self.plan.tuned.measured.get(prediction.kernel.name)
        return f"{us:10.1f} us" if us else f"{'-':>13}"

    __repr__ = __str__


def packing_lines(plan: Plan) -> list[str]:
    """What goes through a workspace, if anything does."""
    problem = plan.chosen.problem
    if not problem.workspace_bytes:
        return []
    a, b = ("b", "a") if problem.swapped else ("a", "b")
    names = [name for name, used in ((a, problem.packs[0]), (b, problem.packs[1])) if used]
    parts = [f"{' and '.join(sorted(names))} to aligned memory first"] if names else []
    parts += ["the result to out at the end"] if problem.copies_out else []
    size, us = problem.workspace_bytes / 1e6, plan.chosen.estimate.packing_us
    counted = "more" if plan.measured_in_place else "of those predicted"
    return [f"  packs   {' and '.join(parts)}: a workspace of {size:.1f} MB, about {us:.1f} us {counted}"]


def static_line(chosen: Prediction) -> str:
    """What comes of a promise that nothing still writes b."""
    if not Recipe.of(chosen, True).static_b:
        return "not used: this call packs b just before the kernel reads it"
    if chosen.kernel.schedule == Schedule.MULTISTAGE:
        return f"not used: {chosen.kernel.schedule} kernels load nothing ahead"
    return "the first stages of b are loaded before the kernel before has ended"


def explain(
    a: torch.Tensor,
    b: torch.Tensor,
    *others: object,
    out: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    schedule: str | Schedule = "auto",
    config: str | Config | None = None,
    accumulate: str | None = None,
    precision: str | None = None,
    use_fast_accum: bool = False,
    deterministic: bool = False,
    batch_invariant: bool = False,
    static_b: bool = False,
) -> Explanation:
    """What `matmul` with the same arguments would run, without running it.

    Tensors on the CPU are explained for the emulator if one is in force, else for an H200.

    Raises:
        HopperGemmError: what `matmul` raises for the same arguments.
        UnsupportedProblemError: an empty product runs no kernel.
    """
    if others or isinstance(a, int):
        given = ", ".join(repr(x) if isinstance(x, int) else type(x).__name__ for x in (a, b, *others))
        raise ArgumentError(
            sentence(
                "explain takes the two tensors of the product",
                got=given,
                fix="for a shape alone, pass torch.empty(M, K, dtype=torch.bfloat16) and torch.empty(N, K, dtype=torch.bfloat16).t(), "
                "or ask on the command line: hopper-gemm explain M N K",
            )
        )
    request = Request(schedule, config, not deterministic, bool(batch_invariant), bool(static_b))
    check_tensors(a, b, out)
    problem = read_problem(a, b, out, out_dtype, accumulate, precision=precision, fast_accum=bool(use_fast_accum))
    check_memory(a, b, out)
    if problem.is_empty:
        raise UnsupportedProblemError(
            sentence("an empty product runs no kernel", got=problem.describe(), fix="call matmul: it returns at once")
        )
    return explain_problem(problem, request, _card_for(a))


def explain_problem(problem: Problem, request: Request, card: Card) -> Explanation:
    """The same for a problem given by numbers, on any card."""
    usable = [k for k in all_kernels() if (k.emulated if card.name == "emulator" else k.compiled)]
    return Explanation(make_plan(problem, request, usable or all_kernels(), card), request, card)


def _card_for(a: torch.Tensor) -> Card:
    if a.is_cuda:
        return card_of(a.get_device())
    emulator = current_emulator()
    return Card("emulator", emulator.sm_count) if emulator else Card(f"{Card().name} (assumed: the tensors are on the CPU)")
