"""What the options of the epilogue cost: a plain product, and the same with a bias, an activation, a residual, c or scales.

    python benchmarks/epilogue.py [--only bias,residual] [--config KERNEL] [--rounds 12] [--json FILE]

`ratio` is torch's time over ours for the same result: as torch's users write it (`torch_us`), and by its private fused
function where there is one (`fused_us`). `extra_us` is our time beyond that of our plain product by the same kernel, in the
same rounds. Interleaved rounds in CUDA graphs that write preallocated outputs (hopper_gemm/bench/measure.py).
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import hopper_gemm
from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json

RESULT = Path(__file__).with_name("results") / "epilogue.json"
SHAPES = ((8192, 2048, 512), (4096, 4096, 4096))
aten = torch.ops.aten


class Operands:
    """Factors in rotation over more than the L2, an addend as large as the output beside each, one bias, and outputs."""

    def __init__(self, m: int, n: int, k: int, dtype: torch.dtype, seed: int, device: str = "cuda") -> None:
        self.shape = (m, n, k)
        self.count = measure.input_sets(dtype.itemsize * (m * k + n * k))
        generator = torch.Generator(device).manual_seed(seed)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, device=device, dtype=torch.float32)

        self.a = [normal(m, k).to(dtype) for _ in range(self.count)]
        self.b = [normal(n, k).mul_(k**-0.5).to(dtype).t() for _ in range(self.count)]
        self.addend = [normal(m, n).bfloat16() for _ in range(min(self.count, measure.input_sets(2 * m * n)))]
        self.bias = normal(n).bfloat16()
        self.scale_a, self.scale_b = normal(m, 1).abs_(), normal(1, n).abs_()
        self.out = measure.rotated_outputs(self.count, (m, n), torch.bfloat16, device)

    def added(self, i: int) -> torch.Tensor:
        return self.addend[i % len(self.addend)]


Function = Callable[[Operands, int], object]


@dataclass(frozen=True)
class Options:
    """One set of options: keywords of ours that are tensors come from `tensors`; torch's ways to the same result."""

    torch: Function
    keywords: dict[str, Any]
    tensors: Callable[[Operands, int], dict[str, torch.Tensor]] = lambda o, i: {}
    fused: Function | None = None
    dtype: torch.dtype = torch.bfloat16

    def ours(self, o: Operands, i: int, **kernel: Any) -> object:
        if "scale_a" in self.tensors(o, i):
            return hopper_gemm.scaled_matmul(o.a[i], o.b[i], out=o.out[i], **self.tensors(o, i), **kernel)
        return hopper_gemm.matmul(o.a[i], o.b[i], out=o.out[i], **self.keywords, **self.tensors(o, i), **kernel)


def bias(o: Operands, i: int) -> dict[str, torch.Tensor]:
    return {"bias": o.bias}


def linear(o: Operands, i: int) -> torch.Tensor:
    return torch.addmm(o.bias, o.a[i], o.b[i], out=o.out[i])


def fused(gelu: bool) -> Function:
    """cuBLASLt's own epilogue; its gelu is the one with tanh."""
    return lambda o, i: aten._addmm_activation.out(o.bias, o.a[i], o.b[i], use_gelu=gelu, out=o.out[i])


def scaled(o: Operands, i: int) -> object:
    return torch._scaled_mm(o.a[i], o.b[i], o.scale_a, o.scale_b, out_dtype=torch.bfloat16, out=o.out[i])


OPTIONS = {
    "plain": Options(lambda o, i: torch.mm(o.a[i], o.b[i], out=o.out[i]), {}),
    "bias": Options(linear, {}, bias),
    "bias+relu": Options(lambda o, i: linear(o, i).relu_(), {"activation": "relu"}, bias, fused(gelu=False)),
    "bias+gelu_tanh": Options(
        lambda o, i: aten.gelu.out(linear(o, i), approximate="tanh", out=o.out[i]), {"activation": "gelu_tanh"}, bias, fused(gelu=True)
    ),
    "bias+gelu": Options(lambda o, i: aten.gelu.out(linear(o, i), out=o.out[i]), {"activation": "gelu"}, bias),
    "bias+silu": Options(lambda o, i: aten.silu.out(linear(o, i), out=o.out[i]), {"activation": "silu"}, bias),
    "bias+residual": Options(
        lambda o, i: linear(o, i).add_(o.added(i)), {}, lambda o, i: {"bias": o.bias, "residual": o.added(i)}
    ),
    "residual": Options(
        lambda o, i: torch.mm(o.a[i], o.b[i], out=o.out[i]).add_(o.added(i)), {}, lambda o, i: {"residual": o.added(i)}
    ),
    "c+beta": Options(
        lambda o, i: torch.addmm(o.added(i), o.a[i], o.b[i], beta=0.5, out=o.out[i]), {"beta": 0.5}, lambda o, i: {"c": o.added(i)}
    ),
    "scales (fp8)": Options(
        scaled, {}, lambda o, i: {"scale_a": o.scale_a, "scale_b": o.scale_b}, dtype=torch.float8_e4m3fn
    ),
}  # fmt: skip


