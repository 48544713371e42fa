"""Random bf16 and fp16 kernels and shapes on eight CUDA streams at once, for as long as asked; every result against float64.

    python tools/stress.py --seconds 120 --seed 1 --json stress.json

What it looks for is what single products do not show: kernels of different schedules sharing SMs, programmatic launches
overtaking each other, tensor maps of one stream used by another, and hangs. Every output lies in a padded buffer whose
margin must stay untouched. A round that does not finish within the time limit is reported as a hang and ends the run.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass

import torch

import hopper_gemm
from hopper_gemm.bench.environment import environment
from tests.support.reference import Reference

STREAMS = 8
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
HANG_SECONDS = 20.0
MARGIN = 77.0


@dataclass
class Product:
    kernel: str
    shape: tuple[int, int, int]
    a: torch.Tensor
    b: torch.Tensor
    buffer: torch.Tensor
    out: torch.Tensor


def extent(draw: random.Random) -> int:
    """Mostly small and ragged, sometimes several tiles, sometimes an exact multiple of every tile."""
    return draw.choice([draw.randint(1, 64), draw.randint(65, 700), draw.randint(701, 1600), 128 * draw.randint(1, 10)])


def product(draw: random.Random, kernel) -> Product:
    m, n, k = extent(draw), extent(draw), extent(draw)
    dtype = DTYPES[kernel.input]

    def stored(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, -(-columns // 8) * 8, device="cuda", dtype=dtype)[:, :columns]

    # A kernel with column-major output writes such an `out`, or a row-major one with its operands exchanged.
    column_major = kernel.exchanges and draw.random() < 0.5
    letters = kernel.layout if column_major else kernel.operand_layout
    a = stored(m, k) if letters[0] == "t" else stored(k, m).t()
    b = stored(n, k).t() if letters[1] == "n" else stored(k, n)
    out_dtype = draw.choice([dtype, torch.float32])
    pad = draw.choice([8, 3])  # rows of whole 16 bytes (TMA store) or not (direct store)
    rows, columns = (n, m) if column_major else (m, n)
    buffer = torch.full((rows + 2, columns + pad + -(columns + pad) % 8 * (pad == 8)), MARGIN, device="cuda", dtype=out_dtype)
    inner = buffer[1 : rows + 1, :columns]
    return Product(kernel.name, (m, n, k), a, b, buffer, inner.t() if column_major else inner)


def fault(p: Product) -> str:
    accumulates_in_f16 = "_f16_f16_f16_" in f"_{p.kernel}"
    if accumulates_in_f16:
        error = (p.out.double() - p.a.double() @ p.b.double()).abs().max()
        problem = "" if float(error) <= 0.02 * p.shape[2] ** 0.5 + 0.05 else f"largest error {float(error):.3g}"
    else:
        problem = Reference(p.a, p.b).problem_with(p.out)
    if problem:
        return problem
    p.out.fill_(MARGIN)
    return "" if bool((p.buffer == MARGIN).all()) else "wrote outside out"


def finish(streams: list[torch.cuda.Stream]) -> bool:
    """Waits for all streams; False if one is still busy after HANG_SECONDS."""
    deadline = time.monotonic() + HANG_SECONDS
    while not all(stream.query() for stream in streams):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-stream", type=int, default=6, help="products queued on each stream in a round")
    parser.add_argument("--json", help="where to write the record")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    torch.manual_seed(options.seed)
    kernels = [k for k in hopper_gemm.kernels() if k.compiled and k.input in DTYPES]
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    runs: Counter[str] = Counter()
    faults: list[str] = []
    begin = time.monotonic()
    rounds = 0
    hung = False
    while time.monotonic() - begin < options.seconds and not hung:
        batch = [[product(draw, draw.choice(kernels)) for _ in range(options.per_stream)] for _ in streams]
        torch.cuda.synchronize()
        for step in range(options.per_stream):
            for stream, products in zip(streams, batch):
                p = products[step]
                with torch.cuda.stream(stream):
                    hopper_gemm.matmul(p.a, p.b, out=p.out, config=p.kernel)
        hung = not finish(streams)
        if hung:
            faults.append(f"hang in round {rounds}: " + ", ".join(f"{p.kernel} {p.shape}" for ps in batch for p in ps))
            break
        for p in (p for products in batch for p in products):
            runs[p.kernel] += 1
            problem = fault(p)
            if problem:
                faults.append(f"{p.kernel} at {p.shape}: {problem}")
        rounds += 1
    record = environment(f"{STREAMS} streams") | {
        "seed": options.seed,
        "seconds": round(time.monotonic() - begin, 1),
        "rounds": rounds,
        "products": sum(runs.values()),
        "kernels": len(runs),
        "kernels_in_build": len(kernels),
        "faults": faults[:50],
        "hung": hung,
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
    for line in faults[:20]:
        print(line)
    print(f"products: {record['products']} kernels: {len(runs)} streams: {STREAMS} faults: {len(faults)}")
    sys.stdout.flush()
    if hung:
        os._exit(3)  # a hung context cannot be torn down
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
