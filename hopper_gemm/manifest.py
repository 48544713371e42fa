"""The only list of kernels: build, selector and tests all read it.

Standard library only and loadable by file path, because the build reads it before torch or `_C` exist.
A row mirrors `KernelConfig` (include/hopper_gemm/core/config.h); whether it is valid is decided there, when it is
compiled. Adding a tile, cluster or stage count is one line in DEFAULT or ABLATION.
"""

import fnmatch
import os
from dataclasses import dataclass, fields

SCHEDULES = ("multistage", "tma", "warp_specialized", "cooperative", "pingpong")
LAYOUTS = ("tn", "tt", "nn", "nt")
SWIZZLE_SPANS = (128, 64, 32, 16)  # bytes
ELEMENT_BYTES = 2  # bf16 and f16


@dataclass(frozen=True)
class Row:
    """One kernel. Majors are "k" or "mn", swizzles are spans in bytes (16: none)."""

    schedule: str
    input: str
    accumulator: str
    a_major: str
    b_major: str
    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    stages: int
    consumers: int
    a_swizzle: int
    b_swizzle: int
    store: str
    mmas_in_flight: int
    cluster_k: int  # CTAs that share the K extent of one tile
    output: str  # "row_major", or "column_major" for problems run with their operands exchanged
    automatic: bool  # may be chosen by the selector


def default_consumers(schedule, accumulator, tile_m, tile_n):
    """Warpgroups that issue wgmma: three for 192 rows, four for 256x256 (f16 accumulators), two where a tile has
    128 rows and more than 64 KB / 8 of f32 accumulators (more than 64x128 elements), else one.
    Persistent schedules always have two or more (pingpong: one tile each)."""
    if schedule == "pingpong":
        return 2
    if tile_m % 128 and tile_m % 192 == 0:
        return 3
    if schedule == "cooperative":
        return 4 if accumulator == "f16" and tile_m * tile_n == 256 * 256 else 2
    return 2 if tile_m >= 128 and tile_m * tile_n > 64 * 128 else 1


def default_swizzle(contiguous_elements):
    """The largest span that divides the operand's contiguous tile extent."""
    return next(span for span in SWIZZLE_SPANS if contiguous_elements * ELEMENT_BYTES % span == 0)


def majors(layout):
    """BLAS letters to majors. A: t is K-major (row-major), n MN-major. B: n is K-major (stored (N, K)), t MN-major."""
    return ("k" if layout[0] == "t" else "mn"), ("k" if layout[1] == "n" else "mn")


def layout(row):
    return ("t" if row.a_major == "k" else "n") + ("n" if row.b_major == "k" else "t")


def _default_swizzles(a_major, b_major, tile_m, tile_n, tile_k):
    return (
        default_swizzle(tile_k if a_major == "k" else tile_m),
        default_swizzle(tile_k if b_major == "k" else tile_n),
    )


def name(row):
    """Says everything about a row: suffixes only for what differs from the derived defaults."""
    text = (
        f"{row.input}_{row.input}_{row.accumulator}_{layout(row)}_{row.tile_m}x{row.tile_n}x{row.tile_k}"
        f"_c{row.cluster_m}x{row.cluster_n}_s{row.stages}_{row.schedule}_{row.store}"
    )
    if row.consumers != default_consumers(row.schedule, row.accumulator, row.tile_m, row.tile_n):
        text += f"_w{row.consumers}"
    swizzles = (row.a_swizzle, row.b_swizzle)
    if swizzles != _default_swizzles(row.a_major, row.b_major, row.tile_m, row.tile_n, row.tile_k):
        text += f"_sw{row.a_swizzle}x{row.b_swizzle}"
    if row.mmas_in_flight != 1:
        text += f"_mma{row.mmas_in_flight}"
    if row.cluster_k != 1:
        text += f"_k{row.cluster_k}"
    if row.output != "row_major":
        text += "_column"
    return text


