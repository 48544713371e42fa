"""The suites of shapes: this library against torch.mm and against the better of cuBLASLt and Triton, in the same rounds.

    python benchmarks/suite.py [--suite peers|layouts|types] [--rounds 12] [--seconds 200] [--json FILE]

One row a shape, by what `matmul` chooses without a table of the user: `ratio` is torch.mm's time over ours, `peer_ratio` that of the
faster of the other two. Shapes fall into sets, each with the geometric mean and the least ratio it has to reach (LIMITS).
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import BenchOptions, run_bench, write_json
from hopper_gemm.bench.suites import Case, load_suite

RESULTS = Path(__file__).with_name("results")
Row = dict[str, Any]

# The first set a shape fits is its own.
_DEEP, _SMALL = {(256, 256, 32768), (1024, 1024, 65536)}, {512, 1000, 1024}
_SETS: dict[str, Callable[[Row], bool]] = {
    "unaligned": lambda r: bool(r["n"] % 8 or r["k"] % 8),
    "deep K": lambda r: (r["m"], r["n"], r["k"]) in _DEEP,
    "decode": lambda r: r["m"] <= 64,
    "small": lambda r: r["m"] == r["n"] == r["k"] and r["m"] in _SMALL,
    "large": lambda r: r["floor_us"] > 60,
    "the rest": lambda r: True,
}
# Geometric mean, least.
LIMITS = {
    "unaligned": (4.0, 4.0),
    "deep K": (1.0, 0.97),
    "decode": (1.08, 1.0),
    "small": (1.03, 0.97),
    "large": (1.06, 0.99),
    "the rest": (1.05, 0.97),
    "tt": (1.05, 0.97),
    "nn": (1.05, 0.97),
    "nt": (1.05, 0.97),
    "fp16": (1.05, 0.98),
    "tf32": (1.05, 0.98),
    "fp8_fast": (1.05, 0.98),
    "fp8": (1.05, 0.98),
    "int8": (1.25, 0.98),
    "peers": (1.03, 0.0),
}


def set_of(row: Row) -> str:
    if row["dtype"] != "bf16":
        return str(row["dtype"])
    if row["layout"] != "tn":
        return str(row["layout"])
    return next(name for name, fits in _SETS.items() if fits(row))


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Geometric mean and least ratio of every set, with its limits; and of the ratios to the better peer."""
    sets: dict[str, list[float]] = {}
    for row in rows:
        if row["ratio"]:
            sets.setdefault(set_of(row), []).append(row["ratio"])
    if ratios := [row["peer_ratio"] for row in rows if row.get("peer_ratio")]:
        sets["peers"] = ratios
    found = []
    for name, ratios in sets.items():
        mean, least = math.exp(sum(map(math.log, ratios)) / len(ratios)), min(ratios)
        limits = LIMITS.get(name, (0.0, 0.0))
        found.append({
            "set": name, "shapes": len(ratios), "mean": round(mean, 4), "least": least, "mean_limit": limits[0],
            "least_limit": limits[1], "ok": mean >= limits[0] and least >= limits[1],
        })  # fmt: skip
    return found


def lines(summaries: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"{s['set']:10} {s['shapes']:3} shapes  mean {s['mean']:.3f} (at least {s['mean_limit']})  "
        f"least {s['least']:.3f} (at least {s['least_limit']}){'' if s['ok'] else '  BELOW'}"
        for s in summaries
    ]


def line(row: Row) -> str:
    shape = f"{row['m']}x{row['n']}x{row['k']} {row['dtype']} {row['layout']}"
    peer = f"{row['peer']:8} {row['peer_us']:9.2f} {row['peer_ratio']:6.3f}" if row.get("peer") else " " * 25
    return f"{shape:>30} {row['us']:9.2f} us  torch {row['torch_us'] or 0:9.2f} {row['ratio'] or 0:6.3f}  {peer}  {row['kernel']}"


def measured(cases: Sequence[Case], options: BenchOptions) -> dict[str, Any]:
    """The result object: rows of our own alone (a peer's times stand in them), and the sets."""
    own: list[Row] = []
    notes: list[str] = []
    head, path, show = environment(options.mode), options.json_path, options.on_note

    def result() -> dict[str, Any]:
        return {**head, "notes": notes, "sets": summary(own), "rows": own}

    def on_note(text: str) -> None:
        notes.append(text)
        show(text)

    def on_row(row: Row) -> None:
        if row["schedule"] == "auto":
            own.append(row)
            print(line(row), flush=True)

    def on_case(case: Case) -> None:
        if path:
            write_json(path, result())

    run_bench(cases, dataclasses.replace(options, on_note=on_note, on_row=on_row, on_case=on_case, json_path=None))
    return result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", default="peers", choices=("peers", "layouts", "types"))
    parser.add_argument("--peers", help="other libraries, '' for none [default: cublaslt,triton for the peers suite]")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=200, help="start no shape after this long")
    parser.add_argument("--mode", default="sustained", choices=("sustained", "burst"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    peers = "cublaslt,triton" if options.peers is None and options.suite == "peers" else options.peers or ""
    name = "suite.json" if options.suite == "peers" else f"suite_{options.suite}.json"
    cases = load_suite(options.suite)
    bench = BenchOptions(
        peers=tuple(peers.split(",")) if peers else (),
        rounds=options.rounds,
        mode=options.mode,
        seconds=options.seconds,
        seed=options.seed,
        json_path=options.json or RESULTS / name,
        on_note=lambda text: print(f"  {text}", flush=True),
    )
    result = measured(cases, bench)
    print("\n".join(lines(result["sets"])))
    print(f"{len(result['rows'])} of {len(cases)} shapes; written to {options.json or RESULTS / name}")
    return 0 if len(result["rows"]) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
