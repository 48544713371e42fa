"""The search for the fastest kernel of a problem, with pretended times."""

from __future__ import annotations

import pytest
from support.pretend_time import PretendStopwatch as Stopwatch

from hopper_gemm import errors
from hopper_gemm.plan import Plan, Request, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.registry import all_kernels
from hopper_gemm.search import search
from hopper_gemm.selector import Card, Prediction
from hopper_gemm.tuned import Choice

CARD = Card("Hopper of a test", 132)
PROBLEM = Problem(2048, 4096, 1024, "bf16", "bf16", ("k",), ("k",))


def plan_of(problem: Problem = PROBLEM, request: Request = Request()) -> Plan:  # noqa: B008
    return make_plan(problem, request, all_kernels(), CARD)


def found(us_of, problem: Problem = PROBLEM, request: Request = Request(), **rest) -> Choice:  # noqa: B008
    return search(problem, request, all_kernels(), CARD, Stopwatch(us_of, **rest), seconds=1.0)


def slower_by_name(favourite: str):
    return lambda p: 10.0 if p.kernel.name == favourite else 20.0 + p.kernel.id / 100


def test_the_fastest_kernel_is_found_whatever_the_model_says():
    own, other = plan_of().chosen, plan_of().alternatives[7]
    choice = found(slower_by_name(other.kernel.name))
    assert choice.kernel == other.kernel.name and choice.us == 10.0
    assert choice.model_kernel == own.kernel.name and choice.model_us == 20.0 + own.kernel.id / 100
    assert choice.measured[other.kernel.name] == 10.0 and len(choice.measured) > 20
    assert list(choice.measured.values()) == sorted(choice.measured.values())


def test_the_fastest_walk_is_found():
    own = plan_of().chosen
    wanted = ("along_n" if own.walk.raster == "along_m" else "along_m", 2)

    def us_of(p: Prediction) -> float:
        return 30.0 if p.kernel != own.kernel else 9.0 if (p.walk.raster, p.walk.group) == wanted else 10.0

    choice = found(us_of)
    assert choice.kernel == own.kernel.name and (choice.walk["raster"], choice.walk["group"]) == wanted
    assert not choice.is_the_models and choice.model_us == 10.0


def test_the_best_number_of_slices_is_found():
    deep = Problem(256, 256, 32768, "bf16", "bf16", ("k",), ("k",))
    watch = Stopwatch(lambda p: 10.0 if p.walk.slices == 1 else 10.0 / p.walk.slices**0.5)
    choice = search(deep, Request(), all_kernels(), CARD, watch, seconds=1.0)
    tried = {p.walk.slices for predictions, _, _ in watch.passes for p in predictions.values()}
    assert len(tried) > 2 and choice.walk["slices"] == max(tried) > 1


def test_a_difference_within_the_noise_leaves_the_models_choice():
    own = plan_of().chosen.kernel.name
    assert found(lambda p: 10.0 if p.kernel.name == own else 9.98).is_the_models
    assert not found(lambda p: 10.0 if p.kernel.name == own else 9.9).is_the_models


def test_every_kernel_takes_part_and_the_best_are_interleaved():
    watch = Stopwatch(lambda p: p.us)
    search(PROBLEM, Request(), all_kernels(), CARD, watch, seconds=1.0)
    (short, _, fraction), (walks, _, _), (final, rounds, whole) = watch.passes
    pool = [p for p in (plan_of().chosen, *plan_of().alternatives) if p.us < 3 * plan_of().chosen.us]
    assert {p.kernel.name for p in short.values()} == {p.kernel.name for p in pool}
    assert 2 * 0.025 * len(short) * fraction == pytest.approx(0.2) and whole == 1.0 and rounds >= 4 and 8 <= len(final) <= 9
    assert walks and len({p.kernel.name for p in walks.values()}) <= 4


@pytest.mark.parametrize("seconds, expected", [(1e-3, 0.08), (1e3, 0.6)])
def test_short_passes_stay_short(seconds, expected):
    watch = Stopwatch(lambda p: p.us)
    search(PROBLEM, Request(), all_kernels(), CARD, watch, seconds=seconds)
    assert watch.passes[0][2] == expected and watch.passes[-1][2] == 1.0


def test_kernels_that_fail_are_left_out():
    own, other = plan_of().chosen.kernel.name, plan_of().alternatives[3].kernel.name
    choice = found(slower_by_name(other), broken=[own])
    assert choice.kernel == other and own not in choice.measured
    with pytest.raises(errors.UnsupportedProblemError):
        found(lambda p: 1.0, broken=[k.name for k in all_kernels()])


def test_a_named_schedule_is_tuned_within():
    watch = Stopwatch(lambda p: p.us)
    choice = search(PROBLEM, Request("pingpong"), all_kernels(), CARD, watch, seconds=1.0)
    assert "_pingpong_" in choice.kernel and all("_pingpong_" in name for name in choice.measured)
