"""The programs suite, selector and chains with pretended times: their tables, their sets, and partial results."""

from __future__ import annotations

import dataclasses
import json
import random
import types

import pytest
import torch
from support import pretend_bench
from support.pretend_time import pretend_time
from support.programs import load_program

import hopper_gemm
from hopper_gemm.bench import peers, runner
from hopper_gemm.bench.measure import Timing
from hopper_gemm.bench.runner import BenchOptions
from hopper_gemm.bench.suites import Case, load_suite
from hopper_gemm.cost import Card
from hopper_gemm.selector import load_model, predict

suite, selector, chains = (load_program(name) for name in ("suite", "selector", "chains"))
library = pretend_bench.library


# --- suite


def test_every_shape_of_the_suite_falls_into_one_set():
    rows = [{**dataclasses.asdict(c), "floor_us": runner.floor_us(c, "sustained")} for c in load_suite("peers")]
    sets = [suite.set_of(row) for row in rows]
    assert {name: sets.count(name) for name in sets} == {
        "unaligned": 2, "deep K": 2, "decode": 8, "small": 3, "large": 17, "the rest": 7
    }  # fmt: skip
    assert suite.set_of({**rows[0], "layout": "nt"}) == "nt" and suite.set_of({**rows[0], "dtype": "fp8"}) == "fp8"
    assert set(sets) | {"tt", "nn", "nt", "fp16", "tf32", "fp8", "fp8_fast", "int8", "peers"} == set(suite.LIMITS)


def test_means_and_least_ratios_against_their_limits():
    row = {"m": 1, "n": 64, "k": 64, "dtype": "bf16", "layout": "tn", "floor_us": 1.0}
    good, bad = {**row, "ratio": 1.2, "peer_ratio": 1.0}, {**row, "ratio": 0.99}
    (decode, against_peers) = suite.summary([good, bad])
    assert decode["set"] == "decode" and decode["shapes"] == 2 and decode["mean"] == pytest.approx((1.2 * 0.99) ** 0.5, abs=1e-4)
    assert decode["least"] == 0.99 and not decode["ok"] and not against_peers["ok"]
    assert suite.summary([good])[0]["ok"] and "BELOW" in suite.lines([decode])[0]


def test_one_row_a_shape_with_the_better_peer(library, monkeypatch, tmp_path):
    def slow(case, operands):
        return operands.torch_call

    def absent(case, operands):
        raise RuntimeError("no such thing\nat all")

    monkeypatch.setattr(peers, "_PEERS", {"cublaslt": slow, "triton": slow, "deep_gemm": absent})
    path = tmp_path / "suite.json"
    options = BenchOptions(rounds=2, peers=("cublaslt", "triton", "deep_gemm"), json_path=path)
    result = suite.measured([Case(72, 64, 64), Case(16, 64, 128)], options)
    written = json.loads(path.read_text())
    assert written["rows"] == result["rows"] and len(result["rows"]) == 2
    row = result["rows"][0]
    assert row["schedule"] == "auto" and set(row["peers"]) == {"cublaslt", "triton"}
    assert row["peer"] == "cublaslt" and row["peer_us"] == min(row["peers"].values()) and row["peer_ratio"] > 0
    assert len(result["notes"]) == 2 and result["notes"][0].endswith("no such thing")
    assert {s["set"] for s in written["sets"]} == {"the rest", "decode", "peers"} and written["gpu"] is None


# --- selector


def test_the_shapes_are_those_of_the_seed():
    cases = selector.draw_shapes(60, 5)
    assert cases == selector.draw_shapes(60, 5) != selector.draw_shapes(60, 6) and len(set(cases)) == 60
    assert sum(c.n % 64 == 0 and c.k % 64 == 0 for c in cases) >= 20
    assert sum(c.n % 8 == 0 and c.k % 8 == 0 for c in cases) >= 40
    assert all(1 <= x <= 16384 for c in cases for x in (c.m, c.n, c.k))
    assert all(runner.floor_us(c, "sustained") <= 3000 for c in cases)
    sweep = load_program("sweep").random_cases(70, 11)
    assert not set(sweep) & set(cases)


def test_a_sweep_of_what_has_to_be_packed():
    sweep = load_program("sweep")
    cases = sweep.random_cases(20, 101, packed=True)
    assert len(set(cases)) == 20 and all(any(case.problem().packs) for case in cases)
    assert not set(cases) & set(selector.draw_shapes(60, 13))
    assert not any(any(case.problem().packs) for case in sweep.random_cases(40, 101))
    long = [Case(64, 64, k) for k in range(8185, 8192)]
    kernels = [k for k in hopper_gemm.kernels() if k.input == "bf16" and k.accumulator == "f32"]
    for case in long:
        slices = {predict(case.problem().for_output(k.output), k, Card(), load_model()).walk.slices for k in kernels}
        assert slices == {1}, "by name they run as the sweep says"


def test_a_sweep_of_some_rows_and_depths_takes_those_alone(monkeypatch, capsys):
    sweep = load_program("sweep")
    for layout in ("tn", "nt"):
        cases = sweep.within(sweep.extents("1:32"), sweep.EVERY, 20, 106, "bf16", layout)
        assert len(set(cases)) == 20 and all(case.m <= 32 and case.layout == layout for case in cases)
        assert any(case.n > 1000 for case in cases) and not any(any(case.problem().packs) for case in cases)
    monkeypatch.setattr("sys.argv", ["sweep.py", "--json", "x.json", "--packed", "--depth", "8:64"])
    with pytest.raises(SystemExit):
        sweep.main()
    assert "without --rows and --depth" in capsys.readouterr().err
    short = sweep.within(sweep.EVERY, sweep.extents("8:64"), 20, 106, "bf16", "tn")
    assert len(short) == 20 and {8, 64} <= {case.k for case in short} <= set(range(8, 65))


