"""Processor seconds of an emulated product of 256x256x256, all hazard rules on: the largest tile of each schedule in the
build, multiplied out and without arithmetic.

    python tools/emulator_speed.py [--runs N] [--json FILE]
"""

import argparse
import json
import sys
import time
from pathlib import Path

from hopper_gemm.bench.environment import environment
from hopper_gemm.check import check
from hopper_gemm.registry import Kernel, all_kernels


def largest_tiles() -> list[Kernel]:
    by_size = sorted((k for k in all_kernels() if k.emulated), key=lambda k: (k.tile[0] * k.tile[1], k.name))
    return list({kernel.schedule: kernel for kernel in by_size}.values())


def seconds(kernel: Kernel, runs: int, arithmetic: bool) -> float:
    begin = time.process_time()
    report = check(kernel, 256, 256, 256, seeds=runs, arithmetic=arithmetic)
    assert report.ok, report
    return (time.process_time() - begin) / runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", type=Path, help="write a record of the run here")
    options = parser.parse_args()
    print(f"{'kernel':64} multiplied  without arithmetic")
    rows = []
    for kernel in largest_tiles():
        multiplied, protocol = (round(seconds(kernel, options.runs, arithmetic), 3) for arithmetic in (True, False))
        print(f"{kernel.name:64} {multiplied:8.3f} s {protocol:17.3f} s")
        rows.append({"kernel": kernel.name, "multiplied_s": multiplied, "protocol_s": protocol})
    if options.json:
        options.json.write_text(json.dumps(environment("emulator") | {"rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
