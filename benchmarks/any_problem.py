"""Problems that other libraries are slow at, and every type: this library against torch doing the same arithmetic.

    python benchmarks/any_problem.py [--only odd,types,plain] [--rounds 12] [--seconds 120] [--json FILE]

Interleaved rounds in CUDA graphs that write preallocated outputs (hopper_gemm/bench/measure.py). `ratio` is torch's time
over ours; `limit` is what it has to be at least. `of_beside` is our time over that of something of our own in the same
rounds (`beside`), at most `beside_limit`. `ok` says whether both hold.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import hopper_gemm
from hopper_gemm.bench import measure
from hopper_gemm.bench.arithmetic import ARITHMETIC
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json

RESULT = Path(__file__).with_name("results") / "any_problem.json"


@dataclass(frozen=True)
class Memory:
    """How an operand lies: K-major or not, elements between its rows beyond their length, elements before the first."""

    k_major: bool = True
    pad: int = 0
    offset: int = 0


ALIGNED = Memory()
SLICED = Memory(pad=4, offset=1)  # a row pitch of 8,200 bytes at 4,096 elements, 2 bytes in


@dataclass(frozen=True)
class Comparison:
    """One problem; `limit` is the least ratio to torch (0: recorded only), `of_aligned` the most of our aligned time."""

    topic: str
    about: str
    m: int
    n: int
    k: int
    kind: str = "bf16"
    a: Memory = ALIGNED
    b: Memory = ALIGNED
    limit: float = 0.0
    of_aligned: float = 0.0


CUBES = (2048, 4096, 8192)
LIMITS = {"fp16": 1.0, "tf32": 1.0, "fp8_fast": 1.0, "fp8": 1.0, "int8": 1.25}
COMPARISONS = [
    Comparison("odd", "odd K", 8192, 8192, 8191, limit=4.0),
    Comparison("odd", "odd N, row-major", 4097, 4097, 4096, b=Memory(k_major=False), limit=4.5),
    Comparison("odd", "slices 2 bytes in, pitch 8,200 bytes", 4096, 4096, 4096, a=SLICED, b=SLICED, of_aligned=1.25),
    Comparison("odd", "B stored (K, N)", 128, 28672, 4096, b=Memory(k_major=False), limit=1.60),
    *(Comparison("types", kind, s, s, s, kind, limit=limit) for kind, limit in LIMITS.items() for s in CUBES),
]
PLAIN_SHAPES = ((4096, 4096, 4096), (4096, 32768, 512))
PLAIN_LIMIT = 1.01
UNFUSED = "_unfused"


class Operands:
    """Inputs in rotation over more than the L2, lying as asked, and outputs."""

    def __init__(self, c: Comparison, a: Memory, b: Memory, seed: int, device: str = "cuda") -> None:
        kind = ARITHMETIC[c.kind]
        self.kind = kind
        self.count = measure.input_sets(kind.input.itemsize * (c.m * c.k + c.k * c.n))
        generator = torch.Generator(device).manual_seed(seed)

        def matrix(outer: int, memory: Memory) -> torch.Tensor:
            """(outer, K)."""
            rows, columns = (outer, c.k) if memory.k_major else (c.k, outer)
            pitch = columns + memory.pad
            buffer = kind.normal((rows * pitch + memory.offset,), generator)
            view = buffer.as_strided((rows, columns), (pitch, 1), memory.offset)
            return view if memory.k_major else view.t()

        self.a = [matrix(c.m, a) for _ in range(self.count)]
        self.b = [matrix(c.n, b).t() for _ in range(self.count)]
        self.out = [torch.empty(c.m, c.n, device=device, dtype=kind.output) for _ in range(self.count)]

    def torch(self, i: int) -> None:
        self.kind.torch_product(self.a[i], self.b[i], self.out[i])

    def ours(self, i: int) -> None:
        hopper_gemm.matmul(self.a[i], self.b[i], out=self.out[i], **self.kind.options)

    def kernel(self, name: str) -> measure.Call:
        return lambda i: hopper_gemm.matmul(self.a[i], self.b[i], out=self.out[i], config=name)

    def disagreement(self) -> float:
        """How far our result is from torch's, relative to it."""
        self.torch(0)
        expected = self.out[0].double()
        self.out[0].zero_()
        self.ours(0)
        return float((self.out[0].double() - expected).norm() / expected.norm())


def failed(note: Callable[[str], None], title: str, name: str, error: Exception) -> None:
    note(f"{title}: {name} failed: {type(error).__name__}: {str(error)[:300]}")


