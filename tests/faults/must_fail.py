"""The proof of the checker: every seeded fault must be found, in every kernel it applies to, under its right name.

    python tests/faults/must_fail.py [--seeds N] [--jobs N] [FAULT ...]   # names or globs: "outside/*"

Prints a table (fault, kernel, share of seeds that find it, first message) and, last, `faults: N found: N missed: 0`.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from faults import BuildError, Fault, by_kernel, all_objects, faults, patched  # noqa: E402


@dataclass
class Row:
    kernel: str
    found: int
    seeds: int
    message: str


@dataclass
class Outcome:
    fault: Fault
    rows: list[Row]
    error: str = ""

    @property
    def found(self) -> bool:
        return not self.error and all(row.found for row in self.rows) and len(self.rows) == len(self.fault.kernels)


def examine(fault: Fault, objects: list[Path], seeds: int) -> Outcome:
    try:
        results = patched(fault.patch, objects, fault.kernels, "--seeds", seeds)
    except BuildError as error:
        return Outcome(fault, [], str(error))
    rows = []
    for kernel, found in by_kernel(results):
        right = [run for run in found if run.kinds() & fault.finds]
        others = [run.findings[0] for run in found if run.findings]
        message = next((f for run in right for f in run.findings if f.split(":", 1)[0] in fault.finds), "")
        rows.append(Row(kernel, len(right), seeds, message or (f"[not named] {others[0]}" if others else "[silent]")))
    return Outcome(fault, rows)


def show(outcome: Outcome) -> None:
    fault = outcome.fault
    print(f"{'found ' if outcome.found else 'MISSED'} {fault.name}: {fault.title}")
    if outcome.error:
        print("       " + outcome.error)
    for row in outcome.rows:
        print(f"       {row.kernel:22} {row.found:3}/{row.seeds} seeds  {row.message[:240]}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults to try, names or globs; all if none is given")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [fault for fault in faults() if not options.names or any(fnmatch(fault.name, name) for name in options.names)]
    objects = all_objects()
    with ThreadPoolExecutor(options.jobs) as pool:
        clean = pool.submit(patched, None, objects, None, "--seeds", options.seeds)
        outcomes = []
        for outcome in pool.map(lambda fault: examine(fault, objects, options.seeds), chosen):
            show(outcome)
            outcomes.append(outcome)
        untouched = clean.result()
    loud = [run for run in untouched if run.findings]
    print(f"unpatched: {len(untouched)} runs, {len(loud)} with findings")
    for run in loud[:5]:
        print(f"       {run.kernel} seed {run.seed} {run.shape}: {run.findings[0]}")
    found = sum(outcome.found for outcome in outcomes)
    print(f"faults: {len(outcomes)} found: {found} missed: {len(outcomes) - found}")
    return 0 if found == len(outcomes) and not loud and untouched else 1


if __name__ == "__main__":
    sys.exit(main())
