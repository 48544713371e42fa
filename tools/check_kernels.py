"""Every kernel of the build on the emulator under many seeds, without arithmetic, on a ragged shape of its own.

    python tools/check_kernels.py [--seeds N] [--jobs N] [--kernels GLOB] [--first SEED] [--json FILE]

Prints a line a kernel and, last, `runs: N findings: 0`. A failing seed is printed with the command that replays it. Seconds
are the processor's. benchmarks/results/check_kernels.json is what the documentation quotes.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import hopper_gemm
from hopper_gemm.bench.environment import environment
from hopper_gemm.check import CheckReport, check, ragged_shape
from hopper_gemm.registry import kernels


def one(name: str, first: int, seeds: int) -> tuple[CheckReport, float]:
    begin = time.process_time()
    kernel = hopper_gemm.kernels(name)[0]
    report = check(kernel, *ragged_shape(kernel), seeds=range(first, first + seeds))
    return report, time.process_time() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernels", default="*")
    parser.add_argument("--json", type=Path, help="write a record of the run here")
    options = parser.parse_args()
    names = [kernel.name for kernel in kernels(options.kernels) if kernel.emulated]
    runs = findings = 0
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for report, seconds in pool.map(partial(one, first=options.first, seeds=options.seeds), names):
            runs += len(report.runs)
            findings += len(report.failing_seeds)
            rows.append({"kernel": report.kernel, "shape": report.shape, "runs": len(report.runs)})
            rows[-1] |= {"findings": len(report.failing_seeds), "seconds": round(seconds, 2)}
            shape = "x".join(str(extent) for extent in report.shape)
            print(f"{report.kernel:64} {shape:16} {len(report.runs):3} seeds {len(report.failing_seeds):3} with findings {seconds:6.1f} s")
            if not report.ok:
                print(report)
                m, n, k = report.shape
                print(f"  replay: python -m hopper_gemm check {report.kernel} {m} {n} {k} --seed {report.failing_seeds[0]}")
            sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(environment("emulator") | {"kernels": rows}, indent=1) + "\n")
    print(f"runs: {runs} findings: {findings}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
