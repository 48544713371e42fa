"""Runs every kernel of the world over a patched copy and prints the findings: tools/try_fault.sh calls it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from faults import BuildError, by_kernel, all_objects, patched  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patch", type=Path)
    parser.add_argument("--kernels", help="comma-separated names of tests/faults/world.h; all if not given")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    kernels = tuple(options.kernels.split(",")) if options.kernels else None
    try:
        results = patched(options.patch, all_objects(), kernels, "--seeds", options.seeds)
    except BuildError as error:
        print(error)
        return 2
    found = 0
    for kernel, runs in by_kernel(results):
        loud = [run for run in runs if run.findings]
        found += len(loud)
        print(f"{kernel}: {len(loud)} of {len(runs)} seeds")
        seen: dict[str, str] = {}
        for run in loud:
            for finding in run.findings:
                seen.setdefault(finding.split(":", 1)[0], f"seed {run.seed}: {finding}")
        for first in seen.values():
            print(f"  {first[:400]}")
    print(f"runs: {len(results)} with findings: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