def kernel(
    schedule,
    tile_m,
    tile_n,
    stages,
    *,
    tile_k=64,
    cluster=(1, 1),
    store=None,
    consumers=None,
    swizzles=None,
    mmas_in_flight=1,
    inputs=("bf16", "f16"),
    accumulator="f32",
    layouts=LAYOUTS,
    output="row_major",
    cluster_k=1,
    automatic=True,
):
    """One manifest line: a tile in every given type and layout."""
    rows = []
    for input_type in inputs:
        for letters in layouts:
            a_major, b_major = majors(letters)
            a_swizzle, b_swizzle = swizzles or _default_swizzles(a_major, b_major, tile_m, tile_n, tile_k)
            rows.append(
                Row(
                    schedule=schedule,
                    input=input_type,
                    accumulator=accumulator,
                    a_major=a_major,
                    b_major=b_major,
                    tile_m=tile_m,
                    tile_n=tile_n,
                    tile_k=tile_k,
                    cluster_m=cluster[0],
                    cluster_n=cluster[1],
                    stages=stages,
                    consumers=consumers or default_consumers(schedule, accumulator, tile_m, tile_n),
                    a_swizzle=a_swizzle,
                    b_swizzle=b_swizzle,
                    store=store or ("direct" if schedule == "multistage" else "tma"),
                    mmas_in_flight=mmas_in_flight,
                    cluster_k=cluster_k,
                    output=output,
                    automatic=automatic,
                )
            )
    return rows


def _ablation(schedule, tile_m, tile_n, stages, *, inputs=("bf16",), layouts=("tn",), **rest):
    return kernel(schedule, tile_m, tile_n, stages, inputs=inputs, layouts=layouts, automatic=False, **rest)


def _fp16_sums(schedule, tile_m, tile_n, stages, **rest):
    """Only when asked for, so never automatic."""
    return kernel(schedule, tile_m, tile_n, stages, accumulator="f16", inputs=("f16",), automatic=False, **rest)


def _flat(lists):
    """Joins lines into rows, once each: an ablation line may repeat what another line already asks for."""
    return tuple(dict.fromkeys(row for rows in lists for row in rows))


_B_IS_K_MAJOR = ("tn", "nn")  # an N that is no multiple of 64 leaves an MN-major B only a narrow swizzle

# The automatic tiles were picked by a greedy cover of a sweep of 71 candidates over the shapes of the peers suite (one
# H200, 2026-11-29; benchmarks/results/sweep.json), plus one or two of every schedule. So that suite is not an
# independent test of this list, nor of the selector fitted to the same sweep.
DEFAULT = _flat(
    [
        kernel("multistage", 64, 64, 5),
        kernel("multistage", 128, 256, 4),
        kernel("tma", 64, 128, 7),
        kernel("tma", 128, 256, 4),
        kernel("warp_specialized", 64, 32, 12),
        kernel("warp_specialized", 64, 128, 7),
        kernel("warp_specialized", 128, 256, 4),
        kernel("cooperative", 128, 192, 5, cluster=(2, 1)),
        kernel("cooperative", 128, 256, 4),
        kernel("cooperative", 256, 128, 4),
        kernel("pingpong", 64, 128, 8, cluster=(2, 1)),
        kernel("pingpong", 128, 128, 6),
        kernel("pingpong", 128, 128, 6, cluster=(2, 1)),
        kernel("pingpong", 128, 192, 4),
        # widths between the powers of two, where they divide the wave better
        kernel("cooperative", 128, 224, 4, layouts=_B_IS_K_MAJOR),
        kernel("pingpong", 128, 144, 5, cluster=(2, 1), layouts=_B_IS_K_MAJOR),
        kernel("pingpong", 128, 160, 5, layouts=_B_IS_K_MAJOR),
        kernel("pingpong", 128, 176, 4, cluster=(2, 1), layouts=_B_IS_K_MAJOR),
        kernel("pingpong", 128, 208, 4, layouts=_B_IS_K_MAJOR),
        kernel("pingpong", 256, 96, 4, layouts=_B_IS_K_MAJOR),
        # the layout of linear layers
        kernel("cooperative", 128, 256, 4, cluster=(1, 2), layouts=("tn",)),
        kernel("pingpong", 64, 32, 12, layouts=("tn",)),
        kernel("pingpong", 128, 128, 6, cluster=(1, 2), layouts=("tn",)),
        kernel("pingpong", 128, 192, 4, cluster=(2, 1), layouts=("tn",)),
        # decode: the operands exchanged, so that the few rows of activations are wgmma's N
        kernel("pingpong", 64, 16, 8, tile_k=128, layouts=("tn",), output="column_major"),
        *[kernel("warp_specialized", 64, n, 6, tile_k=128, layouts=("tn",), output="column_major") for n in (8, 16, 64)],
        # fp16 accumulation: few tiles split K, which also shortens the chains that lose bits
        _fp16_sums("cooperative", 256, 256, 3),
        _fp16_sums("warp_specialized", 64, 64, 4, tile_k=128, store="direct", cluster_k=4),
    ]
)

_CLUSTERS = ((2, 1), (1, 2), (2, 2), (4, 1), (1, 4))

