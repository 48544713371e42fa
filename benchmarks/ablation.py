"""What each ingredient of a kernel is worth: A/B comparisons on a Hopper GPU, each in interleaved rounds.

    python benchmarks/ablation.py [--shapes 4096,8192] [--topics stages,swizzle] [--rounds 12] [--json FILE]

Every group is one baseline and its variants, measured together; a row's `speed` is baseline time / variant time, so
below 1 the variant is slower. Needs a build with the ablation kernels (HOPPER_GEMM_MANIFESTS=default,ablation).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopper_gemm import manifest
from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import Operands, write_json
from hopper_gemm.bench.suites import Case, parse_shapes
from hopper_gemm.problem import Problem
from hopper_gemm.registry import Kernel, all_kernels, by_name
from hopper_gemm.selector import Card, load_model, predict
from hopper_gemm.walk import GROUPS, RASTERS, Walk

RESULT = Path(__file__).with_name("results") / "ablation.json"


@dataclass(frozen=True)
class Variant:
    """One thing to time: a kernel, and a walk if it is not the selector's."""

    label: str
    kernel: str
    walk: tuple[str, int] | None = None


@dataclass(frozen=True)
class Group:
    """A baseline (the first variant) and what it is compared with."""

    topic: str
    about: str
    variants: tuple[Variant, ...]
    dtype: str = "bf16"
    layout: str = "tn"
    baselines: frozenset[str] = field(default_factory=frozenset)  # the fastest of these labels, if given


TILES = {
    "multistage": (128, 128, 4),
    "tma": (128, 128, 5),
    "warp_specialized": (128, 256, 4),
    "cooperative": (128, 256, 4),
    "pingpong": (128, 128, 6),
}


def kernel_name(
    schedule: str, *, stages: int | None = None, layout: str = "tn", dtype: str = "bf16", **rest: Any
) -> str:
    """Name of the ablation kernel of a schedule with some fields changed."""
    tile_m, tile_n, default_stages = TILES[schedule]
    tile_m, tile_n = rest.pop("tile", (tile_m, tile_n))
    (row,) = manifest.kernel(
        schedule, tile_m, tile_n, stages or default_stages, layouts=(layout,), inputs=(dtype,), **rest
    )
    return manifest.name(row)


def groups() -> Iterator[Group]:
    """All comparisons."""
    yield from _in_flight()
    yield from _stages()
    yield from _swizzles()
    yield from _walks()
    yield from _clusters()
    yield from _stores()
    yield from _accumulators()


def _in_flight() -> Iterator[Group]:
    for schedule in TILES:
        yield Group(
            "wait_group",
            f"{schedule}: wgmma groups left in flight when a stage is released",
            (
                Variant("wait_group(1)", kernel_name(schedule)),
                Variant("wait_group(0)", kernel_name(schedule, mmas_in_flight=0)),
            ),
        )


def _stages() -> Iterator[Group]:
    listed = manifest.selected("default,ablation", "*")
    for schedule, (_, _, usual) in TILES.items():
        counts = [usual, *(s for s in range(2, 8) if s != usual and kernel_name(schedule, stages=s) in listed)]
        variants = tuple(Variant(f"{s} stages", kernel_name(schedule, stages=s)) for s in counts)
        yield Group("stages", f"{schedule}: depth of the shared-memory ring", variants)


def _swizzles() -> Iterator[Group]:
    names = {128: "128 B", 64: "64 B", 32: "32 B", 16: "none"}
    for layout in ("tn", "nt"):
        variants = tuple(
            Variant(f"swizzle {text}", kernel_name("cooperative", layout=layout, swizzles=(span, span)))
            for span, text in names.items()
        )
        yield Group("swizzle", "cooperative: shared-memory swizzle of both operands", variants, layout=layout)


def _walks() -> Iterator[Group]:
    for schedule in ("cooperative", "pingpong"):
        name = kernel_name(schedule)
        variants = [Variant(f"{r}, group {g}", name, (r, g)) for g in (8, 1, 2, 4, 16) for r in RASTERS if g in GROUPS]
        yield Group("raster", f"{schedule}: order of the tiles", tuple(variants))


def _clusters() -> Iterator[Group]:
    shapes = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
    for schedule in ("tma", "warp_specialized", "cooperative", "pingpong"):
        variants = tuple(Variant(f"cluster {m}x{n}", kernel_name(schedule, cluster=(m, n))) for m, n in shapes)
        yield Group("cluster", f"{schedule}: CTAs that share loads by multicast", variants)


def _stores() -> Iterator[Group]:
    for schedule in ("tma", "warp_specialized", "cooperative", "pingpong"):
        variants = (
            Variant("TMA store", kernel_name(schedule)),
            Variant("direct store", kernel_name(schedule, store="direct")),
        )
        yield Group("store", f"{schedule}: how the epilogue writes", variants)


