"""The only list of kernels: build, selector and tests all read it.

Standard library only and loadable by file path (csrc/instantiations/generate.py), because the build reads it before torch
or `_C` exist. Adding a tile, cluster or stage count is one line in DEFAULT or ABLATION; what a line means is in row.py.
"""

import fnmatch
import os

from .row import (
    ELEMENT_BYTES, LAYOUTS, SCHEDULES, SWIZZLE_SPANS, Row, as_dict, default_consumers, default_swizzle, kernel, layout, majors,
    name, pair_name, pair_types, promotion_k,
)  # fmt: skip

__all__ = [
    "ABLATION", "DEFAULT", "ELEMENT_BYTES", "LAYOUTS", "MANIFESTS", "SCHEDULES",
    "SWIZZLE_SPANS", "Row", "as_dict", "default_consumers", "default_swizzle", "kernel", "layout", "majors", "name",
    "pair_name", "pair_types", "promotion_k", "selected",
]  # fmt: skip


def _ablation(schedule, tile_m, tile_n, stages, *, inputs=("bf16",), layouts=("tn",), **rest):
    return kernel(schedule, tile_m, tile_n, stages, inputs=inputs, layouts=layouts, automatic=False, **rest)


def _fp16_sums(schedule, tile_m, tile_n, stages, **rest):
    """Only when asked for, so never automatic."""
    return kernel(schedule, tile_m, tile_n, stages, accumulator="f16", inputs=("f16",), automatic=False, **rest)


def _flat(lists):
    """Joins lines into rows, once each: an ablation line may repeat what another line already asks for."""
    return tuple(dict.fromkeys(row for rows in lists for row in rows))


_B_IS_K_MAJOR = ("tn", "nn")  # an N that is no multiple of 64 leaves an MN-major B only a narrow swizzle

_LINEAR, _CONTIGUOUS_A = ("tn",), ("tn", "tt")  # of linear layers: both operands K-major; of activations in rows


def _bf16(schedule, tile_m, tile_n, stages, **rest):
    """A tile or layout that fp16, with its shorter list, does without."""
    return kernel(schedule, tile_m, tile_n, stages, inputs=("bf16",), **rest)


def _decode(schedule, tile_m, tile_n, stages, *, build=kernel, layouts=_LINEAR, tile_k=128, **rest):
    """The operands exchanged, so that the few rows of activations are wgmma's N."""
    return build(schedule, tile_m, tile_n, stages, tile_k=tile_k, layouts=layouts, output="column_major", **rest)


