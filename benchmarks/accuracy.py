"""Errors of this library and of torch doing the same arithmetic, against float64, over types and K.

    python benchmarks/accuracy.py [--types bf16,fp8] [--ks 64,1024] [--size 512] [--seconds 120] [--json FILE]

A row's errors are the root mean square and the largest of y - ref, relative to the root mean square of ref, on random
normal data; `ok` says whether ours are within the limits beside torch's. `parts`: into how many chains our kernel cuts a sum;
the error of a long sum grows with its chains, and torch cuts them by rules of its own. `adversarial` are sums that cancel, as
a part of the bound of tests/support/error_model.py: at most 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import hopper_gemm
from hopper_gemm.bench.arithmetic import ARITHMETIC, Arithmetic
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.reference import Reference

RESULT = Path(__file__).with_name("results") / "accuracy.json"
KS = (64, 256, 1024, 4096, 16384, 65536)
MAX_LIMIT = 2.0
# What is compared: the arithmetic and the type of the result.
COMPARED = [
    ("bf16", torch.bfloat16), ("bf16", torch.float32), ("fp16", torch.float16), ("fp16", torch.float32),
    ("tf32", torch.float32), ("fp32", torch.float32), ("fp8", torch.bfloat16), ("fp8", torch.float32),
    ("fp8_fast", torch.bfloat16), ("fp8_fast", torch.float32), ("int8", torch.int32),
]  # fmt: skip


def rms_limit(output: torch.dtype, k: int) -> float:
    """How many times torch's RMS error ours may be."""
    return 2.0 if output == torch.float32 and k > 8192 else 1.10


def normal(kind: Arithmetic, m: int, n: int, k: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """A (M, K) and B (K, N), both K-major: the one layout torch has for every type."""
    return kind.normal((m, k), generator), kind.normal((n, k), generator).t()


def cancelling(kind: Arithmetic, m: int, n: int, k: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Products 2^12 times the result: the second half of K takes back the first, but for its last eighth."""
    a, b = (x.float() for x in normal(kind, m, n, k, generator))
    half, rest = k // 2, k // 16
    a[:, half:], b[half:] = a[:, :half], -b[:half]
    a[:, -rest:] *= 2.0**-6
    return a.to(kind.input), b.t().contiguous().to(kind.input).t()


def spread(kind: Arithmetic, m: int, n: int, k: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Magnitudes over 2^14, in no order: small products beside large ones."""
    a, b = (x.float() for x in normal(kind, m, n, k, generator))
    exponents = torch.randint(-7, 1, (k,), generator=generator, device=generator.device)
    a, b = a * 2.0**exponents, b * 2.0 ** exponents[:, None]
    return a.to(kind.input), b.t().contiguous().to(kind.input).t()


def keywords(name: str) -> dict[str, Any]:
    """What tells the reference the same arithmetic."""
    return ARITHMETIC[name].options


def adversarial(name: str, output: torch.dtype, m: int, n: int, k: int, generator: torch.Generator) -> float:
    """Our largest error on cancelling and spread data, as a part of the bound."""
    kind, worst = ARITHMETIC[name], 0.0
    for make in (cancelling, spread):
        a, b = make(kind, m, n, k, generator)
        reference = Reference(a, b, **keywords(name))
        worst = max(worst, reference.worst(hopper_gemm.matmul(a, b, out_dtype=output, **kind.options)))
    return worst


def row(name: str, output: torch.dtype, size: int, k: int, generator: torch.Generator) -> dict[str, Any]:
    """One comparison."""
    kind = ARITHMETIC[name]
    a, b = normal(kind, size, size, k, generator)
    exact = Reference(a, b, **keywords(name)).exact if kind.input != torch.float32 else a.double() @ b.double()
    scale = float(exact.square().mean().sqrt())

    def errors_of(y: torch.Tensor) -> tuple[float, float]:
        difference = y.double() - exact
        return float(difference.square().mean().sqrt()) / scale, float(difference.abs().max()) / scale

    theirs = torch.empty(size, size, dtype=output, device=generator.device)
    kind.torch_product(a, b, theirs)
    our_rms, our_max = errors_of(hopper_gemm.matmul(a, b, out_dtype=output, **kind.options))
    torch_rms, torch_max = errors_of(theirs)
    result = {
        "type": name, "output": str(output).removeprefix("torch."), "m": size, "n": size, "k": k,
        "parts": parts(a, b, output, kind.options), "rms": our_rms, "torch_rms": torch_rms, "max": our_max, "torch_max": torch_max,
        "rms_ratio": ratio(our_rms, torch_rms), "max_ratio": ratio(our_max, torch_max), "rms_limit": rms_limit(output, k),
    }  # fmt: skip
    within = result["rms_ratio"] <= result["rms_limit"] and result["max_ratio"] <= MAX_LIMIT
    if name != "int8":
        result["adversarial"] = round(adversarial(name, output, size, size, k, generator), 4)
        within = within and result["adversarial"] <= 1
    return result | {"ok": within}


def ratio(ours: float, theirs: float) -> float:
    if ours == 0:
        return 0.0
    return round(ours / theirs, 4) if theirs else float("inf")


def parts(a: torch.Tensor, b: torch.Tensor, output: torch.dtype, options: dict[str, Any]) -> int:
    """Chains of one of our sums."""
    return hopper_gemm.explain(a, b, out_dtype=output, **options).plan.chosen.parts


def rows(
    types: list[str] | None, ks: list[int], size: int, seconds: float, device: str, note: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    begin = time.monotonic()
    for name, output in COMPARED:
        for k in ks if types is None or name in types else []:
            if time.monotonic() - begin > seconds:
                note(f"time is up: {name} -> {output} from K = {k} on is left out")
                return
            generator = torch.Generator(device).manual_seed(k)
            try:
                yield row(name, output, size, k, generator)
            except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
                first_line = str(error).split("\n")[0][:300]
                note(f"{name} -> {output}, K = {k}: {type(error).__name__}: {first_line}")


def same_accumulation() -> None:
    """torch's 16-bit products summed in fp32, as ours are."""
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--types", help=f"of {', '.join(dict.fromkeys(name for name, _ in COMPARED))}")
    parser.add_argument("--ks", default=",".join(map(str, KS)))
    parser.add_argument("--size", type=int, default=512, help="M and N")
    parser.add_argument("--seconds", type=float, default=120, help="start no row after this long")
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    same_accumulation()
    result: dict[str, Any] = {**environment("accuracy"), "notes": [], "rows": []}

    def note(text: str) -> None:
        result["notes"].append(text)
        print(f"  {text}", flush=True)

    types = options.types.split(",") if options.types else None
    for one in rows(types, [int(k) for k in options.ks.split(",")], options.size, options.seconds, "cuda", note):
        result["rows"].append(one)
        print(
            f"{one['type']:>8} -> {one['output']:8} K = {one['k']:5} in {one['parts']}  rms {one['rms']:.3e} ({one['rms_ratio']:.3f} x torch)  "
            f"max {one['max']:.3e} ({one['max_ratio']:.3f} x)  bound {one.get('adversarial', 0):.3f}  "
            f"{'ok' if one['ok'] else 'ABOVE THE LIMIT'}",
            flush=True,
        )
        write_json(options.json, result)
    write_json(options.json, result)
    above = [r for r in result["rows"] if not r["ok"]]
    print(f"{len(result['rows'])} rows, {len(above)} above a limit; written to {options.json}")
    return 1 if above or result["notes"] or not result["rows"] else 0


if __name__ == "__main__":
    sys.exit(main())
