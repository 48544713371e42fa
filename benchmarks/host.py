"""What a call costs on the CPU: torch.mm, matmul and a planned product, with and without out=, recorded for a backward,
and a linear layer, in microseconds.

    python benchmarks/host.py [--size 128] [--calls 200] [--batches 80] [--json FILE]

The GPU's work is tiny and its queue is emptied before every batch, so a call never waits for it. Batches of the variants take
turns in random order; the median over them is reported. Limits: matmul and the layer at most the time of torch's, recorded
at most 1.3 times it, a plan at most 60% of it.
"""

from __future__ import annotations

import argparse
import gc
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

import hopper_gemm
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json

RESULT = Path(__file__).with_name("results") / "host.json"
# Variant: (the torch call it is held against, the most of its time it may take).
LIMITS = {
    "matmul": ("torch.mm", 1.0),
    "matmul(out=)": ("torch.mm(out=)", 1.0),
    "plan": ("torch.mm", 0.6),
    "plan(out=)": ("torch.mm(out=)", 0.6),
    "matmul, recorded": ("torch.mm, recorded", 1.3),
    "nn.Linear": ("torch.nn.Linear", 1.0),
    "nn.Linear, recorded": ("torch.nn.Linear, recorded", 1.3),
}


def variants(size: int, device: str = "cuda") -> dict[str, Callable[[], object]]:
    """The calls, all of one product of bf16 cubes."""
    a, b, out = (torch.randn(size, size, device=device).bfloat16() for _ in range(3))
    mm, matmul = torch.mm, hopper_gemm.matmul
    weight, recorded = b.clone().requires_grad_(), torch.enable_grad()
    theirs, ours = (kind(size, size, device=device, dtype=torch.bfloat16) for kind in (torch.nn.Linear, hopper_gemm.nn.Linear))
    planned, planned_out = hopper_gemm.plan(a, b), hopper_gemm.plan(a, b, out=out)
    return {
        "torch.mm": lambda: mm(a, b),
        "torch.mm(out=)": lambda: mm(a, b, out=out),
        "matmul": lambda: matmul(a, b),
        "matmul(out=)": lambda: matmul(a, b, out=out),
        "plan": lambda: planned(a, b),
        "plan(out=)": lambda: planned_out(a, b, out),
        "torch.mm, recorded": recorded(lambda: mm(a, weight)),
        "matmul, recorded": recorded(lambda: matmul(a, weight)),
        "torch.mm and backward": recorded(lambda: mm(a, weight).backward(a)),
        "matmul and backward": recorded(lambda: matmul(a, weight).backward(a)),
        "torch.nn.Linear": lambda: theirs(a),
        "nn.Linear": lambda: ours(a),
        "torch.nn.Linear, recorded": recorded(lambda: theirs(a)),
        "nn.Linear, recorded": recorded(lambda: ours(a)),
        "torch.nn.Linear and backward": recorded(lambda: theirs(a).backward(a)),
        "nn.Linear and backward": recorded(lambda: ours(a).backward(a)),
        "torch.empty": lambda: torch.empty((size, size), dtype=torch.bfloat16, device=device),
        "nothing": lambda: None,
    }


def batch_us(call: Callable[[], object], calls: int, synchronize: Callable[[], object]) -> float:
    synchronize()
    begin = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - begin) / (1e3 * calls)


def measure(
    calls: Mapping[str, Callable[[], object]], count: int, batches: int, seed: int, synchronize: Callable[[], object]
) -> dict[str, list[float]]:
    """Microseconds of a call in every batch, the empty loop's time taken off."""
    order, times = random.Random(seed), {name: [] for name in calls}  # type: dict[str, list[float]]
    for call in calls.values():
        for _ in range(20):
            call()
    gc.disable()
    try:
        for _ in range(batches):
            names = list(calls)
            order.shuffle(names)
            for name in names:
                times[name].append(batch_us(calls[name], count, synchronize))
    finally:
        gc.enable()
    loop = statistics.median(times.pop("nothing"))
    return {name: [us - loop for us in values] for name, values in times.items()}


def rows(times: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    found = []
    for name, values in times.items():
        quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
        row: dict[str, Any] = {"call": name, "us": round(quarters[1], 3), "quarter_us": round(quarters[0], 3), "three_quarters_us": round(quarters[2], 3)}
        if name in LIMITS:
            against, limit = LIMITS[name]
            ratio = statistics.median(values) / statistics.median(times[against])
            row |= {"against": against, "of_it": round(ratio, 3), "limit": limit, "ok": ratio <= limit}
        found.append(row)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--calls", type=int, default=200, help="in a batch; the launch queue holds 1,024")
    parser.add_argument("--batches", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    with torch.no_grad():
        times = measure(variants(options.size), options.calls, options.batches, options.seed, torch.cuda.synchronize)
    result = {**environment("host"), "python": platform.python_version(), "cpu": platform.processor() or platform.machine()}
    result["rows"] = rows(times)
    write_json(options.json, result)
    for row in result["rows"]:
        beside = f"  {row['of_it']:.2f} of {row['against']} (at most {row['limit']}){'' if row['ok'] else '  ABOVE'}" if "ok" in row else ""
        print(f"{row['call']:26} {row['us']:7.2f} us{beside}")
    print(f"written to {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