# The automatic tiles were picked by a greedy cover of a sweep of 60 candidates over the peers suite and 70 random shapes (one
# H200, 2026-11-30; benchmarks/results/sweep.json), plus one or two of every schedule. So that suite is not an independent
# test of this list, nor of the selector fitted to the same sweep. Linear layers have the same tiles in bf16 and fp16, but for those of _bf16.
_SIXTEEN_BIT = _flat(
    [
        kernel("multistage", 64, 64, 5),
        _bf16("multistage", 128, 256, 4, layouts=_CONTIGUOUS_A),
        kernel("tma", 64, 128, 7),
        _bf16("tma", 128, 256, 4, layouts=_CONTIGUOUS_A),
        kernel("warp_specialized", 64, 64, 10),
        _bf16("warp_specialized", 64, 64, 4, layouts=_LINEAR),  # short K: more CTAs on an SM
        kernel("warp_specialized", 64, 128, 7),
        _bf16("warp_specialized", 128, 256, 4, layouts=_CONTIGUOUS_A),
        kernel("cooperative", 128, 128, 6),
        kernel("cooperative", 128, 256, 4),
        _bf16("pingpong", 64, 128, 8, cluster=(2, 1), layouts=_B_IS_K_MAJOR),
        _bf16("pingpong", 128, 128, 6),
        kernel("pingpong", 128, 128, 6, cluster=(1, 2)),
        kernel("pingpong", 128, 192, 4),
        # widths between the powers of two, where they divide the wave better
        _bf16("cooperative", 128, 192, 5, layouts=_B_IS_K_MAJOR),
        *[kernel("cooperative", 128, n, s, layouts=_LINEAR) for n, s in ((144, 5), (160, 5), (192, 5), (224, 4))],
        *[
            build("pingpong", 128, n, s, cluster=(2, 1), layouts=layouts)
            for build, layouts in ((_bf16, _B_IS_K_MAJOR), (kernel, _LINEAR))
            for n, s in ((144, 5), (160, 5), (176, 4))
        ],
        # linear layers: small outputs, and clusters for rows that are no whole lines of memory
        *[kernel("warp_specialized", 64, n, 6, tile_k=128, layouts=_LINEAR) for n in (32, 64)],
        kernel("warp_specialized", 64, 96, 8, layouts=_LINEAR),
        kernel("warp_specialized", 128, 64, 8, layouts=_LINEAR),
        _bf16("warp_specialized", 64, 128, 7, cluster=(2, 1), layouts=_LINEAR),
        _bf16("warp_specialized", 128, 64, 8, cluster=(1, 4), layouts=_LINEAR),
        *[kernel("pingpong", 64, 128, 8, cluster=c, layouts=_LINEAR) for c in ((2, 1), (2, 2))],
        *[kernel("pingpong", 128, 128, 6, cluster=c, layouts=_LINEAR) for c in ((2, 1), (1, 4))],
        _bf16("cooperative", 256, 128, 4, cluster=(2, 1), layouts=_LINEAR),
        kernel("pingpong", 128, 128, 6, layouts=_LINEAR),
        kernel("pingpong", 128, 192, 4, cluster=(2, 1), layouts=_LINEAR),
        kernel("pingpong", 192, 128, 4, layouts=_LINEAR),
        kernel("pingpong", 192, 128, 4, cluster=(1, 2), layouts=_LINEAR),
        # decode
        *[
            _decode(*tile, build=build, layouts=layouts)
            for build, layouts in ((_bf16, LAYOUTS), (kernel, _LINEAR))
            for tile in (("pingpong", 64, 16, 8), ("warp_specialized", 64, 16, 5), ("warp_specialized", 64, 64, 6))
        ],
        _decode("warp_specialized", 128, 16, 6, build=_bf16, layouts=LAYOUTS),
        *[_decode(schedule, m, 16, s, build=_bf16) for schedule, m, s in (("warp_specialized", 64, 4), ("tma", 128, 3))],
        *[_decode(*tile) for n, s in ((8, 6), (32, 8)) for tile in (("warp_specialized", 64, n, s), ("pingpong", 64, n, 8))],
        _decode("warp_specialized", 128, 32, 5),
        *[_decode("warp_specialized", 64, n, 6, store="direct", cluster_k=2) for n in (16, 64)],
        # 65 to 160 rows of activations: all of them beside a few weights, which are read once
        *[_decode("pingpong", 64, n, s, build=_bf16, tile_k=64) for n, s in ((96, 8), (128, 7))],
        _decode("warp_specialized", 64, 96, 8, build=_bf16, tile_k=64, cluster=(4, 1)),
        *[_decode("cooperative", 128, n, s, build=_bf16, tile_k=64) for n, s in ((96, 6), (160, 5))],
        # K below 64: shorter boxes, for what TMA fills with zeros takes longer than what exists
        *[
            build(*tile, tile_k=16, layouts=layouts)
            for build, layouts in ((_bf16, LAYOUTS), (kernel, _LINEAR))
            for tile in (("warp_specialized", 64, 128, 3), ("cooperative", 128, 256, 4))
        ],
        *[_bf16(*tile, tile_k=16, layouts=_LINEAR) for tile in (("warp_specialized", 128, 64, 3), ("pingpong", 192, 128, 4))],
        _bf16("pingpong", 128, 128, 4, tile_k=32, layouts=_LINEAR),
        *[_decode(s, m, n, 4, build=_bf16, tile_k=16) for s, m, n in (("warp_specialized", 64, 32), ("pingpong", 64, 128))],
        _decode("cooperative", 128, 160, 4, build=_bf16, tile_k=16),
        # fp16 accumulation: few tiles split K, which also shortens the chains that lose bits
        _fp16_sums("cooperative", 256, 256, 3),
        _fp16_sums("warp_specialized", 64, 64, 4, tile_k=128, store="direct", cluster_k=4),
    ]
)


def _narrow(pair, schedule, tile_m, tile_n, stages, **rest):
    """Types of 1 and 4 bytes are read K-major alone."""
    return kernel(schedule, tile_m, tile_n, stages, inputs=(pair,), layouts=("tn",), **rest)


