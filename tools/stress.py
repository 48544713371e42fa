"""Any product on eight CUDA streams at once, for as long as asked; every result against float64.

    python tools/stress.py --seconds 120 --seed 1 --json stress.json

A third of the products name a kernel, of any type; the others choose by themselves, in all the ways products may lie in memory
and with all options, some so deep that K is cut into slices (tests/support/strategies.py). What it looks for is what single
products do not show: kernels of different schedules, copies and sums of slices sharing SMs, programmatic launches overtaking
each other, tensor maps and workspaces of one stream used by another, and hangs. Every tensor lies between poison that must
stay untouched. A round that does not finish within the time limit is reported as a hang and ends the run.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

import hopper_gemm
from hopper_gemm.bench.environment import environment

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.problems import Product, Trial
from support.strategies import deep, endless, named, products

STREAMS = 8
HANG_SECONDS = 20.0


def pool_of(kernels: list[hopper_gemm.Kernel], count: int, seed: int, largest: int = 1600) -> list[Product]:
    """Different products, which rounds repeat with other data: what is planned once is launched at full speed afterwards.
    Every kernel is named about as often as any other."""
    pool: list[Product] = []
    for kernel, times in Counter(itertools.islice(itertools.cycle(kernels), count // 3)).items():
        drawn = endless(named([kernel], largest), 1000 * seed + kernel.id, 1 + times)
        pool += itertools.islice(drawn, 1, 1 + times)  # the first is 1 x 1 x 1
    for strategy in products(largest=min(largest, 300), rare=12 * largest), deep(20 * largest):
        pool += itertools.islice(endless(strategy, seed), count // 3)
    return pool


class Run:
    """Rounds of products, and what came of them."""

    def __init__(self, pool: list[Product], device: str, seed: int) -> None:
        self.pool, self.device, self.draw = pool, device, random.Random(seed)
        self.streams = [torch.cuda.Stream() for _ in range(STREAMS)] if device == "cuda" else [None] * STREAMS
        self.kernels: Counter[str] = Counter()  # that were named
        self.types: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.faults: list[str] = []
        self.rounds = 0
        self.hung = False
        self._left: list[Product] = []

    def next(self) -> Product:
        if not self._left:
            self._left = self.draw.sample(self.pool, len(self.pool))
        return replace(self._left.pop(), seed=self.draw.randrange(2**31))

    def round(self, per_stream: int) -> None:
        """Queues products on all streams, one on each in turn, then looks at every result."""
        trials = [[Trial(self.next(), self.device) for _ in self.streams] for _ in range(per_stream)]
        self.synchronize()
        done = []
        for step in trials:
            for stream, trial in zip(self.streams, step):
                with torch.cuda.stream(stream) if stream else contextlib.nullcontext():
                    if self.called(trial):
                        done.append(trial)
        self.hung = not self.finished()
        if self.hung:
            self.faults.append(f"hang in round {self.rounds}: {'; '.join(repr(trial.product) for trial in done)}")
            return
        for trial in done:
            product = trial.product
            self.types[product.a_dtype if product.a_dtype == product.b_dtype else f"{product.a_dtype} x {product.b_dtype}"] += 1
            self.kernels[product.config] += bool(product.config)
            if wrong := trial.wrong():
                self.faults.append(f"{product!r}: {wrong}")
        self.rounds += 1

    def called(self, trial: Trial) -> bool:
        """Whether a schedule that a product names takes it."""
        try:
            trial.call()
        except hopper_gemm.errors.UnsupportedProblemError as error:
            if trial.product.schedule == "auto":
                self.faults.append(f"{trial.product!r}: {error}")
            else:
                self.refused[trial.product.schedule] += 1
            return False
        return True

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def finished(self) -> bool:
        """Waits for all streams; False if one is still busy after HANG_SECONDS."""
        deadline = time.monotonic() + HANG_SECONDS
        while not all(stream.query() for stream in self.streams if stream):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True


def record_of(run: Run, kernels: int, seed: int, seconds: float) -> dict[str, object]:
    return environment(f"{STREAMS} streams") | {
        "seed": seed,
        "seconds": round(seconds, 1),
        "rounds": run.rounds,
        "products": sum(run.types.values()),
        "different_products": len(run.pool),
        "types": dict(sorted(run.types.items())),
        "products_with_a_named_kernel": sum(run.kernels.values()),
        "kernels": sum(count > 0 for count in run.kernels.values()),
        "kernels_in_build": kernels,
        "refused_by_named_schedules": dict(sorted(run.refused.items())),
        "faults": run.faults[:50],
        "faults_in_all": len(run.faults),
        "hung": run.hung,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-stream", type=int, default=6, help="products queued on each stream in a round")
    parser.add_argument("--pool", type=int, default=2400, help="different products")
    parser.add_argument("--largest", type=int, default=1600, help="extent of a product that names a kernel")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu: the emulator, without streams")
    parser.add_argument("--json", help="where to write the record")
    options = parser.parse_args(arguments)
    emulated = options.device == "cpu"
    kernels = [k for k in hopper_gemm.kernels() if (k.emulated if emulated else k.compiled)]
    run = Run(pool_of(kernels, options.pool, options.seed, options.largest), options.device, options.seed)
    begin = time.monotonic()
    with hopper_gemm.emulator(seed=options.seed) if emulated else contextlib.nullcontext():
        while time.monotonic() - begin < options.seconds and not run.hung:
            run.round(options.per_stream)
    record = record_of(run, len(kernels), options.seed, time.monotonic() - begin)
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for line in run.faults[:20]:
        print(line)
    print(
        f"products: {record['products']} in {record['seconds']} s, kernels named: {record['kernels']} of {len(kernels)}, "
        f"streams: {STREAMS}, faults: {len(run.faults)}"
    )
    sys.stdout.flush()
    if run.hung:
        os._exit(3)  # a hung context cannot be torn down
    return 1 if run.faults or not run.rounds else 0


if __name__ == "__main__":
    sys.exit(main())