ABLATION = _flat(
    [
        # stages, up to what fits
        *[_ablation("multistage", 128, 128, s) for s in (3, 4, 5, 6, 7)],
        *[_ablation("tma", 128, 128, s) for s in (2, 3, 4, 5, 6)],
        *[_ablation("warp_specialized", 128, 256, s) for s in (2, 3, 4)],
        *[_ablation("cooperative", 128, 256, s) for s in (2, 3, 4)],
        *[_ablation("pingpong", 128, 128, s) for s in (2, 3, 4, 5, 6)],
        # swizzle of both operands (the rest of each kernel is the default one)
        *[_ablation("cooperative", 128, 256, 4, swizzles=(span, span)) for span in (16, 32, 64, 128)],
        *[_ablation("cooperative", 128, 256, 4, swizzles=(s, s), layouts=("nt",)) for s in (16, 32, 64, 128)],
        # wgmma groups in flight when a stage is released
        _ablation("multistage", 128, 128, 4, mmas_in_flight=0),
        _ablation("tma", 128, 128, 5, mmas_in_flight=0),
        _ablation("warp_specialized", 128, 256, 4, mmas_in_flight=0),
        _ablation("cooperative", 128, 256, 4, mmas_in_flight=0),
        _ablation("pingpong", 128, 128, 6, mmas_in_flight=0),
        # clusters
        *[_ablation("tma", 128, 128, 5, cluster=c) for c in _CLUSTERS],
        *[_ablation("warp_specialized", 128, 256, 4, cluster=c) for c in _CLUSTERS],
        *[_ablation("cooperative", 128, 256, 4, cluster=c) for c in _CLUSTERS],
        *[_ablation("pingpong", 128, 128, 6, cluster=c) for c in _CLUSTERS],
        # wgmma N from 8 to 256, K-major B and MN-major B (whose swizzle follows from N)
        *[_ablation("warp_specialized", 64, n, 4) for n in range(8, 257, 8)],
        *[_ablation("warp_specialized", 64, n, 4, layouts=("tt",)) for n in (8, 24, 40, 104, 136, 200, 248)],
        # direct store
        _ablation("tma", 128, 128, 5, store="direct"),
        _ablation("warp_specialized", 128, 256, 4, store="direct"),
        _ablation("cooperative", 128, 256, 4, store="direct"),
        _ablation("pingpong", 128, 128, 6, store="direct"),
        # three consumer warpgroups
        _ablation("cooperative", 192, 192, 4),
        # column-major output in every layout, and the K extent split over a cluster
        _ablation("cooperative", 128, 128, 4, output="column_major", layouts=LAYOUTS),
        *[_ablation("warp_specialized", 64, 64, 4, tile_k=128, store="direct", cluster_k=k) for k in (2, 4, 8)],
        _ablation("warp_specialized", 64, 16, 6, tile_k=128, store="direct", output="column_major", cluster_k=2),
        _ablation("warp_specialized", 128, 128, 4, store="direct", cluster_k=2, layouts=("tn", "nt")),
        # fp16 accumulation against fp32 at one tile
        _ablation("cooperative", 128, 256, 4, accumulator="f16", inputs=("f16",)),
        _ablation("cooperative", 128, 256, 4, inputs=("f16",)),
    ]
)

MANIFESTS = {"default": DEFAULT, "ablation": ABLATION}


def _words(text, fallback):
    return [word.strip() for word in (text or fallback).replace(";", ",").split(",") if word.strip()]


def selected(manifests=None, kernels=None):
    """Rows of the chosen lists whose name matches one of the globs, each kernel once, keyed by name.
    None reads HOPPER_GEMM_MANIFESTS (default: "default") and HOPPER_GEMM_KERNELS (default: "*")."""
    lists = _words(manifests or os.environ.get("HOPPER_GEMM_MANIFESTS"), "default")
    globs = _words(kernels or os.environ.get("HOPPER_GEMM_KERNELS"), "*")
    unknown = [word for word in lists if word not in MANIFESTS]
    if unknown:
        raise ValueError(f"unknown manifest {unknown[0]!r}: HOPPER_GEMM_MANIFESTS takes {', '.join(MANIFESTS)}")
    chosen: dict[str, Row] = {}
    for word in lists:
        for row in MANIFESTS[word]:
            if any(fnmatch.fnmatchcase(name(row), glob) for glob in globs):
                chosen.setdefault(name(row), row)
    return chosen


def as_dict(row):
    return {field.name: getattr(row, field.name) for field in fields(row)}
