"""What a call costs the host: products too small to keep a GPU busy, called in a row, in microseconds a call.

    python benchmarks/call_overhead.py [--json FILE]

Beside ours stand torch's own calls with the same arguments. Needs a Hopper GPU; --pretend replaces the launch by nothing
and runs anywhere, for the share that is Python's.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

import hopper_gemm
from hopper_gemm import matmul, ops, registry
from hopper_gemm.bench.environment import environment
from hopper_gemm.nn import Linear
from hopper_gemm.selector import Card


def us_per_call(call: Callable[[], object], device: str, calls: int = 2000, rounds: int = 7) -> float:
    """Median over rounds; the queue of the GPU is drained between them, so that it never fills."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) * 1e6 / calls)
        if device == "cuda":
            torch.cuda.synchronize()
    return round(statistics.median(times), 2)


def pretend() -> None:
    kernels = tuple(dataclasses.replace(k, compiled=True) for k in registry.all_kernels())
    ops._gemm = lambda *arguments: None
    ops.require_emulator = lambda: Card()
    ops.all_kernels = lambda: kernels


def calls(device: str) -> dict[str, Callable[[], object]]:
    a, b, out = (torch.randn(64, 64, device=device).bfloat16() for _ in range(3))
    bias = torch.randn(64, device=device).bfloat16()
    weight = b.clone().requires_grad_()
    theirs = torch.nn.Linear(64, 64, device=device, dtype=torch.bfloat16)
    ours = Linear(64, 64, device=device, dtype=torch.bfloat16)
    op = torch.ops.hopper_gemm.matmul.default

    def no_grad(call: Callable[[], object]) -> Callable[[], object]:
        return torch.no_grad()(call)

    return {
        "matmul": lambda: matmul(a, b),
        "matmul, out=": lambda: matmul(a, b, out=out),
        "matmul, bias=": lambda: matmul(a, b, bias=bias),
        "torch.mm": lambda: torch.mm(a, b),
        "torch.addmm": lambda: torch.addmm(bias, a, b),
        "the operator": no_grad(lambda: op(a, b)),
        "matmul, recorded": lambda: matmul(a, weight),
        "torch.mm, recorded": lambda: torch.mm(a, weight),
        "matmul, forward and backward": lambda: matmul(a, weight).backward(a),
        "torch.mm, forward and backward": lambda: torch.mm(a, weight).backward(a),
        "Linear": no_grad(lambda: ours(a)),
        "torch.nn.Linear": no_grad(lambda: theirs(a)),
        "Linear, recorded": lambda: ours(a),
        "torch.nn.Linear, recorded": lambda: theirs(a),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pretend", action="store_true", help="no GPU: the launch does nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.pretend:
        pretend()
    elif not hopper_gemm.is_available():
        raise SystemExit(hopper_gemm.unavailable_reason())
    device = "cpu" if options.pretend else "cuda"
    result = environment("call_overhead") if not options.pretend else {}
    result["us_per_call"] = {}
    for name, call in calls(device).items():
        call()
        result["us_per_call"][name] = us_per_call(call, device)
        print(f"{name:32} {result['us_per_call'][name]:8.2f} us")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
