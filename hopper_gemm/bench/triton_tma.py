"""Triton as a peer: a persistent kernel with TMA descriptors, the fastest of a few configurations for every problem."""

# No `from __future__ import annotations`: Triton reads the kernel's annotations as objects.
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]
from triton.tools.tensor_descriptor import TensorDescriptor  # type: ignore[import-not-found]

from . import measure

if TYPE_CHECKING:
    from .runner import Operands


class Config(NamedTuple):
    """Tile, ring and warps; `per_sm` programs for each SM."""

    tile_m: int
    tile_n: int
    tile_k: int
    stages: int
    warps: int
    per_sm: int = 1


CONFIGS = (
    Config(128, 256, 64, 3, 8),
    Config(256, 128, 64, 3, 8),
    Config(128, 128, 64, 4, 8),
    Config(128, 128, 64, 4, 4),
    Config(128, 128, 128, 3, 8),
    Config(64, 128, 128, 4, 4),
    Config(64, 64, 128, 3, 4, per_sm=2),
    Config(64, 32, 128, 4, 4, per_sm=2),
)
GROUP = 8


@triton.jit
def _tile(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Bands of GROUP tile rows, down each band first."""
    in_band = GROUP * tiles_n
    first = index // in_band * GROUP
    rows = min(tiles_m - first, GROUP)
    return first + index % in_band % rows, index % in_band // rows


@triton.jit(do_not_specialize=["m", "n", "k"])
def _product(
    a_desc, b_desc, out_desc, m, n, k,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr,
    A_TRANSPOSED: tl.constexpr, B_TRANSPOSED: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, TILE_M)
    tiles_n = tl.cdiv(n, TILE_N)
    k_blocks = tl.cdiv(k, TILE_K)
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        row, column = _tile(index, tiles_m, tiles_n, GROUP)
        total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
        for block in range(k_blocks):
            if A_TRANSPOSED:
                a = a_desc.load([block * TILE_K, row * TILE_M]).T
            else:
                a = a_desc.load([row * TILE_M, block * TILE_K])
            if B_TRANSPOSED:
                b = b_desc.load([column * TILE_N, block * TILE_K]).T
            else:
                b = b_desc.load([block * TILE_K, column * TILE_N])
            total = tl.dot(a, b, total)
        out_desc.store([row * TILE_M, column * TILE_N], total.to(OUT))


_OUT = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.float32: tl.float32}


def best_call(operands: "Operands") -> measure.Call:
    """The fastest configuration for these operands, by three short interleaved rounds.

    Raises:
        ValueError: a type or a layout this kernel does not take.
    """
    a, out = operands.a[0], operands.out[0]
    if a.dtype not in (torch.bfloat16, torch.float16) or out.dtype not in _OUT:
        raise ValueError(f"its kernel here takes bf16 and fp16, not {a.dtype}")
    failures: list[str] = []
    calls = dict(_calls(operands))
    candidates = measure.capture(calls, operands.count, lambda name, error: failures.append(str(error).splitlines()[0]))
    if not candidates:
        raise ValueError(f"no configuration runs: {failures[:1]}")
    times = measure.time_interleaved(candidates, 3, order=random.Random(0), shortened=0.15)
    return calls[min(times, key=lambda name: times[name].us)]


def _calls(operands: "Operands") -> Iterator[tuple[str, measure.Call]]:
    sms = torch.cuda.get_device_properties(operands.out[0].device).multi_processor_count
    m, n = operands.out[0].shape
    for config in CONFIGS:
        if config.tile_m > max(64, triton.next_power_of_2(m)) or config.tile_n > max(32, triton.next_power_of_2(n)):
            continue
        tiles = triton.cdiv(m, config.tile_m) * triton.cdiv(n, config.tile_n)
        yield str(tuple(config)), _call(operands, config, min(tiles, sms * config.per_sm))


def _call(operands: "Operands", config: Config, programs: int) -> measure.Call:
    k = operands.a[0].shape[1]
    m, n = operands.out[0].shape
    sets = [_arguments(a, b, out, config) for a, b, out in zip(operands.a, operands.b, operands.out)]

    def call(i: int) -> None:
        descriptors, options = sets[i]
        _product[(programs,)](*descriptors, m, n, k, **options)

    return call


def _arguments(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, config: Config) -> tuple[tuple[Any, ...], dict[str, Any]]:
    a_transposed, b_transposed = a.stride(1) != 1, b.stride(1) != 1
    tile_m, tile_n, tile_k = config.tile_m, config.tile_n, config.tile_k
    descriptors = (
        TensorDescriptor.from_tensor(a.t(), [tile_k, tile_m]) if a_transposed else TensorDescriptor.from_tensor(a, [tile_m, tile_k]),
        TensorDescriptor.from_tensor(b.t(), [tile_n, tile_k]) if b_transposed else TensorDescriptor.from_tensor(b, [tile_k, tile_n]),
        TensorDescriptor.from_tensor(out, [tile_m, tile_n]),
    )
    options = {
        "TILE_M": tile_m, "TILE_N": tile_n, "TILE_K": tile_k, "GROUP": GROUP, "A_TRANSPOSED": a_transposed,
        "B_TRANSPOSED": b_transposed, "OUT": _OUT[out.dtype], "num_stages": config.stages, "num_warps": config.warps,
    }  # fmt: skip
    return descriptors, options
