"""Trains a small language model twice, with torch's linear layers and with this library's: same start, same batches.

    python examples/train_transformer.py                    # on a Hopper GPU: 6 layers, width 512, 300 steps
    python examples/train_transformer.py --emulator         # a tiny one on the emulator

The text is this project's documentation. Weights and optimizer are float32, products run in bf16 under autocast, and on a
GPU a whole step is one CUDA graph for both, so that what is timed is the GPU. A third run, torch with other batches, says
how far two curves lie apart that differ by chance alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from transformer import Sizes, Transformer

import hopper_gemm

ROOT = Path(__file__).resolve().parents[1]
RUNS = (("torch", 0), ("hopper_gemm", 0), ("torch", 1))  # kind of the linear layers, seed of the batches


def text_of(paths: list[Path]) -> torch.Tensor:
    """All bytes of the files."""
    return torch.frombuffer(bytearray(b"\n".join(path.read_bytes() for path in paths)), dtype=torch.uint8).long()


class Training:
    """One model and its optimizer; `step` does one step on the next batch and returns its loss, on the device."""

    def __init__(self, kind: str, seed: int, text: torch.Tensor, sizes: Sizes, batch: int, device: str) -> None:
        torch.manual_seed(0)
        self.model = Transformer(sizes, kind).to(device)
        on_gpu = device == "cuda"
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.95), capturable=on_gpu)
        self.generator = torch.Generator().manual_seed(seed)
        self.text, self.sizes, self.device = text, sizes, device
        self.batch = torch.zeros(batch, sizes.context + 1, dtype=torch.long, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None

    def next_batch(self) -> None:
        length = self.sizes.context + 1
        starts = torch.randint(len(self.text) - length, (self.batch.shape[0],), generator=self.generator)
        self.batch.copy_(torch.stack([self.text[i : i + length] for i in starts.tolist()]))

    def compute(self) -> torch.Tensor:
        with torch.autocast(self.device, dtype=torch.bfloat16, cache_enabled=False):
            logits = self.model(self.batch[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), self.batch[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def capture(self) -> None:
        """Records a step as a CUDA graph. The steps that torch needs before are taken back."""
        state = {name: value.clone() for name, value in self.model.state_dict().items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.compute()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.compute()
        self.model.load_state_dict(state)
        for moments in self.optimizer.state.values():
            for value in moments.values():
                value.zero_()

    def step(self) -> torch.Tensor:
        self.next_batch()
        if self.graph is None:
            return self.compute()
        self.graph.replay()
        return self.loss.clone()


def ms_per_step(trainings: dict[str, Training], rounds: int = 10, steps: int = 10) -> dict[str, float]:
    """Median time of a step of each, in rounds in turn: whoever runs first finds the cooler card."""
    times: dict[str, list[float]] = {name: [] for name in trainings}
    for _ in range(rounds):
        for name, training in trainings.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(steps):
                training.graph.replay() if training.graph else training.compute()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - begin) * 1e3 / steps)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def train(options: argparse.Namespace, sizes: Sizes, device: str) -> dict:
    paths = options.text or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = text_of(paths)
    curves, trainings = {}, {}
    for kind, seed in RUNS:
        name = kind if seed == 0 else f"{kind}, other batches"
        training = Training(kind, seed, text, sizes, options.batch, device)
        if device == "cuda" and not options.eager:
            training.capture()
        losses = [training.step() for _ in range(options.steps)]
        curves[name] = [round(float(loss), 4) for loss in losses]
        trainings[name] = training
        print(f"{name:24} " + "  ".join(f"{loss:.3f}" for loss in curves[name][:: max(1, options.steps // 8)]))
    last = max(1, options.steps // 10)
    final = {name: sum(curve[-last:]) / last for name, curve in curves.items()}
    result = {
        "example": "train_transformer",
        "device": torch.cuda.get_device_name() if device == "cuda" else "emulator",
        "torch": torch.__version__,
        "sizes": vars(sizes) | {"batch": options.batch, "steps": options.steps, "text_bytes": len(text)},
        "final_loss": {name: round(value, 4) for name, value in final.items()},
        "difference": round(abs(final["hopper_gemm"] - final["torch"]), 4),
        "difference_by_chance": round(abs(final["torch, other batches"] - final["torch"]), 4),
        "curves": curves,
    }
    print(f"loss over the last {last} steps: " + ", ".join(f"{name} {value:.4f}" for name, value in final.items()))
    if device == "cuda":
        times = ms_per_step({name: trainings[name] for name in ("torch", "hopper_gemm")})
        result["ms_per_step"] = {name: round(value, 3) for name, value in times.items()}
        result["speedup"] = round(times["torch"] / times["hopper_gemm"], 3)
        print(f"ms per step: torch {times['torch']:.3f}, hopper_gemm {times['hopper_gemm']:.3f}, {result['speedup']:.3f} x")
    return result


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", action="store_true", help="a tiny model on the emulator instead of a GPU")
    parser.add_argument("--eager", action="store_true", help="no CUDA graph: what is timed is Python too")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--text", type=Path, nargs="+", help="files to train on")
    parser.add_argument("--json", type=Path, help="where to write the result (default: $OUT/train_transformer.json)")
    options = parser.parse_args(arguments)
    options.steps = options.steps or (3 if options.emulator else 300)
    options.batch = options.batch or (1 if options.emulator else 32)
    sizes = Sizes(layers=1, width=32, heads=2, context=16) if options.emulator else Sizes()
    with hopper_gemm.emulator() if options.emulator else contextlib.nullcontext():
        result = train(options, sizes, "cpu" if options.emulator else "cuda")
    path = options.json or ("OUT" in os.environ and Path(os.environ["OUT"]) / "train_transformer.json")
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n")
    return result


if __name__ == "__main__":
    main()