def measure_options(
    name: str, o: Operands, config: str | None, rounds: int, seed: int, note: Callable[[str], None]
) -> dict[str, Any] | None:
    """The row of one set of options; None with a note if our side fails or is not what torch computes."""
    options = OPTIONS[name]
    m, n, k = o.shape
    title = f"{m}x{n}x{k} {name}"
    try:
        kernel = config or hopper_gemm.explain(o.a[0], o.b[0], out=o.out[0]).kernel
        named = {"config": kernel}
        options.torch(o, 0)
        expected = o.out[0].double()
        options.ours(o, 0, **named)
        difference = float((o.out[0].double() - expected).norm() / expected.norm())
    except Exception as error:  # one set that fails must not take the rest along
        note(f"{title}: {type(error).__name__}: {str(error).splitlines()[0][:300]}")
        return None
    if not difference <= 2e-2:
        note(f"{title}: our result is {difference:.1e} from torch's")
        return None
    calls: dict[str, measure.Call] = {
        "torch": lambda i: options.torch(o, i),
        "ours": lambda i: options.ours(o, i, **named),
        "plain": lambda i: hopper_gemm.matmul(o.a[i], o.b[i], out=o.out[i], **named),
    }
    if options.fused is not None:
        calls["fused"] = lambda i: options.fused and options.fused(o, i)
    candidates = measure.capture(calls, o.count, lambda side, error: note(f"{title}: {side} failed: {str(error)[:300]}"))
    if not {"ours", "plain", "torch"} <= candidates.keys():
        return None
    times = measure.time_interleaved(candidates, rounds, order=random.Random(seed))
    ours, plain = times["ours"], times["plain"]
    return {
        "options": name, "m": m, "n": n, "k": k, "kernel": kernel, "us": round(ours.us, 2), "plain_us": round(plain.us, 2),
        "extra_us": round(statistics.median(x - y for x, y in zip(ours.rounds, plain.rounds)), 2),
        "torch_us": round(times["torch"].us, 2), "ratio": round(ours.ratio_to(times["torch"]), 4),
        "fused_us": round(times["fused"].us, 2) if "fused" in times else None, "difference": difference,
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    shape = f"{row['m']}x{row['n']}x{row['k']}"
    text = f"{shape:>16} {row['options']:15} {row['us']:8.2f} us, plain {row['plain_us']:8.2f}, extra {row['extra_us']:7.2f}"
    text += f"; torch {row['torch_us']:8.2f}, ratio {row['ratio']:.3f}"
    return text + (f", fused {row['fused_us']:8.2f}" if row["fused_us"] else "") + f"  {row['kernel']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(OPTIONS), help="which options")
    parser.add_argument("--config", help="a kernel for all; left out: the one a plain product gets")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    result: dict[str, Any] = {**environment("sustained"), "notes": [], "rows": []}

    def note(text: str) -> None:
        result["notes"].append(text)
        print(f"  {text}", flush=True)

    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        names = [name for name in options.only.split(",") if OPTIONS[name].dtype == dtype]
        for shape in SHAPES if names else ():
            operands = Operands(*shape, dtype, options.seed)
            for name in names:
                if row := measure_options(name, operands, options.config, options.rounds, options.seed, note):
                    result["rows"].append(row)
                    print(line(row), flush=True)
                    write_json(options.json, result)
            del operands
            torch.cuda.empty_cache()
    write_json(options.json, result)
    print(f"{len(result['rows'])} rows; written to {options.json}")
    return 1 if result["notes"] else 0


if __name__ == "__main__":
    sys.exit(main())
