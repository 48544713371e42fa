"""Times every kernel of the build on many shapes: what hopper_gemm/model.json is fitted to and tiles are chosen by.

    python benchmarks/sweep.py --json sweep.json [--seconds 240] [--random 70] [--seed 11]

Shapes: the peers suite, and random ones (log-uniform). For each shape all kernels take part in short interleaved rounds with
the walk the model picks; for the fastest two, other walks follow.
The seed of the random shapes is not that of benchmarks/selector.py, whose shapes nothing is fitted to.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path


from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import Operands, floor_us, write_json
from hopper_gemm.bench.suites import Case, load_suite
from hopper_gemm.device import card_of
from hopper_gemm.registry import all_kernels
from hopper_gemm.selector import load_model, predict
from hopper_gemm.walk import GROUPS, RASTERS, Walk

SHORT = 0.06  # of a round of 25 ms
ROUNDS = 3
LARGEST_FLOOR_US = 1500.0
measure.MAX_CALLS = 64  # of a graph: enough to rotate through the L2


def random_cases(count: int, seed: int) -> list[Case]:
    """Log-uniform in 1 to 16384, multiples of 8 (half of them of 64), none over the time limit."""
    draw = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < count:
        m, n, k = (int(2 ** draw.uniform(lowest, 14)) for lowest in (0, 6, 6))
        step = draw.choice([8, 64])
        case = Case(m, max(step, n // step * step), max(step, k // step * step))
        if floor_us(case, "sustained") <= LARGEST_FLOOR_US:
            cases.append(case)
    return cases


def applicable(case: Case) -> list:
    """Kernels worth timing: not those whose tile is far larger than the output, nor thousands of tiny tiles."""
    problem, card, model = case.problem(), card_of(0), load_model()
    kernels = [
        k
        for k in all_kernels()
        if k.compiled and k.input == problem.input and k.accumulator == "f32" and k.operand_layout in problem.layouts
    ]
    predictions = [predict(problem.for_output(k.output), k, card, model) for k in kernels]
    best = min(p.us for p in predictions)
    return [p for p in predictions if p.us < 2.5 * best]


def seconds_left(begin: float, limit: float) -> float:
    return limit - (time.monotonic() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--random", type=int, default=70)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--suite", default="peers")
    options = parser.parse_args()
    cases = [c for c in load_suite(options.suite) if floor_us(c, "sustained") <= LARGEST_FLOOR_US]
    cases += random_cases(options.random, options.seed)
    result = {**environment("sweep"), "seed": options.seed, "rows": []}
    begin = time.monotonic()
    draw = random.Random(0)
    for case in cases:
        if seconds_left(begin, options.seconds) < 0:
            print("time is up")
            break
        if case.n % 8 or case.k % 8:
            continue
        started = time.monotonic()
        result["rows"].append(row(case, draw))
        write_json(options.json, result)
        best = min(result["rows"][-1]["kernels"], key=lambda e: e[1])
        print(
            f"{case}: {len(result['rows'][-1]['kernels'])} kernels, best {best}, torch {result['rows'][-1]['torch_us']}, {time.monotonic() - started:.1f} s",
            flush=True,
        )


def row(case: Case, draw: random.Random) -> dict:
    sets = Operands(case, seed=0)
    chosen = {p.kernel.name: p for p in applicable(case)}
    calls = {"torch": sets.torch_call} | {name: sets.kernel_call(p.kernel, p.walk) for name, p in chosen.items()}
    candidates = measure.capture(calls, sets.count, lambda name, e: print(f"{case}: {name} failed: {e}"))
    times = {name: t.us for name, t in measure.time_interleaved(candidates, ROUNDS, order=draw, shortened=SHORT).items()}
    found = {
        "m": case.m,
        "n": case.n,
        "k": case.k,
        "torch_us": round(times.pop("torch", 0.0), 3),
        "kernels": sorted(([name, round(us, 3)] for name, us in times.items()), key=lambda e: e[1]),
        "walks": [],
    }
    del candidates
    for name, _ in found["kernels"][:2]:
        found["walks"] += walks(case, sets, chosen[name], draw)
    return found


def walks(case: Case, sets: Operands, prediction, draw: random.Random) -> list:
    """[kernel, raster, group, us] of other orders of the same kernel, where there are enough tiles to tell."""
    if prediction.tiles < 264:
        return []
    options = {f"{r} {g}": Walk(r, g, 0.0) for r in RASTERS for g in GROUPS}
    calls = {key: sets.kernel_call(prediction.kernel, walk) for key, walk in options.items()}
    candidates = measure.capture(calls, sets.count, lambda name, e: print(f"{case}: {name} failed: {e}"))
    times = measure.time_interleaved(candidates, ROUNDS, order=draw, shortened=SHORT)
    return [[prediction.kernel.name, *key.split(), round(t.us, 3)] for key, t in times.items()]


if __name__ == "__main__":
    main()
