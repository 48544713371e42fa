"""Products that depend on each other, in one CUDA graph: this library against torch.

    python benchmarks/chains.py [--rounds 24] [--kernels GLOB] [--json FILE]

A chain of 64 products of 1024^3, and the four products of a decode step (qkv, attention out, gate and up, down) for 16 tokens of
Llama-3 8B and 70B, each on what the one before has written. Weights are others in every product and layer, more than the L2
holds, and written by nothing, so the products are also measured with `static_b=True`. `of_torch` and `static_of_torch` are our
times over torch's, the medians over interleaved rounds; `limit` is what the better one may be at most. With `--kernels` every
product runs the kernel of that name that is predicted to be fastest, and the result is a file of its own.
"""

from __future__ import annotations

import argparse
import random
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
from hopper_gemm.selector import load_model

RESULT = Path(__file__).with_name("results") / "chains.json"
TOKENS = 16
Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]  # (a, b, out)


@dataclass(frozen=True)
class Chain:
    """Products of (N, K) for M rows, one after the other, `repeats` times with other weights; each reads the first K columns
    of what the one before has written."""

    name: str
    m: int
    products: tuple[tuple[int, int], ...]
    repeats: int
    limit: float

    @property
    def floor_us(self) -> float:
        """Weights, inputs and outputs once through the memory, or the arithmetic, product by product."""
        floors = load_model()["floors"]
        total = 0.0
        for n, k in self.products:
            traffic = 2 * (n * k + self.m * (n + k)) / (floors["hbm_tb_per_s"] * 1e6)
            total += max(traffic, 2 * self.m * n * k / (floors["tflops"]["sustained"] * 1e6))
        return total * self.repeats


LLAMA_8B = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))
LLAMA_70B = ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672))
CHAINS = (
    Chain("64 products of 1024^3", 1024, ((1024, 1024),), 64, 0.95),
    Chain("decode step, Llama-3 8B", TOKENS, LLAMA_8B, 4, 0.94),
    Chain("decode step, Llama-3 70B", TOKENS, LLAMA_70B, 2, 0.98),
)


class Buffers:
    """Weights of every product, stored (N, K), scaled so that values keep their size; and what the products write."""

    def __init__(self, chain: Chain, seed: int, device: str) -> None:
        generator = torch.Generator(device).manual_seed(seed)

        def normal(rows: int, columns: int, scale: float) -> torch.Tensor:
            values = torch.randn(rows, columns, generator=generator, device=device, dtype=torch.float32)
            return values.mul_(scale).bfloat16()

        steps = [step for _ in range(chain.repeats) for step in chain.products]
        self.weights = [normal(n, k, k**-0.5) for n, k in steps]
        self.start = normal(chain.m, steps[0][1], 1.0)
        self.outs = [torch.empty(chain.m, n, device=device, dtype=torch.bfloat16) for n, _ in steps]

    def run(self, product: Product) -> torch.Tensor:
        a = self.start
        for weight, out in zip(self.weights, self.outs):
            product(a[:, : weight.shape[1]], weight.t(), out)
            a = out
        return a


def torch_product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    return torch.mm(a, b, out=out)


def own_product(config: str | None = None, *, static_b: bool = False) -> Product:
    def product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
        return hopper_gemm.matmul(a, b, out=out, config=config, deterministic=True, static_b=static_b)

    return product


def measure_chain(
    chain: Chain, rounds: int, seed: int, note: Callable[[str], None], device: str = "cuda", config: str | None = None
) -> dict[str, Any] | None:
    """The row of a chain; None with a note if a side fails or the results are not the same."""
    ours = {"ours": own_product(config), "ours, static weights": own_product(config, static_b=True)}
    buffers = Buffers(chain, seed, device)

    def call_of(product: Product) -> measure.Call:
        return lambda i: buffers.run(product)

    calls = {name: call_of(product) for name, product in ({"torch": torch_product} | ours).items()}
    try:
        expected = buffers.run(torch_product).double()
        difference = max(float((buffers.run(p).double() - expected).norm() / expected.norm()) for p in ours.values())
    except Exception as error:  # one chain that fails must not take the rest along
        note(f"{chain.name}: {type(error).__name__}: {str(error).splitlines()[0][:300]}")
        return None
    # Every product rounds to bf16: errors add up along the chain as in a random walk.
    bound = 2**-8 * (1 + len(buffers.weights)) ** 0.5
    if not difference <= bound:
        note(f"{chain.name}: our result is {difference:.1e} from torch's, expected at most {bound:.1e}")
        return None
    candidates = measure.capture(calls, 1, lambda name, error: note(f"{chain.name}: {name} failed: {str(error)[:300]}"))
    if len(candidates) < len(calls):
        return None
    times = measure.time_interleaved(candidates, rounds, order=random.Random(seed))
    plain, static, theirs = times["ours"], times["ours, static weights"], times["torch"]
    of_torch, static_of_torch = round(theirs.ratio_to(plain), 4), round(theirs.ratio_to(static), 4)
    return {
        "chain": chain.name, "m": chain.m, "products": len(buffers.weights), "us": round(plain.us, 2), "static_us": round(static.us, 2),
        "torch_us": round(theirs.us, 2), "floor_us": round(chain.floor_us, 2), "of_torch": of_torch, "static_of_torch": static_of_torch,
        "limit": chain.limit, "difference": difference, "kernels": kernels_of(buffers, chain, config),
        "ok": min(of_torch, static_of_torch) <= chain.limit,
    }  # fmt: skip


def kernels_of(buffers: Buffers, chain: Chain, config: str | None) -> list[str]:
    """The kernels of one repeat."""
    a, names = buffers.start, []
    for weight, out in zip(buffers.weights[: len(chain.products)], buffers.outs):
        names.append(hopper_gemm.explain(a[:, : weight.shape[1]], weight.t(), out=out, config=config, deterministic=True).kernel)
        a = out
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", metavar="GLOB", help="run the best of these kernels by the model, of all that are built")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    path = options.json or (RESULT.with_name("chains_of_kernels.json") if options.kernels else RESULT)
    result: dict[str, Any] = {**environment("sustained"), "kernels": options.kernels, "notes": [], "rows": []}

    def note(text: str) -> None:
        result["notes"].append(text)
        print(f"  {text}", flush=True)

    for chain in CHAINS:
        row = measure_chain(chain, options.rounds, options.seed, note, config=options.kernels)
        torch.cuda.empty_cache()
        if row:
            result["rows"].append(row)
            print(
                f"{row['chain']:28} {row['us']:9.1f} us, static weights {row['static_us']:9.1f}, torch {row['torch_us']:9.1f}, "
                f"floor {row['floor_us']:9.1f}: {row['of_torch']:.3f} and {row['static_of_torch']:.3f} of torch's time "
                f"(at most {row['limit']}){'' if row['ok'] else '  ABOVE'}",
                flush=True,
            )
            write_json(path, result)
    write_json(path, result)
    print(f"written to {path}")
    return 0 if len(result["rows"]) == len(CHAINS) else 1


if __name__ == "__main__":
    sys.exit(main())
