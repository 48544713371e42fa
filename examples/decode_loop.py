"""Generates text token by token, as a server does: one CUDA graph for a token of every sequence, replayed.

    python examples/decode_loop.py                  # on a Hopper GPU: 16 layers, width 2048, 256 tokens
    python examples/decode_loop.py --emulator       # a tiny model on the emulator, without a graph

The weights are random: what is shown is that graphs, static caches and launches go together, whether a replay gives the
tokens of eager steps, and what a token costs with torch's linear layers and with this library's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from pathlib import Path

import torch
from transformer import Cache, Sizes, Transformer

import hopper_gemm


class Decoder:
    """Greedy decoding of `batch` sequences; everything a step reads and writes stays where it is."""

    def __init__(self, kind: str, sizes: Sizes, batch: int, device: str) -> None:
        torch.manual_seed(0)
        self.model = Transformer(sizes, kind, device=device, dtype=torch.bfloat16).eval()
        self.token = torch.zeros(batch, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.caches = [Cache(batch, sizes, self.position, torch.bfloat16) for _ in range(sizes.layers)]
        self.graph: torch.cuda.CUDAGraph | None = None

    def restart(self) -> None:
        self.token.copy_(torch.arange(len(self.token)) % 256)
        self.position.zero_()

    def compute(self) -> None:
        logits = self.model.next(self.token, self.position, self.caches)
        self.token.copy_(logits.float().argmax(-1))
        self.position.add_(1)

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.compute()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.compute()

    def generate(self, count: int, *, eagerly: bool = False) -> torch.Tensor:
        """(batch, count) tokens, from the start."""
        self.restart()
        tokens = []
        for _ in range(count):
            self.compute() if eagerly or self.graph is None else self.graph.replay()
            tokens.append(self.token.clone())
        return torch.stack(tokens, 1)


def us_per_token(decoders: dict[str, Decoder], tokens: int, rounds: int = 7) -> dict[str, float]:
    """Median time of a replay of each decoder, in rounds in turn."""
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for _ in range(rounds):
        for name, decoder in decoders.items():
            decoder.restart()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(tokens):
                decoder.graph.replay()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - begin) * 1e6 / tokens)
    return {name: sorted(values)[rounds // 2] for name, values in times.items()}


@torch.inference_mode()
def decode(options: argparse.Namespace, sizes: Sizes, device: str) -> dict:
    decoders = {kind: Decoder(kind, sizes, options.batch, device) for kind in ("torch", "hopper_gemm")}
    texts = {}
    for name, decoder in decoders.items():
        if device == "cuda":
            decoder.capture()
        texts[name] = decoder.generate(options.tokens)
    replays = {
        name: torch.equal(texts[name], decoder.generate(options.tokens, eagerly=True)) for name, decoder in decoders.items()
    }
    alike = (texts["torch"] == texts["hopper_gemm"]).all(0).int().cumprod(0).sum()
    result = {
        "example": "decode_loop",
        "device": torch.cuda.get_device_name() if device == "cuda" else "emulator",
        "torch": torch.__version__,
        "sizes": vars(sizes) | {"batch": options.batch, "tokens": options.tokens},
        "replay_equals_eager": replays,  # of both: attention is torch's in either
        "tokens_like_torch": int(alike),  # until rounding first tips an argmax
    }
    print("a replayed graph gives the tokens of eager steps: " + ", ".join(f"{name} {same}" for name, same in replays.items()))
    print(f"the first {int(alike)} of {options.tokens} tokens are those of torch's layers")
    if device == "cuda":
        times = us_per_token(decoders, options.tokens)
        result["us_per_token"] = {name: round(value, 1) for name, value in times.items()}
        result["speedup"] = round(times["torch"] / times["hopper_gemm"], 3)
        print(f"us per token: torch {times['torch']:.1f}, hopper_gemm {times['hopper_gemm']:.1f}, {result['speedup']:.3f} x")
    return result


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", action="store_true", help="a tiny model on the emulator instead of a GPU")
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--json", type=Path, help="where to write the result (default: $OUT/decode_loop.json)")
    options = parser.parse_args(arguments)
    options.tokens = options.tokens or (4 if options.emulator else 256)
    sizes = Sizes(1, 32, 2, 16) if options.emulator else Sizes(layers=16, width=2048, heads=16, context=1024)
    with hopper_gemm.emulator() if options.emulator else contextlib.nullcontext():
        result = decode(options, sizes, "cpu" if options.emulator else "cuda")
    path = options.json or ("OUT" in os.environ and Path(os.environ["OUT"]) / "decode_loop.json")
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n")
    return result


if __name__ == "__main__":
    main()