def _accumulators() -> Iterator[Group]:
    halves = {"dtype": "f16", "accumulator": "f16"}
    yield Group(
        "fp16 sums",
        "cooperative 128x256: accumulator type of fp16 inputs",
        (
            Variant("fp32 sums", kernel_name("cooperative", dtype="f16")),
            Variant("fp16 sums", kernel_name("cooperative", **halves)),
        ),
        dtype="fp16",
    )
    exact = [k for k in all_kernels() if (k.input, k.accumulator, k.layout, k.automatic) == ("f16", "f32", "tn", True)]
    yield Group(
        "fp16 sums",
        "fp16 sums at 256x256 (four consumer warpgroups) against the fastest kernel with fp32 sums",
        (
            *(Variant(k.name, k.name) for k in exact),
            Variant("fp16 sums, 256x256", kernel_name("cooperative", tile=(256, 256), stages=3, **halves)),
        ),
        dtype="fp16",
        baselines=frozenset(k.name for k in exact),
    )


def measure_group(
    group: Group, shape: tuple[int, int, int], rounds: int, seed: int, note: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Rows of one group at one shape; variants that are not built are left out with a note."""
    case = Case(*shape, group.dtype, group.layout)
    sets = Operands(case, seed)
    built = by_name()
    variants = {v.label: v for v in group.variants if v.kernel in built and built[v.kernel].compiled}
    missing = [v.label for v in group.variants if v.label not in variants]
    if missing:
        note(f"{group.about}: not built: {', '.join(missing)}")
    calls = {
        label: sets.kernel_call(built[v.kernel], _walk(case, built[v.kernel], v.walk)) for label, v in variants.items()
    }
    candidates = measure.capture(calls, sets.count, lambda name, e: note(f"{case}: {name} failed: {e}"))
    for label in [label for label in candidates if not sets.agrees(calls[label], _tolerance(variants[label]))]:
        note(f"{case}: {label} gives a wrong result and is left out")
        del candidates[label]
    order = random.Random(seed)
    if group.baselines:
        short = measure.time_interleaved(candidates, 3, order=order, shortened=0.2)
        fastest = sorted((n for n in short if n in group.baselines), key=lambda n: short[n].us)[:3]
        candidates = {n: c for n, c in candidates.items() if n not in group.baselines or n in fastest}
    times = measure.time_interleaved(candidates, rounds, order=order)
    choices = [n for n in times if not group.baselines or n in group.baselines]
    if not choices:
        return
    baseline = min(choices, key=lambda n: times[n].us) if group.baselines else choices[0]
    for label, timing in times.items():
        yield {
            "topic": group.topic,
            "about": group.about,
            "m": case.m,
            "n": case.n,
            "k": case.k,
            "dtype": case.dtype,
            "layout": case.layout,
            "variant": label,
            "kernel": variants[label].kernel,
            "us": round(timing.us, 3),
            "tflops": round(2e-6 * case.m * case.n * case.k / timing.us, 1),
            "baseline": baseline,
            "baseline_us": round(times[baseline].us, 3),
            "speed": round(timing.ratio_to(times[baseline]), 4),
        }


def _walk(case: Case, kernel: Kernel, given: tuple[str, int] | None) -> Walk:
    if given is not None:
        return Walk(*given, hbm_bytes=0.0)
    a_major, b_major = "k" if case.layout[0] == "t" else "mn", "k" if case.layout[1] == "n" else "mn"
    problem = Problem(case.m, case.n, case.k, kernel.input, kernel.input, (a_major,), (b_major,))
    return predict(problem, kernel, Card(), load_model()).walk


def _tolerance(variant: Variant) -> float:
    return 0.2 if "_f16_f16_f16_" in f"_{variant.kernel}" else 2e-2


def chosen(topics: Iterable[str] | None) -> list[Group]:
    return [g for g in groups() if topics is None or g.topic in topics]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", default="4096,8192")
    parser.add_argument("--topics", help=f"of: {', '.join(dict.fromkeys(g.topic for g in groups()))}")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()

    result: dict[str, Any] = {**environment("sustained"), "rows": []}
    for group in chosen(options.topics.split(",") if options.topics else None):
        for shape in parse_shapes(options.shapes):
            print(f"{group.about}, {'x'.join(map(str, shape))} {group.dtype} {group.layout}", flush=True)
            for row in measure_group(group, shape, options.rounds, options.seed, lambda text: print(f"  {text}")):
                result["rows"].append(row)
                print(f"  {row['variant']:50} {row['us']:10.2f} us {row['tflops']:7.1f} TFLOP/s  {row['speed']:.3f}")
            write_json(options.json, result)
    print(f"written to {options.json}")


if __name__ == "__main__":
    main()