def _promoted(pair, schedule, tile_m, tile_n, stages, **rest):
    return _narrow(pair, schedule, tile_m, tile_n, stages, promote_k=promotion_k(pair_types(pair)[0]), **rest)


# Every schedule exists for tf32, e4m3 and s8. Tiles that won for bf16, as far as registers allow (promoted sums take two or
# three times the accumulators), or in a sweep of the type (benchmarks/results/sweep_types.json, sweep_fp8.json, tiles.json; not s8).
_NARROW = _flat(
    [
        _narrow("e4m3", "cooperative", 128, 256, 4),
        _narrow("e4m3", "pingpong", 64, 128, 8),
        *[_narrow("e4m3", "pingpong", 128, 128, 6, cluster=c) for c in ((1, 1), (2, 1), (1, 2))],
        _narrow("e4m3", "pingpong", 128, 192, 4, cluster=(2, 1)),
        *[_narrow("e4m3", "pingpong", 192, 128, 4, cluster=c) for c in ((1, 1), (1, 2))],
        _narrow("e4m3", "cooperative", 128, 224, 4),
        _narrow("e4m3", "warp_specialized", 64, 16, 6, tile_k=256, output="column_major"),
        # what fp8 sums take unless fast ones are allowed, and the three tf32 products of a float32 one (3xTF32)
        *[
            tile
            for pair in ("e4m3", "tf32")
            for tile in (
                _promoted(pair, "multistage", 64, 128, 6),
                _promoted(pair, "tma", 64, 128, 7),
                _promoted(pair, "warp_specialized", 64, 64, 8),
                _promoted(pair, "warp_specialized", 64, 16, 6, tile_k=2 * promotion_k(pair), output="column_major"),
                *[_promoted(pair, "cooperative", 128, 128, 6, cluster=c) for c in ((1, 1), (1, 2))],
                _promoted(pair, "cooperative", 192, 128, 5),
                _promoted(pair, "pingpong", 64, 128, 8),
            )
        ],
        _promoted("e4m3", "warp_specialized", 64, 8, 6, tile_k=256, output="column_major"),
        _promoted("e4m3", "cooperative", 128, 224, 4),
        *[_narrow(pair, "cooperative", 128, 256, 4) for pair in ("e4m3_e5m2", "e5m2_e4m3", "e5m2")],
        *[_promoted(pair, "cooperative", 128, 128, 6) for pair in ("e4m3_e5m2", "e5m2_e4m3", "e5m2")],
        _narrow("s8", "multistage", 64, 128, 6),
        _narrow("s8", "tma", 64, 128, 7),
        _narrow("s8", "warp_specialized", 64, 16, 6, tile_k=256, output="column_major"),
        _narrow("s8", "cooperative", 128, 256, 4),
        _narrow("s8", "pingpong", 64, 128, 8),
        _narrow("s8", "pingpong", 128, 128, 6, cluster=(2, 1)),
        _narrow("s8", "pingpong", 128, 192, 5, cluster=(2, 1)),
        *[_narrow(pair, "cooperative", 128, 128, 6) for pair in ("u8", "s8_u8", "u8_s8")],
        _narrow("tf32", "multistage", 64, 128, 6),
        _narrow("tf32", "tma", 64, 128, 7),
        _narrow("tf32", "warp_specialized", 64, 16, 6, tile_k=64, output="column_major"),
        _narrow("tf32", "warp_specialized", 64, 64, 8),
        _narrow("tf32", "cooperative", 128, 256, 4),
        _narrow("tf32", "pingpong", 64, 128, 8),
        _narrow("tf32", "pingpong", 64, 256, 5),
        *[_narrow("tf32", "pingpong", 128, 128, 6, cluster=c) for c in ((1, 1), (2, 1), (1, 2), (1, 4))],
        _narrow("tf32", "pingpong", 128, 192, 4, cluster=(2, 1)),
    ]
)
DEFAULT = _SIXTEEN_BIT + _NARROW

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
        # decode tiles of which two fit on an SM (at most 113 KB of shared memory and 128 registers a thread each), so that CTAs
        # of the next kernel of a chain can load a static operand beside the last ones of this kernel
        *[_decode("warp_specialized", 64, n, s, build=_ablation) for n, s in ((8, 5), (32, 4), (64, 3))],
        *[_decode("warp_specialized", 128, n, s, build=_ablation) for n, s in ((16, 3), (32, 2))],
        *[_decode("warp_specialized", 64, n, s, build=_ablation, store="direct", cluster_k=2) for n, s in ((16, 5), (32, 4))],
        # the epilogue without its options: what their branch costs a plain product
        _ablation("cooperative", 128, 256, 4, fused_epilogue=False),
        _ablation("pingpong", 128, 128, 6, fused_epilogue=False),
        _ablation("pingpong", 128, 192, 4, fused_epilogue=False),
        # fp16 accumulation against fp32 at one tile
        _ablation("cooperative", 128, 256, 4, accumulator="f16", inputs=("f16",)),
        _ablation("cooperative", 128, 256, 4, inputs=("f16",)),
    ]
)

