"""On a Hopper GPU: products whose weights are loaded under the tail of the kernel before, which writes their other operand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import hopper_gemm
from hopper_gemm import Schedule, matmul
from hopper_gemm.registry import all_kernels

pytestmark = pytest.mark.gpu
BF16 = torch.bfloat16
REPEATS = 200
# One of every schedule that loads ahead, cluster, split and order of the output.
KERNELS = {
    (k.schedule, k.cluster, k.cluster_k, k.output): k
    for k in reversed(all_kernels())
    if k.compiled and k.input == "bf16" and k.layout == "tn" and k.accumulator == "f32" and k.schedule != Schedule.MULTISTAGE
}.values()


def normal(*shape: int, seed: int, scale: float = 1.0) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cuda").mul_(scale).to(BF16)


def replayed(x: torch.Tensor, run: Callable[[], torch.Tensor], inputs: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    """Replays a captured `run` on one input after the other: what the replay before has left behind is never the right value."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
    wrong = torch.zeros((), device="cuda", dtype=torch.int64)
    for i in range(REPEATS):
        x.copy_(inputs[i % len(inputs)])
        graph.replay()
        wrong += (out != expected[i % len(expected)]).any()
    assert wrong.item() == 0


def eager(x: torch.Tensor, run: Callable[[], torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    results = []
    for value in inputs:
        x.copy_(value)
        results.append(run().clone())
    return results


class Layers:
    """Square products, each on what the one before has written."""

    def __init__(self, m: int, n: int, count: int, **options: object) -> None:
        self.weights = [normal(n, n, seed=i, scale=n**-0.5) for i in range(count)]
        self.inputs = [normal(m, n, seed=100 + i) for i in range(3)]
        self.buffers = [torch.empty(m, n, device="cuda", dtype=BF16) for _ in range(count + 1)]
        self.options = options

    def run(self, static: bool) -> torch.Tensor:
        for a, weight, out in zip(self.buffers, self.weights, self.buffers[1:]):
            matmul(a, weight.t(), out=out, static_b=static, deterministic=True, **self.options)
        return self.buffers[-1]

    def check(self) -> None:
        x = self.buffers[0]
        expected = eager(x, lambda: self.run(False), self.inputs)
        assert not torch.equal(expected[0], expected[1]) and bool(expected[0].isfinite().all())
        results = eager(x, lambda: self.run(True), self.inputs)
        assert all(torch.equal(y, right) for y, right in zip(results, expected))
        replayed(x, lambda: self.run(True), self.inputs, expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("m", [16, 520])
def test_a_chain_gives_the_bits_of_the_plain_one(kernel, m, record):
    Layers(m, 1032, 6, config=kernel.name).check()
    record.add("static operand", kernel.name, REPEATS)


@pytest.mark.parametrize("m, n", [(16, 4096), (1, 4096), (128, 2048), (1024, 1024)])
def test_chains_of_the_selectors_kernels(m, n, record):
    x = torch.empty(m, n, device="cuda", dtype=BF16)
    w = torch.empty(n, n, device="cuda", dtype=BF16)
    static = hopper_gemm.explain(x, w.t(), static_b=True, deterministic=True).kernel  # another one than without the promise
    Layers(m, n, 8, config=static).check()
    record.add("static operand", f"{m}x{n}x{n}", REPEATS)


def test_slices_of_k():
    x = torch.empty(64, 7168, device="cuda", dtype=BF16)
    inputs = [normal(64, 7168, seed=i) for i in range(3)]
    first, second = (normal(7168, 7168, seed=10 + i, scale=7168**-0.5) for i in range(2))
    config = next(k.name for k in KERNELS if k.schedule == Schedule.PINGPONG)

    def run(static: bool) -> torch.Tensor:
        y = matmul(x, first.t(), config=config, static_b=static)
        return matmul(y, second.t(), config=config, static_b=static)

    replayed(x, lambda: run(True), inputs, eager(x, lambda: run(False), inputs))


@pytest.mark.parametrize("schedule", [Schedule.TMA, Schedule.WARP_SPECIALIZED, Schedule.COOPERATIVE, Schedule.PINGPONG])
def test_weights_written_by_the_kernel_before_the_last(schedule):
    """The promise asks no more than this: another product, which may rely on it too, lies between what writes the weights and
    the one that relies on it."""
    x, weight = (torch.empty(2048, 2048, device="cuda", dtype=BF16) for _ in range(2))
    inputs = [normal(2048, 2048, seed=i) for i in range(3)]
    fixed = normal(2048, 2048, seed=9, scale=1 / 64)
    small = normal(64, 2048, seed=10)
    config = next(k.name for k in KERNELS if k.schedule == schedule and k.output == "row_major")

    def run(static: bool) -> torch.Tensor:
        matmul(x, fixed.t(), out=weight, config=config)
        y = matmul(small, fixed.t(), config=config, static_b=static)
        return matmul(y, weight.t(), config=config, static_b=static)

    replayed(x, lambda: run(True), inputs, eager(x, lambda: run(False), inputs))


def test_packed_weights_are_waited_for():
    """Weights of two products take turns in one workspace, which the packing kernel fills just before each product."""
    x = torch.empty(64, 512, device="cuda", dtype=BF16)
    inputs = [normal(64, 512, seed=i) for i in range(3)]
    weights = [normal(512, 520, seed=20 + i, scale=512**-0.5)[:, 1:513] for i in range(6)]

    def run(static: bool) -> torch.Tensor:
        y = x
        for weight in weights:
            y = matmul(y, weight.t(), static_b=static)
        return y

    replayed(x, lambda: run(True), inputs, eager(x, lambda: run(False), inputs))


def test_addends_scales_and_the_layer():
    x = torch.empty(32, 1024, device="cuda", dtype=BF16)
    inputs = [normal(32, 1024, seed=i) for i in range(3)]
    layers = [hopper_gemm.nn.Linear(1024, 1024, activation="silu", device="cuda", dtype=BF16).requires_grad_(False) for _ in range(4)]
    plans = {static: hopper_gemm.plan(x, layers[0].weight.t(), static_b=static) for static in (False, True)}

    def run(static: bool) -> torch.Tensor:
        y = plans[static](x, layers[0].weight.t())
        for layer in layers:
            layer.static_weight = static
            y = matmul(layer(y), layer.weight.t(), residual=y, bias=layer.bias, static_b=static)
        return y

    replayed(x, lambda: run(True), inputs, eager(x, lambda: run(False), inputs))
