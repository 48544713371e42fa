"""What packing costs: operands that no kernel reads in place, copied to aligned memory by our kernel, against a plain copy.

    python benchmarks/packing.py [--size 4096] [--rounds 12] [--only NAME,...] [--json FILE]

Interleaved rounds in CUDA graphs over inputs that rotate beyond the L2 (hopper_gemm/bench/measure.py). `gb_per_s` counts
every byte once read and once written; `of_copy` is the time over that of torch's copy of contiguous tensors of this size.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hopper_gemm import packing
from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json

RESULT = Path(__file__).with_name("results") / "packing.json"
BF16, FP32, INT8 = torch.bfloat16, torch.float32, torch.int8


@dataclass(frozen=True)
class Case:
    """A layout of a square matrix, packed so that `inner` (-1 or -2) is contiguous; `of_copy` is the most of a plain copy's time."""

    about: str
    dtype: torch.dtype
    view: Callable[[torch.Tensor, int], torch.Tensor]  # of a long enough flat tensor
    inner: int = -1
    count: int = 1  # matrices of one launch
    split: int = 0
    of_copy: float = 0.0


def rows(pad: int, offset: int = 0, step: int = 1) -> Callable[[torch.Tensor, int], torch.Tensor]:
    return lambda flat, n: flat.as_strided((n, n), (n * step + pad, step), offset)


CASES = {
    "aligned": Case("already aligned", BF16, rows(0), of_copy=1.2),
    "odd pitch": Case("rows one element longer", BF16, rows(1), of_copy=1.3),
    "sliced": Case("pitch 8 bytes longer, 2 bytes in", BF16, rows(4, 1), of_copy=1.3),
    "two sliced": Case("both operands of a product, one launch", BF16, rows(4, 1), count=2, of_copy=1.3),
    "int8 transposed": Case("rows become columns", INT8, lambda flat, n: rows(0)(flat, n).t(), of_copy=2.0),
    "bf16 transposed": Case("rows become columns", BF16, lambda flat, n: rows(0)(flat, n).t(), of_copy=1.6),
    "fp32 transposed": Case("rows become columns", FP32, lambda flat, n: rows(0)(flat, n).t(), of_copy=1.6),
    "every second": Case("every second element of a row", BF16, rows(0, 0, 2)),
    "3xTF32": Case("float32 as two tf32 parts, three segments", FP32, rows(0), split=packing.LEFT),
}


class Sets:
    """Sources in rotation, and targets."""

    def __init__(self, case: Case, size: int, device: str) -> None:
        self.case = case
        nbytes = case.count * size * size * case.dtype.itemsize
        self.count = measure.input_sets(nbytes)
        self.moved = nbytes * (4 if case.split else 2)
        flat = size * (2 * size + 8) + 8

        def source() -> torch.Tensor:
            return case.view(torch.randint(-100, 100, (flat,), device=device).to(case.dtype), size)

        self.sources = [[source() for _ in range(case.count)] for _ in range(self.count)]
        self.plain = [torch.zeros(case.count * size * size, dtype=case.dtype, device=device) for _ in range(self.count)]
        self.copies: list[packing.Copies] = []
        for sources in self.sources:
            copies: packing.Copies = []
            for s in sources:
                packing.packed(s, case.inner, (), copies, case.split)
            self.copies.append(copies)

    def ours(self, i: int) -> None:
        packing.run_copies(self.copies[i], None)

    def torch(self, i: int) -> None:
        self.plain[i].copy_(self.plain[(i + 1) % self.count])

    def wrong(self) -> bool:
        self.ours(0)
        return not self.case.split and any(not torch.equal(s, t) for s, t, _, _ in self.copies[0])


def row(name: str, size: int, rounds: int, seed: int, device: str = "cuda") -> dict[str, Any]:
    case = CASES[name]
    sets = Sets(case, size, device)
    failures: list[str] = []
    candidates = measure.capture(
        {"ours": sets.ours, "copy": sets.torch}, sets.count, lambda which, error: failures.append(f"{which}: {error}")
    )
    if failures:
        raise RuntimeError("; ".join(failures))
    times = measure.time_interleaved(candidates, rounds, order=random.Random(seed))
    us, of_copy = times["ours"].us, 1 / times["ours"].ratio_to(times["copy"])
    return {
        "name": name, "about": case.about, "dtype": str(case.dtype).removeprefix("torch."), "size": size, "matrices": case.count,
        "us": round(us, 2), "gb_per_s": round(sets.moved / us / 1e3), "of_copy": round(of_copy, 3), "limit": case.of_copy,
        "ok": not sets.wrong() and (not case.of_copy or of_copy <= case.of_copy),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--only", default="", help="names, comma-separated; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    names = [name for name in options.only.split(",") if name] or list(CASES)
    result = environment("packing") | {"rows": []}
    for name in names:
        one = row(name, options.size, options.rounds, options.seed)
        result["rows"].append(one)
        print(f"{name:16} {one['us']:9.2f} us {one['gb_per_s']:6} GB/s {one['of_copy']:6.3f} of a copy  {'' if one['ok'] else 'NOT OK'}")
    write_json(options.json, result)
    return 0 if all(one["ok"] for one in result["rows"]) else 1


if __name__ == "__main__":
    sys.exit(main())