# Tiles that benchmarks/sweep.py can time beside the default ones, to choose from.
CANDIDATES = _flat(
    [
        *[_bf16("cooperative", 256, 128, 4, cluster=c, layouts=_LINEAR) for c in ((1, 1), (2, 1), (1, 2))],
        # decode: more and smaller CTAs on an SM, and K split further
        *[_decode("tma", 64, n, s, build=_bf16) for n, s in ((16, 2), (16, 3), (8, 3))],
        _decode("warp_specialized", 64, 16, 3, build=_bf16),
        *[_decode(schedule, 64, 16, s, build=_bf16, tile_k=256) for schedule, s in (("pingpong", 5), ("warp_specialized", 4))],
        _decode("warp_specialized", 64, 16, 6, build=_bf16, store="direct", cluster_k=4),
        *[_decode("warp_specialized", 64, n, 6, build=_bf16, store="direct", cluster_k=2) for n in (8, 32)],
        *[_bf16("cooperative", m, 192, s, layouts=_LINEAR) for m, s in ((256, 3), (192, 4))],
        *[
            _bf16("warp_specialized", 128, n, s, store="direct", cluster_k=k, layouts=("tn", "nt"))
            for n, s, k in ((64, 7, 2), (128, 5, 2), (128, 5, 4), (192, 3, 2))
        ],
        _bf16("warp_specialized", 64, 128, 7, store="direct", cluster_k=2, layouts=("tn", "nt")),
        _bf16("pingpong", 128, 208, 4, cluster=(2, 1), layouts=_LINEAR),
        _bf16("pingpong", 192, 128, 4, cluster=(2, 1), layouts=_LINEAR),
        *[_promoted("e4m3", "cooperative", 128, n, 5) for n in (144, 160, 176, 192)],
        *[_promoted("e4m3", "cooperative", 128, 256, 4, cluster=c) for c in ((1, 1), (1, 2))],
        *[_promoted("e4m3", "pingpong", 128, 96, 6, cluster=c) for c in ((1, 1), (2, 1))],
        *[_promoted("e4m3", "warp_specialized", 64, n, 6, tile_k=256, output="column_major") for n in (8, 32, 64)],
        *[_promoted("e4m3", "cooperative", 192, 128, 5, cluster=c) for c in ((2, 1), (1, 2))],
        _promoted("e4m3", "cooperative", 128, 192, 5, cluster=(1, 2)),
        *[
            _decode("warp_specialized", 64, 16, 5, build=_bf16, layouts=("tt", "nn", "nt"), store="direct", cluster_k=k)
            for k in (2, 4)
        ],
        *[
            tile
            for pair in ("e4m3", "s8", "tf32")
            for tile in (
                *[_narrow(pair, "cooperative", 256, 128, 4, cluster=c) for c in ((1, 1), (1, 2))],
                *[_narrow(pair, "pingpong", 128, 128, 6, cluster=c) for c in ((1, 1), (1, 2), (1, 4))],
                *[_narrow(pair, "pingpong", 128, n, s, cluster=(2, 1)) for n, s in ((160, 5), (176, 4))],
                *[_narrow(pair, "pingpong", 192, 128, 4, cluster=c) for c in ((1, 1), (1, 2))],
                _narrow(pair, "pingpong", 64, 256, 5),
                _narrow(pair, "cooperative", 128, 224, 4),
                _narrow(pair, "warp_specialized", 128, 256, 4),
            )
        ],
    ]
)

MANIFESTS = {"default": DEFAULT, "ablation": ABLATION, "candidates": CANDIDATES}


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
