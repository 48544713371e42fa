"""How near the selector comes to the best kernel of the build: random shapes that nothing was fitted to.

    python benchmarks/selector.py [--seed 5] [--shapes 60] [--rounds 8] [--seconds 235] [--json FILE]

For each shape every kernel that can run it takes part in a short pass; then the best eight and the kernel `matmul` chooses
(without a tuned table) run in interleaved rounds, each in several graphs. `ratio` is the time of the chosen one over that of the best.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.operands import Operands
from hopper_gemm.bench.runner import floor_us, write_json
from hopper_gemm.bench.suites import Case
from hopper_gemm.errors import HopperGemmError
from hopper_gemm.tiling import CLIPS, SUMS

RESULT = Path(__file__).with_name("results") / "selector.json"
LARGEST = 16384
LARGEST_FLOOR_US = 3000.0
FINALISTS = 8
SHORT = 0.06  # of a round of 25 ms
CAPTURES = 4  # of each finalist, which share its rounds: graphs of one 1.3 us kernel differ by up to 3% (graphs.json)
LIMITS = {"mean": 1.03, "worst": 1.12}


def draw_shapes(count: int, seed: int) -> list[Case]:
    """Log-uniform from 1 to 16384: a third with K and N multiples of 64, a third of 8, a third free; none over 3 ms."""
    draw = random.Random(seed)
    cases: dict[Case, None] = {}
    while len(cases) < count:
        step = (64, 8, 1)[len(cases) % 3]
        m, n, k = (round(2 ** draw.uniform(0, math.log2(LARGEST))) for _ in range(3))
        case = Case(m, max(1, n // step) * step, max(1, k // step) * step)
        if case not in cases and floor_us(case, "sustained") <= LARGEST_FLOOR_US:
            cases[case] = None
    return list(cases)


def measure_case(case: Case, rounds: int, order: random.Random, note: Callable[[str], None]) -> dict[str, Any] | None:
    """The row of one shape; None with a note if nothing could be measured."""
    sets = Operands(case, seed=0)
    try:
        plan = sets.plan()
    except HopperGemmError as error:
        note(f"{case}: {error}")
        return None
    # By name a kernel runs with the walk that the selector picks for it, so the chosen one need not be named as well.
    names = list(dict.fromkeys(p.kernel.name for p in plan.alternatives if p.kernel != plan.kernel))
    calls = {"auto": sets.call()} | {name: sets.call(config=name) for name in names}
    failed: list[str] = []
    candidates = measure.capture(calls, sets.count, lambda name, e: failed.append(f"{name}: {e}"))
    if failed:
        note(f"{case}: {len(failed)} of {len(calls)} failed, the first {failed[0][:300]}")
    if "auto" not in candidates:
        return None
    short = measure.time_interleaved(candidates, 2, order=order, shortened=SHORT)
    best = sorted((n for n in short if n != "auto"), key=lambda n: short[n].us)[:FINALISTS]
    del candidates  # the graphs; finalists are captured again
    for name in [n for n in ("auto", *best) if not sets.agrees(calls[n])]:
        note(f"{case}: {name} gives a wrong result and is left out")
        calls.pop(name)
    left = {name: calls[name] for name in ("auto", *best) if name in calls}
    times = timed(left, sets.count, rounds, order, lambda name, e: note(f"{case}: {name}, captured again: {e}"))
    if "auto" not in times:
        return None
    own = times["auto"]
    fastest = max(times, key=lambda n: (times[n].ratio_to(own), n == "auto"))
    return {
        "m": case.m, "n": case.n, "k": case.k, "floor_us": round(floor_us(case, "sustained"), 3),
        "chosen": plan.kernel.name, "us": round(own.us, 3),
        "best": plan.kernel.name if fastest == "auto" else fastest, "best_us": round(times[fastest].us, 3),
        "ratio": round(times[fastest].ratio_to(own), 4), "kernels": 1 + len(names),
        "finalists": {name: round(t.us, 3) for name, t in sorted(times.items(), key=lambda item: item[1].us)},
        "slices": {p.kernel.name: p.walk.slices for p in (plan.chosen, *plan.alternatives) if p.kernel.name in (plan.kernel.name, *times)},
    }  # fmt: skip


def timed(
    calls: dict[str, measure.Call], sets: int, rounds: int, order: random.Random, failed: Callable[[str, Exception], None]
) -> dict[str, measure.Timing]:
    """Interleaved rounds of all calls, captured anew, in another order, for every part of the rounds; without those of which a
    capture failed."""
    found: dict[str, tuple[float, ...]] = dict.fromkeys(calls, ())
    parts = min(CAPTURES, rounds)
    for part in range(parts):
        names = order.sample(list(calls), len(calls))
        graphs = measure.capture({name: calls[name] for name in names}, sets, failed)
        for name, timing in measure.time_interleaved(graphs, (rounds + part) // parts, order=order).items():
            found[name] += timing.rounds
    return {name: measure.Timing(times) for name, times in found.items() if len(times) == rounds}


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ratios = [row["ratio"] for row in rows]
    if not ratios:
        return {"shapes": 0}
    mean, worst = math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios)
    ok = mean <= LIMITS["mean"] and worst <= LIMITS["worst"]
    return {"shapes": len(ratios), "mean": round(mean, 4), "worst": worst, "limits": LIMITS, "ok": ok}


def line(row: dict[str, Any]) -> str:
    shape = f"{row['m']}x{row['n']}x{row['k']}"
    text = f"{shape:>20} {row['us']:9.2f} us  {row['ratio']:.3f} x the best of {row['kernels']}  {row['chosen']}"
    return text if row["ratio"] == 1 else f"{text}  (best: {row['best']} {row['best_us']:.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--shapes", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=235, help="start no shape after this long")
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    measure.GRAPH_US = 500.0  # hundreds of graphs are captured for each shape
    cases = draw_shapes(options.shapes, options.seed)
    result: dict[str, Any] = {**environment("sustained"), "seed": options.seed, "clips": CLIPS, "sums": SUMS, "notes": [], "summary": {}, "rows": []}

    def note(text: str) -> None:
        result["notes"].append(text)
        print(f"  {text}", flush=True)

    begin = time.monotonic()
    order = random.Random(options.seed)
    for case in cases:
        if time.monotonic() - begin > options.seconds:
            note(f"time is up: {len(cases) - cases.index(case)} shapes left out")
            break
        row = measure_case(case, options.rounds, order, note)
        torch.cuda.empty_cache()
        if row:
            result["rows"].append(row)
            result["summary"] = summary(result["rows"])
            print(line(row), flush=True)
            write_json(options.json, result)
    write_json(options.json, result)
    print(f"{result['summary']}; {time.monotonic() - begin:.0f} s; written to {options.json}")
    return 0 if len(result["rows"]) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
