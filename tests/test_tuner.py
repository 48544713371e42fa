"""Tuning with pretended times: the table that many processes share, and what matmul and explain make of it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import multiprocessing
import os
import random
from pathlib import Path

import pytest
import torch
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.pretend_time import PretendStopwatch

import hopper_gemm
from hopper_gemm import cache, errors, ops, tuned, tuner
from hopper_gemm.bench import measure
from hopper_gemm.bench.arithmetic import ARITHMETIC
from hopper_gemm.explanation import explain_problem
from hopper_gemm.plan import Plan, Request, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.registry import all_kernels
from hopper_gemm.search import search
from hopper_gemm.selector import Card, Prediction
from hopper_gemm.tuned import Choice, TableWarning, key_of, options_of, table_of

CARD = Card("Hopper of a test", 132)
PROBLEM = Problem(2048, 4096, 1024, "bf16", "bf16", ("k",), ("k",))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOPPER_GEMM_CACHE", str(tmp_path))
    monkeypatch.setattr(tuned, "_tables", {})
    return tmp_path


def plan_of(problem: Problem = PROBLEM, request: Request = Request(), card: Card = CARD, **rest) -> Plan:  # noqa: B008
    return make_plan(problem, request, all_kernels(), card, **rest)


def choice_for(prediction: Prediction, **changes) -> Choice:
    own = Choice(prediction.kernel.name, options_of(prediction.walk), 10.0, "model", 12.5, {prediction.kernel.name: 10.0}, "2026-11-30")
    return dataclasses.replace(own, **changes)


# --- the table


def test_the_plan_follows_the_table_and_says_so():
    other = plan_of().alternatives[5]
    walk = dataclasses.replace(other.walk, raster="along_n", group=4)
    choice = choice_for(dataclasses.replace(other, walk=walk), measured={other.kernel.name: 10.0, plan_of().kernel.name: 12.5})
    table_of(CARD).record({key_of(PROBLEM, "auto"): choice})
    plan = plan_of()
    assert plan.kernel == other.kernel and (plan.chosen.walk.raster, plan.chosen.walk.group) == ("along_n", 4)
    assert plan.tuned == choice and len(plan.alternatives) == len({p.kernel for p in plan.alternatives})
    text = str(explain_problem(PROBLEM, Request(), CARD))
    assert f"kernel  {other.kernel.name}" in text and "10.00 us measured" in text and "12.5 us" in text
    assert "deterministic=True" in text and "along_n, groups of 4" in text


def test_slices_of_a_table_are_planned():
    deep = Problem(256, 256, 32768, "bf16", "bf16", ("k",), ("k",))
    own = plan_of(deep).chosen
    other = dataclasses.replace(own, walk=dataclasses.replace(own.walk, slices=2 * own.walk.slices))
    table_of(CARD).record({key_of(deep, "auto"): choice_for(other)})
    assert plan_of(deep).chosen.walk.slices == 2 * own.walk.slices > 1


def test_what_the_table_does_not_decide():
    own, other = plan_of(), plan_of().alternatives[5]
    table_of(CARD).record({key_of(PROBLEM, "auto"): choice_for(other)})
    assert plan_of().kernel == other.kernel
    assert plan_of(request=Request(tuned=False)).kernel == own.kernel
    assert plan_of(request=Request(config=own.kernel.name)).kernel == own.kernel
    assert plan_of(request=Request(own.kernel.schedule)).tuned is None
    assert plan_of(card=Card("another", 132)).tuned is None and plan_of(card=Card(CARD.name, 114)).tuned is None
    for field, value in (("m", 2040), ("output", "f32"), ("a_majors", ("mn",))):
        assert plan_of(dataclasses.replace(PROBLEM, **{field: value})).tuned is None
    refused = plan_of(can_run=lambda p: "not today" if p.kernel == other.kernel else "")
    assert refused.kernel == own.kernel and refused.tuned is None and "not today" in refused.rejected


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": "no_such_kernel"},
        {"walk": {"raster": "along_x", "group": 8, "slices": 1}},
        {"walk": {"raster": "along_m", "group": 8}},
        {"walk": {"raster": "along_m", "group": 8, "slices": 0}},
        {"walk": {"raster": "along_m", "group": "8", "slices": 1}},
    ],
)
def test_a_choice_of_something_else_leaves_the_model(changes):
    table_of(CARD).record({key_of(PROBLEM, "auto"): choice_for(plan_of().alternatives[5], **changes)})
    assert plan_of().tuned is None


def test_the_file_outlives_the_process(own_folder, monkeypatch):
    choice = choice_for(plan_of().alternatives[5])
    table_of(CARD).record({"a": choice})
    monkeypatch.setattr(tuned, "_tables", {})
    assert table_of(CARD).choices == {"a": choice}
    (path,) = own_folder.glob("*.json")
    assert path.name.startswith("tuned-hopper-of-a-test-132sm-") and path == table_of(CARD).path
    assert sorted(p.suffix for p in own_folder.iterdir()) == [".json", ".lock"]


def test_what_another_process_writes_is_seen_at_the_next_plan():
    before = plan_of()
    another = tuned.Table(CARD, table_of(CARD).path)
    another.record({key_of(PROBLEM, "auto"): choice_for(before.alternatives[5])})
    assert plan_of().kernel == before.alternatives[5].kernel


def _record_many(worker: int) -> None:
    choice = Choice("kernel", {"raster": "along_m", "group": 8}, 1.0, "kernel", 1.0, {"kernel": 1.0}, "2026-11-30")
    for i in range(10):
        tuned.Table(CARD, table_of(CARD).path).record({f"{worker} {i}": choice})


def test_many_processes_lose_no_entry(own_folder):
    workers = [multiprocessing.get_context("fork").Process(target=_record_many, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert set(table_of(CARD).choices) == {f"{worker} {i}" for worker in range(8) for i in range(10)}
    assert not list(own_folder.glob("*.tmp"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"kernel"', '"nothing"'),
        lambda text: text.replace(": 10.0", ': "fast"'),
        lambda text: "\x00\xff" * 100,
    ],
)
def test_a_damaged_file_is_empty_is_named_once_and_is_replaced(damage, monkeypatch):
    choice = choice_for(plan_of().alternatives[5])
    table_of(CARD).record({"a": choice})
    path = table_of(CARD).path
    path.write_text(damage(path.read_text()))
    monkeypatch.setattr(tuned, "_tables", {})
    with pytest.warns(TableWarning, match="cannot be read"):
        assert table_of(CARD).choices == {}
    assert plan_of().tuned is None
    with pytest.warns(TableWarning):
        table_of(CARD).record({"b": choice})
    monkeypatch.setattr(tuned, "_tables", {})
    assert table_of(CARD).choices == {"b": choice}


@pytest.mark.parametrize("field, value", [("format", 0), ("library", "0.0.1"), ("sources", "other"), ("gpu", "H100"), ("sm_count", 114)])
def test_a_table_of_another_build_or_gpu_is_empty(field, value, monkeypatch):
    table_of(CARD).record({"a": choice_for(plan_of().alternatives[5])})
    path = table_of(CARD).path
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    monkeypatch.setattr(tuned, "_tables", {})
    assert table_of(CARD).choices == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(own_folder):
    own_folder.chmod(0o500)
    with pytest.warns(TableWarning, match="this process only"):
        table_of(CARD).record({key_of(PROBLEM, "auto"): choice_for(plan_of().alternatives[5])})
    assert plan_of().tuned is not None


def test_a_cache_folder_that_is_a_file(own_folder, monkeypatch):
    (own_folder / "file").write_text("")
    monkeypatch.setenv("HOPPER_GEMM_CACHE", str(own_folder / "file"))
    with pytest.warns(TableWarning, match="this process only"):
        table_of(CARD).record({key_of(PROBLEM, "auto"): choice_for(plan_of().alternatives[5])})
    assert plan_of().tuned is not None


def test_the_cache_folder(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.folder() == Path(os.environ["HOPPER_GEMM_CACHE"])
    monkeypatch.delenv("HOPPER_GEMM_CACHE")
    assert cache.folder() == Path("/somewhere/hopper_gemm")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "hopper_gemm"


# --- matmul


def test_matmul_runs_what_the_table_names(pretend_gpu: PretendGpu, monkeypatch):  # noqa: F811
    monkeypatch.setattr(tuner, "card_of", lambda index: Card())
    a, b = torch.ones(64, 128).bfloat16(), torch.ones(96, 128).bfloat16().t()
    hopper_gemm.matmul(a, b)
    problem = Problem(64, 96, 128, "bf16", "bf16", ("k",), ("k",))
    other = make_plan(problem, Request(), pretend_gpu.kernels, Card()).alternatives[4]
    tuner.remember(problem, "auto", choice_for(other), 0)
    assert bool((hopper_gemm.matmul(a, b) == 128).all())
    hopper_gemm.matmul(a, b, deterministic=True)
    own, tuned_one, again = pretend_gpu.launches
    assert own == again != tuned_one == other.kernel.name
    assert pretend_gpu.plans == 3


def test_the_emulator_runs_the_tuned_kernel_and_walk():
    a, b = torch.randint(-3, 4, (130, 72)).bfloat16(), torch.randint(-3, 4, (200, 72)).bfloat16().t()
    card = Card("emulator", 4)
    problem = Problem(130, 200, 72, "bf16", "bf16", ("k",), ("k",))
    choice = search(problem, Request(), all_kernels(), card, PretendStopwatch(lambda p: -p.us + 1000), seconds=1.0)
    table_of(card).record({key_of(problem, "auto"): choice})
    with hopper_gemm.emulator():
        assert hopper_gemm.explain(a, b).kernel == choice.kernel != hopper_gemm.explain(a, b, deterministic=True).kernel
        y = hopper_gemm.matmul(a, b)
    assert torch.equal(y, (a.double() @ b.double()).bfloat16())


def test_every_arithmetic_of_the_benchmark_can_be_tuned():
    taken = inspect.signature(hopper_gemm.tune).parameters
    assert all(set(kind.options) <= set(taken) for kind in ARITHMETIC.values())


def test_tuning_is_refused_while_a_graph_is_captured_and_without_a_gpu(monkeypatch):
    a = torch.ones(64, 64).bfloat16()
    with pytest.raises(errors.DeviceError, match="no time"):
        hopper_gemm.tune(a, a)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(errors.CaptureError, match="before the capture"):
        hopper_gemm.tune(a, a)


class PretendCandidate:
    def __init__(self, call, sets, stream):
        call(0)
        self.us = 10.0

    def round_us(self, shortened: float = 1.0) -> float:
        return self.us


def test_the_gpus_stopwatch_leaves_out_what_fails_and_what_is_wrong(pretend_gpu: PretendGpu, monkeypatch):  # noqa: F811
    monkeypatch.setattr(measure, "Candidate", PretendCandidate)
    monkeypatch.setattr(measure, "_capture_stream", lambda device: measure_stream)
    measure_stream = type("Stream", (), {"wait_stream": lambda self, other: None})()
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: measure_stream)
    monkeypatch.setattr(measure, "ROTATED_BYTES", 1e5)
    a, b = torch.randn(64, 128).bfloat16(), torch.randn(96, 128).bfloat16().t()
    problem = Problem(64, 96, 128, "bf16", "bf16", ("k",), ("k",))
    plan = make_plan(problem, Request(), pretend_gpu.kernels, Card())
    first, failing, wrong = plan.chosen, *plan.alternatives[:2]
    launch = ops.launch

    def pretended(prediction, a, b, out):
        if prediction is failing:
            raise RuntimeError("it broke")
        launch(prediction, a, b, out)
        if prediction is wrong:
            out[0, 0] += 100

    monkeypatch.setattr(ops, "launch", pretended)
    sets, notes = tuner.Rotation(a, b, torch.bfloat16), []
    assert sets.count > 1 and all(x.stride() == b.stride() and torch.equal(x, b) for x in sets.b)
    assert sets.can_run(first) == ""
    watch = tuner.Stopwatch(sets, notes.append)
    named = {"first": first, "failing": failing, "wrong": wrong}
    assert set(watch(named, 2, 0.1)) == {"first", "wrong"} and "it broke" in notes[0]
    assert set(watch(named, 3, 1.0)) == {"first"} and "another result" in notes[-1]


# --- order of a round


@pytest.mark.parametrize("count, rounds", [(2, 12), (3, 12), (4, 12), (9, 12), (10, 24)])
def test_rounds_are_balanced(count, rounds):
    names = [str(i) for i in range(count)]
    orders = list(measure.balanced_rounds(names, rounds, random.Random(1)))
    assert len(orders) == rounds and all(sorted(o) == sorted(names) for o in orders)
    line = [name for o in orders for name in o]
    followed = [(x, y) for x, y in zip(line, line[1:])]
    assert all(x != y for x, y in followed)
    counts = [followed.count((x, y)) for x in names for y in names if x != y]
    assert max(counts) - min(counts) <= 3