def compare(c: Comparison, rounds: int, seed: int, note: Callable[[str], None], device: str = "cuda") -> dict[str, Any] | None:
    """The row of one comparison, or None with a note if a side failed."""
    sets = Operands(c, c.a, c.b, seed, device)
    calls: dict[str, measure.Call] = {"torch": sets.torch, "ours": sets.ours}
    if c.of_aligned:
        calls["beside"] = Operands(c, ALIGNED, ALIGNED, seed, device).ours
    title = f"{c.m}x{c.n}x{c.k} {c.about}"
    try:
        difference = sets.disagreement()
    except Exception as error:  # one problem that fails must not take the rest along
        note(f"{title}: {type(error).__name__}: {str(error).splitlines()[0][:300]}")
        return None
    if difference > 2e-2:
        note(f"{title}: our result is {difference:.1e} from torch's")
        return None
    candidates = measure.capture(calls, sets.count, functools.partial(failed, note, title))
    if "ours" not in candidates:
        return None
    times = measure.time_interleaved(candidates, rounds, order=random.Random(seed))
    return row_of(c, times, "aligned operands" if c.of_aligned else "", c.of_aligned) | {"difference": difference}


def row_of(c: Comparison, times: dict[str, measure.Timing], beside: str = "", beside_limit: float = 0.0) -> dict[str, Any]:
    """The row of what was timed: "ours", "torch" if it can do it, "beside"."""
    ours, theirs, other = times["ours"], times.get("torch"), times.get("beside")
    ratio = round(ours.ratio_to(theirs), 4) if theirs else None
    of_beside = round(statistics.median(o / b for o, b in zip(ours.rounds, other.rounds)), 4) if other else None
    ok = (not c.limit or (ratio or 0) >= c.limit) and (not beside_limit or (of_beside or 9) <= beside_limit)
    return {
        "topic": c.topic, "about": c.about, "m": c.m, "n": c.n, "k": c.k, "dtype": c.kind,
        "us": round(ours.us, 2), "torch_us": round(theirs.us, 2) if theirs else None, "ratio": ratio,
        "limit": c.limit or None, "beside": beside, "beside_us": round(other.us, 2) if other else None,
        "of_beside": of_beside, "beside_limit": beside_limit or None,
        "tflops": round(2e-6 * c.m * c.n * c.k / ours.us, 1), "ok": ok,
    }  # fmt: skip


def plain_rows(rounds: int, seed: int, note: Callable[[str], None], device: str = "cuda") -> Iterator[dict[str, Any]]:
    """What a plain product pays for the options of its kernel's epilogue: beside the same kernel compiled without them."""
    names = {k.name for k in hopper_gemm.kernels("bf16_*_tn_*") if k.compiled}
    pairs = sorted((name.removesuffix(UNFUSED), name) for name in names if name.endswith(UNFUSED))
    pairs = [(fused, plain) for fused, plain in pairs if fused in names]
    if not pairs:
        note("plain path: no kernel without options in this build (HOPPER_GEMM_MANIFESTS=default,ablation)")
    for (m, n, k), (fused, plain) in itertools.product(PLAIN_SHAPES if pairs else [], pairs):
        c = Comparison("plain", fused, m, n, k)
        sets = Operands(c, ALIGNED, ALIGNED, seed, device)
        calls = {"ours": sets.kernel(fused), "beside": sets.kernel(plain), "torch": sets.torch}
        candidates = measure.capture(calls, sets.count, functools.partial(failed, note, fused))
        if "ours" in candidates and "beside" in candidates:
            times = measure.time_interleaved(candidates, 2 * rounds, order=random.Random(seed))
            yield row_of(c, times, "compiled without options", PLAIN_LIMIT)


def rows(
    topics: Iterable[str], rounds: int, seconds: float, seed: int, note: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The rows of some topics, until time is up."""
    begin = time.monotonic()
    for c in [c for c in COMPARISONS if c.topic in topics]:
        if time.monotonic() - begin > seconds:
            note(f"time is up before {c.m}x{c.n}x{c.k} {c.about}")
            return
        row = compare(c, rounds, seed, note)
        torch.cuda.empty_cache()
        if row:
            yield row
    if "plain" in topics:
        yield from plain_rows(rounds, seed, note)


def line(row: dict[str, Any]) -> str:
    shape = f"{row['m']}x{row['n']}x{row['k']}"
    text = f"{shape:>16} {row['about']:38} {row['us']:9.1f} us, torch {row['torch_us'] or 0:9.1f}, ratio {row['ratio'] or 0:6.3f}"
    if row["limit"]:
        text += f" (at least {row['limit']})"
    if row["of_beside"]:
        text += f", {row['of_beside']:.3f} of {row['beside']} (at most {row['beside_limit']})"
    return text + ("" if row["ok"] else "  BELOW THE LIMIT")


def main() -> int:
    topics = [*dict.fromkeys(c.topic for c in COMPARISONS), "plain"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(topics), help="topics")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=120, help="start no comparison after this long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    result: dict[str, Any] = {**environment("sustained"), "notes": [], "rows": []}

    def note(text: str) -> None:
        result["notes"].append(text)
        print(f"  {text}", flush=True)

    for row in rows(options.only.split(","), options.rounds, options.seconds, options.seed, note):
        result["rows"].append(row)
        print(line(row), flush=True)
        write_json(options.json, result)
    write_json(options.json, result)
    below = [r for r in result["rows"] if not r["ok"]]
    print(f"{len(result['rows'])} rows, {len(below)} below a limit; written to {options.json}")
    return 1 if below or result["notes"] else 0


if __name__ == "__main__":
    sys.exit(main())
