"""One kernel of the manifest as a value: its fields, what is derived from them, its name.

Standard library only and loadable without the package, as manifest.py. A row mirrors `KernelConfig`
(include/hopper_gemm/core/config.h); whether it is valid is decided there, when it is compiled.
"""

from dataclasses import dataclass, fields

SCHEDULES = ("multistage", "tma", "warp_specialized", "cooperative", "pingpong")
LAYOUTS = ("tn", "tt", "nn", "nt")
SWIZZLE_SPANS = (128, 64, 32, 16)  # bytes
ELEMENT_BYTES = {"bf16": 2, "f16": 2, "f32": 4, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "s32": 4}
PROMOTION_BYTES = 128  # of K after which a sum is promoted: where torch's fp8 products do it, and one swizzle span


@dataclass(frozen=True)
class Row:
    """One kernel. Majors are "k" or "mn", swizzles are spans in bytes (16: none)."""

    schedule: str
    a_type: str
    b_type: str
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
    promote_k: int  # fp8 and tf32: elements of K after which a sum moves to an fp32 one, 0: never
    fused_epilogue: bool  # takes the options of an epilogue; False for the ablation that measures their branch
    automatic: bool  # may be chosen by the selector

    @property
    def input(self):
        return pair_name(self.a_type, self.b_type)


def pair_name(a_type, b_type):
    """One word for the types of A and B: "bf16", or "e4m3_e5m2" if they differ."""
    return a_type if a_type == b_type else f"{a_type}_{b_type}"


def pair_types(pair):
    """The types of A and B that a pair's name stands for."""
    a_type, _, b_type = pair.partition("_")
    return a_type, b_type or a_type


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


def default_accumulator(a_type):
    return "s32" if a_type in ("s8", "u8") else "f32"


def promotion_k(a_type):
    """Elements of K after which a promoting kernel's sums move to fp32 ones: 128 of fp8, 32 of tf32."""
    return PROMOTION_BYTES // ELEMENT_BYTES[a_type]


def default_tile_k(a_type):
    """128 bytes, the largest swizzle span."""
    return 128 // ELEMENT_BYTES[a_type]


def default_swizzle(contiguous_elements, element_bytes=2):
    """The largest span that divides the operand's contiguous tile extent."""
    return next(span for span in SWIZZLE_SPANS if contiguous_elements * element_bytes % span == 0)


def majors(layout):
    """BLAS letters to majors. A: t is K-major (row-major), n MN-major. B: n is K-major (stored (N, K)), t MN-major."""
    return ("k" if layout[0] == "t" else "mn"), ("k" if layout[1] == "n" else "mn")


def layout(row):
    return ("t" if row.a_major == "k" else "n") + ("n" if row.b_major == "k" else "t")


def _default_swizzles(a_major, b_major, tile_m, tile_n, tile_k, element_bytes):
    return (
        default_swizzle(tile_k if a_major == "k" else tile_m, element_bytes),
        default_swizzle(tile_k if b_major == "k" else tile_n, element_bytes),
    )


def name(row):
    """Says everything about a row: suffixes only for what differs from the derived defaults."""
    text = (
        f"{row.a_type}_{row.b_type}_{row.accumulator}_{layout(row)}_{row.tile_m}x{row.tile_n}x{row.tile_k}"
        f"_c{row.cluster_m}x{row.cluster_n}_s{row.stages}_{row.schedule}_{row.store}"
    )
    if row.consumers != default_consumers(row.schedule, row.accumulator, row.tile_m, row.tile_n):
        text += f"_w{row.consumers}"
    swizzles = (row.a_swizzle, row.b_swizzle)
    tile = (row.tile_m, row.tile_n, row.tile_k)
    if swizzles != _default_swizzles(row.a_major, row.b_major, *tile, ELEMENT_BYTES[row.a_type]):
        text += f"_sw{row.a_swizzle}x{row.b_swizzle}"
    if row.promote_k:
        text += f"_p{row.promote_k}"
    if row.mmas_in_flight != (0 if row.promote_k else 1):
        text += f"_mma{row.mmas_in_flight}"
    if row.cluster_k != 1:
        text += f"_k{row.cluster_k}"
    if row.output != "row_major":
        text += "_column"
    if not row.fused_epilogue:
        text += "_unfused"
    return text


def kernel(
    schedule,
    tile_m,
    tile_n,
    stages,
    *,
    tile_k=None,
    cluster=(1, 1),
    store=None,
    consumers=None,
    swizzles=None,
    mmas_in_flight=None,
    inputs=("bf16", "f16"),
    accumulator=None,
    layouts=LAYOUTS,
    output="row_major",
    cluster_k=1,
    promote_k=0,
    fused_epilogue=True,
    automatic=True,
):
    """One manifest line: a tile in every given type (or pair of types, "e4m3_e5m2") and layout."""
    rows = []
    for pair in inputs:
        a_type, b_type = pair_types(pair)
        bytes_, k = ELEMENT_BYTES[a_type], tile_k or default_tile_k(a_type)
        sums = accumulator or default_accumulator(a_type)
        if mmas_in_flight is None:
            in_flight = 0 if promote_k else 1
        else:
            in_flight = mmas_in_flight
        staged = store or ("direct" if schedule == "multistage" or sums == "s32" else "tma")
        for letters in layouts:
            a_major, b_major = majors(letters)
            a_swizzle, b_swizzle = swizzles or _default_swizzles(a_major, b_major, tile_m, tile_n, k, bytes_)
            rows.append(
                Row(
                    schedule=schedule,
                    a_type=a_type,
                    b_type=b_type,
                    accumulator=sums,
                    a_major=a_major,
                    b_major=b_major,
                    tile_m=tile_m,
                    tile_n=tile_n,
                    tile_k=k,
                    cluster_m=cluster[0],
                    cluster_n=cluster[1],
                    stages=stages,
                    consumers=consumers or default_consumers(schedule, sums, tile_m, tile_n),
                    a_swizzle=a_swizzle,
                    b_swizzle=b_swizzle,
                    store=staged,
                    mmas_in_flight=in_flight,
                    cluster_k=cluster_k,
                    output=output,
                    promote_k=promote_k,
                    fused_epilogue=fused_epilogue,
                    automatic=automatic,
                )
            )
    return rows


def as_dict(row):
    return {field.name: getattr(row, field.name) for field in fields(row)}