def test_the_chosen_kernel_is_compared_with_the_best(library, monkeypatch):
    real = selector.Operands
    monkeypatch.setattr(selector, "Operands", lambda case, seed: real(case, seed, device="cpu"))
    case, notes = Case(64, 72, 80), []
    chosen = real(case, 0, device="cpu").plan().kernel.name
    favourite = []

    def timed(candidates, rounds, *, order, shortened=1.0):
        times = {name: 20.0 for name in candidates}
        if favourite:
            times[favourite[0]] = 16.0
        return {name: Timing((us,) * rounds) for name, us in times.items()}

    monkeypatch.setattr(selector.measure, "time_interleaved", timed)
    row = selector.measure_case(case, 3, random.Random(0), notes.append)
    assert row["ratio"] == 1.0 and row["chosen"] == row["best"] == chosen and notes == []
    assert set(row["slices"]) == {chosen if name == "auto" else name for name in row["finalists"]}
    favourite.append(next(name for name in row["finalists"] if name != "auto"))
    row = selector.measure_case(case, 3, random.Random(0), notes.append)
    assert row["ratio"] == 1.25 and row["best"] == favourite[0] and row["best_us"] == 16.0 and row["us"] == 20.0
    assert row["kernels"] > 10 and len(row["finalists"]) <= 9 and "1.250 x the best" in selector.line(row)
    found = selector.summary([row, {**row, "ratio": 1.0}])
    assert found["mean"] == pytest.approx(1.25**0.5, abs=1e-4) and found["worst"] == 1.25 and not found["ok"]


def test_finalists_share_their_rounds_among_several_graphs(monkeypatch):
    captured = []

    def capture(calls, sets, failed):
        captured.append(list(calls))
        return {name: name for name in calls if (name, len(captured)) != ("fails later", 3)}

    def time_interleaved(graphs, rounds, *, order):
        return {name: Timing((float(len(captured)),) * rounds) for name in graphs}

    monkeypatch.setattr(selector.measure, "capture", capture)
    monkeypatch.setattr(selector.measure, "time_interleaved", time_interleaved)
    calls = dict.fromkeys(("auto", "other", "third", "fails later"), lambda i: None)
    times = selector.timed(calls, 1, 9, random.Random(0), lambda name, e: None)
    assert times["auto"].rounds == (1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0) and times["auto"] == times["other"]
    assert "fails later" not in times and len({tuple(names) for names in captured}) > 1
    captured.clear()
    assert len(selector.timed(calls, 1, 3, random.Random(0), lambda name, e: None)["auto"].rounds) == len(captured) == 3


def test_a_wrong_kernel_and_a_broken_one_are_left_out(library, monkeypatch):
    real = selector.Operands
    monkeypatch.setattr(selector, "Operands", lambda case, seed: real(case, seed, device="cpu"))
    notes = []
    library.broken, library.wrong = "_multistage_", "_tma_tma"
    row = selector.measure_case(Case(64, 72, 80), 2, random.Random(0), notes.append)
    assert any("it broke" in note for note in notes)
    assert not any("_multistage_" in name or "_tma_tma" in name for name in row["finalists"])
    library.broken = "bf16"
    assert selector.measure_case(Case(64, 72, 80), 2, random.Random(0), notes.append) is None


# --- chains


def test_the_chains_are_the_ones_promised():
    by_name = {c.name: c for c in chains.CHAINS}
    chain = by_name["64 products of 1024^3"]
    assert chain.repeats * len(chain.products) == 64 and chain.limit == 0.95
    small, large = by_name["decode step, Llama-3 8B"], by_name["decode step, Llama-3 70B"]
    assert (small.limit, large.limit) == (0.94, 0.98)
    assert small.floor_us / small.repeats == pytest.approx(94.1, rel=0.03)
    assert large.floor_us / large.repeats == pytest.approx(369.2, rel=0.03)
    for chain in chains.CHAINS:
        assert sum(2 * n * k for n, k in chain.products) * chain.repeats > 120e6


def test_a_chain_runs_through_both_sides(monkeypatch):
    pretend_time(monkeypatch)
    monkeypatch.setattr(hopper_gemm, "matmul", lambda a, b, out, **rest: out.copy_((a.double() @ b.double()).bfloat16()))
    monkeypatch.setattr(hopper_gemm, "explain", lambda *arguments, **rest: types.SimpleNamespace(kernel="a kernel"))
    chain = chains.Chain("small", 16, ((96, 64), (64, 32), (128, 64), (64, 128)), 3, 9.0)
    notes = []
    row = chains.measure_chain(chain, 4, 0, notes.append, device="cpu")
    assert notes == [] and row["products"] == 12 and row["difference"] < 0.03 and row["ok"] and row["kernels"] == ["a kernel"] * 4
    assert row["static_us"] > 0 and row["ok"] == (min(row["of_torch"], row["static_of_torch"]) <= row["limit"])
    buffers = chains.Buffers(chain, 0, "cpu")
    last = buffers.run(chains.torch_product)
    assert 0.3 < float(last.float().std()) < 3
    buffers.outs[4].zero_()
    assert torch.equal(buffers.run(chains.torch_product), last)
    monkeypatch.setattr(hopper_gemm, "matmul", lambda a, b, out, **rest: out.zero_())
    assert chains.measure_chain(chain, 4, 0, notes.append, device="cpu") is None and "from torch's" in notes[0]
