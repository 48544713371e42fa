"""Every kernel of the build on the emulator under many seeds, without arithmetic, on a ragged shape of its own.

    python tools/check_kernels.py [--seeds N] [--jobs N] [--kernels GLOB] [--first SEED]

Prints a line a kernel and, last, `runs: N findings: 0`. A failing seed is printed with the command that replays it.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import hopper_gemm
from hopper_gemm.check import CheckReport, check, ragged_shape
from hopper_gemm.registry import kernels


def one(name: str, first: int, seeds: int) -> tuple[CheckReport, float]:
    begin = time.monotonic()
    kernel = hopper_gemm.kernels(name)[0]
    report = check(kernel, *ragged_shape(kernel), seeds=range(first, first + seeds))
    return report, time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernels", default="*")
    options = parser.parse_args()
    names = [kernel.name for kernel in kernels(options.kernels) if kernel.emulated]
    runs = findings = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for report, seconds in pool.map(partial(one, first=options.first, seeds=options.seeds), names):
            runs += len(report.runs)
            findings += len(report.failing_seeds)
            shape = "x".join(str(extent) for extent in report.shape)
            print(f"{report.kernel:64} {shape:16} {len(report.runs):3} seeds {len(report.failing_seeds):3} with findings {seconds:6.1f} s")
            if not report.ok:
                print(report)
                m, n, k = report.shape
                print(f"  replay: python -m hopper_gemm check {report.kernel} {m} {n} {k} --seed {report.failing_seeds[0]}")
            sys.stdout.flush()
    print(f"runs: {runs} findings: {findings}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
