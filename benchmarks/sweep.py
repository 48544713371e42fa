"""Times every kernel that may be chosen on many shapes: what hopper_gemm/model.json is fitted to and tiles are chosen by.

    python benchmarks/sweep.py --json sweep.json [--seconds 240] [--random 70] [--seed 11] [--suite peers] [--dtype bf16,fp16]
                               [--rows 1:32] [--depth 1536:16384] [--layout nt] [--packed]

Shapes: a suite, and random ones, drawn as benchmarks/selector.py draws its own (nothing is fitted to those of its last seed),
but with rows that kernels read in place; or, with `--packed`, only those that are packed, which is timed with the kernel; or,
with `--rows` and `--depth`, only those with M and K in a range, in one layout.
For each shape all kernels take part in short interleaved rounds with the walk the model picks, those with few tiles also
with K cut into slices; the fastest ten follow in longer rounds, because a card at its power limit ranks them differently.
The fastest forty are recorded, but for those that take SLOW times the fastest.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path

import torch

from hopper_gemm import _extension
from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import Operands, floor_us, write_json
from hopper_gemm.bench.suites import Case, load_suite
from hopper_gemm.device import card_of
from hopper_gemm.plan import Request, candidates_for
from hopper_gemm.registry import all_kernels
from hopper_gemm.selector import Prediction, in_slices, load_model, predict
from hopper_gemm.tiling import CLIPS, SUMS
from selector import draw_shapes

SHORT, LONG = 0.06, 0.3  # of a round of 25 ms
ROUNDS = 3
FINALISTS, RECORDED, SLOW = 10, 40, 1.6
LARGEST_FLOOR_US = 1500.0
EVERY = range(1, 1 << 31)
measure.MAX_CALLS = 64  # of a graph: enough to rotate through the L2


def random_cases(count: int, seed: int, dtype: str = "bf16", packed: bool = False, layout: str = "tn") -> list[Case]:
    """Log-uniform in 1 to 16384, K in multiples of 64 or of 16 bytes, N of 64, of 8 or any; or those with any K that has to
    be packed. None over the time limit."""
    drawn = draw_shapes(4 * count if packed else count, seed)
    if packed:
        asked = (replace(c, dtype=dtype, layout=layout) for c in drawn)
        drawn = [c for c in asked if any(c.problem().packs)][:count]
        return [case for case in drawn if floor_us(case, "sustained") <= LARGEST_FLOOR_US]
    whole_k = (Case(c.m, c.n, max(16, c.k // 16 * 16) if c.k % 8 or dtype != "bf16" else c.k, dtype) for c in drawn)
    return [case for case in dict.fromkeys(whole_k) if floor_us(case, "sustained") <= LARGEST_FLOOR_US]


def within(rows: range, depth: range, count: int, seed: int, dtype: str, layout: str) -> list[Case]:
    """Of the same shapes, those with M and K in these ranges that kernels read in place in a layout."""
    drawn = (replace(case, layout=layout) for case in random_cases(64 * count, seed, dtype))
    return [case for case in drawn if case.m in rows and case.k in depth and not any(case.problem().packs)][:count]


def extents(text: str) -> range:
    """ "8:64": from 8 to 64."""
    low, high = map(int, text.split(":"))
    return range(low, high + 1)


def applicable(case: Case) -> list:
    """Kernels worth timing: not those whose tile is far larger than the output, nor thousands of tiny tiles."""
    problem, card, model = case.problem(), card_of(0), load_model()
    kernels, _ = candidates_for(problem, Request(), [k for k in all_kernels() if k.compiled])
    predictions = [predict(problem.for_output(k.output), k, card, model) for k in kernels]
    best = min(p.us for p in predictions)
    return [p for p in predictions if p.us < 2.2 * best or p.tiles <= 88]


def seconds_left(begin: float, limit: float) -> float:
    return limit - (time.monotonic() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--random", type=int, default=70)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--suite", default="peers")
    parser.add_argument("--dtype", default="bf16", help="of bf16, fp16, tf32, fp8, fp8_fast, int8")
    parser.add_argument("--packed", action="store_true", help="random shapes that have to be packed, instead of a suite and others")
    parser.add_argument("--rows", type=extents, default=EVERY, help="random shapes with M from:to, instead of a suite and others")
    parser.add_argument("--depth", type=extents, default=EVERY, help="the same of K")
    parser.add_argument("--layout", default="tn", choices=("tn", "tt", "nn", "nt"), help="of the shapes of --rows, --depth and --packed")
    options = parser.parse_args()
    ranged = (options.rows, options.depth) != (EVERY, EVERY)
    if options.packed and ranged:
        parser.error("--packed takes shapes of every extent: give it without --rows and --depth")
    dtypes = options.dtype.split(",")
    suite = [] if options.packed or ranged else load_suite(options.suite, dtypes=dtypes)
    cases = [c for c in suite if floor_us(c, "sustained") <= LARGEST_FLOOR_US]
    for dtype in dtypes:
        if ranged:
            cases += within(options.rows, options.depth, options.random, options.seed, dtype, options.layout)
        else:
            cases += random_cases(options.random, options.seed, dtype, options.packed, options.layout if options.packed else "tn")
    result = {**environment("sweep"), "seed": options.seed, "clips": CLIPS, "sums": SUMS, "rows": []}
    begin = time.monotonic()
    draw = random.Random(0)
    for case in cases:
        if seconds_left(begin, options.seconds) < 0:
            print("time is up")
            break
        if not options.packed and any(case.problem().packs):
            continue
        started = time.monotonic()
        result["rows"].append(row(case, draw))
        torch.cuda.empty_cache()  # of what the graphs of packed products allocated
        write_json(options.json, result)
        best = result["rows"][-1]["kernels"][0]
        print(
            f"{case}: {len(result['rows'][-1]['kernels'])} kernels, best {best}, torch {result['rows'][-1]['torch_us']}, {time.monotonic() - started:.1f} s",
            flush=True,
        )


def row(case: Case, draw: random.Random) -> dict:
    sets = Operands(case, seed=0)
    calls = {"torch": sets.torch_call}
    for p in applicable(case):
        for way in in_slices(p.problem, p.kernel, card_of(0), load_model()):
            calls[f"{p.kernel.name} {way.walk.slices}"] = call_of(sets, p, way.walk.slices)
    candidates = measure.capture(calls, sets.count, lambda name, e: print(f"{case}: {name} failed: {e}"))
    times = timed(candidates, draw, ROUNDS, SHORT)
    theirs, fastest = times.pop("torch", None), min(times.values(), default=0.0)
    found = {
        "m": case.m,
        "n": case.n,
        "k": case.k,
        "dtype": case.dtype,
        "layout": case.layout,
        "torch_us": theirs,
        "kernels": sorted(([*name.split(), us] for name, us in times.items() if us <= SLOW * fastest), key=lambda e: e[-1])[:RECORDED],
    }
    best = {f"{name} {slices}" for name, slices, _ in found["kernels"][:FINALISTS]} | {"torch"}
    found["sustained"] = timed({n: c for n, c in candidates.items() if n in best}, draw, ROUNDS + 1, LONG)
    return found


def timed(candidates: dict, draw: random.Random, rounds: int, shortened: float) -> dict[str, float]:
    times = measure.time_interleaved(candidates, rounds, order=draw, shortened=shortened)
    return {name: round(t.us, 3) for name, t in times.items()}


def call_of(sets: Operands, prediction: Prediction, slices: int) -> measure.Call:
    if any(prediction.problem.packs):  # their K is no whole 16 bytes, so nothing cuts it into slices
        return sets.call(config=prediction.kernel.name)
    gemm, kernel, walk = _extension.load().gemm, prediction.kernel, prediction.walk

    def call(i: int) -> None:
        gemm(kernel.id, sets.a[i], sets.b[i], sets.out[i], walk.raster_index, walk.group, 0, kernel.exchanges, slices)

    return call


if __name__ == "__main__":
    main()
