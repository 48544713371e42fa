"""Random kernels, shapes, strides and seeds on the emulator, for as long as asked; a failure is shrunk to a small shape.

    python tools/fuzz.py [--seconds S] [--seed N] [--kernels GLOB]

Everything follows from --seed. A failure prints the command that replays it; exit status 1 if there was one.
"""

import argparse
import random
import sys
import time

import torch

from hopper_gemm.check import CheckReport, check
from hopper_gemm.registry import Kernel, kernels


def failing(kernel: Kernel, shape: tuple[int, int, int], seeds: list[int], options: dict) -> CheckReport | None:
    report = check(kernel, *shape, seeds=seeds, **options)
    return None if report.ok else report


def shrunk(kernel: Kernel, shape: tuple[int, int, int], seed: int, options: dict) -> tuple[tuple[int, int, int], int]:
    """The smallest shape, by halving and decrementing each extent, that still fails with this seed or one of ten more."""
    seeds = [seed, *range(10)]
    changed = True
    while changed:
        changed = False
        for index in range(3):
            for smaller in (shape[index] // 2, shape[index] - kernel.tile[index], shape[index] - 8, shape[index] - 1):
                if smaller < 1:
                    continue
                attempt = tuple(smaller if i == index else extent for i, extent in enumerate(shape))
                report = failing(kernel, attempt, seeds, options)
                if report:
                    shape, seed, changed = attempt, report.failing_seeds[0], True
                    break
    return shape, seed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kernels", default="*")
    options = parser.parse_args()
    start = random.randrange(1 << 30) if options.seed is None else options.seed
    draw = random.Random(start)
    built = [kernel for kernel in kernels(options.kernels) if kernel.emulated]
    print(f"fuzz: seed {start}, {len(built)} kernels, {options.seconds:.0f} s")
    end, runs, failures = time.monotonic() + options.seconds, 0, 0
    while time.monotonic() < end:
        kernel = draw.choice(built)
        most = [tile * cluster * 3 for tile, cluster in zip(kernel.tile[:2], kernel.cluster)]
        shape = (draw.randint(1, most[0]), draw.randint(1, most[1]), draw.randint(1, 2 * kernel.tile[2] * (kernel.stages + 2)))
        if draw.random() < 0.5:  # whole 16 bytes, so that the TMA store is taken
            shape = tuple((extent + 7) // 8 * 8 for extent in shape)
        settings = {
            "sm_count": draw.choice((1, 2, 3, 4)),
            "arithmetic": draw.random() < 0.1,
            "out_dtype": draw.choice((None, torch.float32)),
        }
        report = failing(kernel, shape, [draw.randrange(1 << 30)], settings)
        runs += 1
        if report is None:
            continue
        failures += 1
        small, seed = shrunk(kernel, shape, report.failing_seeds[0], settings)
        print(check(kernel, *small, seeds=[seed], **settings))
        print(f"  settings {settings}; first seen at {'x'.join(map(str, shape))}")
        print(f"  replay: python -m hopper_gemm check {kernel.name} {small[0]} {small[1]} {small[2]} --seed {seed} --sms {settings['sm_count']}")
        sys.stdout.flush()
    print(f"runs: {runs} findings: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
