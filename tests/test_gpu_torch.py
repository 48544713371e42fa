"""On a Hopper GPU: gradients, compiled and captured programs, layers and models beside torch's. About 20 seconds in all."""

from __future__ import annotations

import copy

import pytest
import torch
from support.operands import LAYOUTS, Shape, operands

import hopper_gemm
from hopper_gemm import matmul
from hopper_gemm.nn import Linear

pytestmark = pytest.mark.gpu
BF16 = torch.bfloat16


def close(got: torch.Tensor, want: torch.Tensor, bound: float = 2**-7) -> None:
    error, size = float((got.double() - want.double()).norm()), float(want.double().norm())
    assert error <= bound * size, f"off by {error} of {size}"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [BF16, torch.float16])
def test_gradients_of_every_layout(layout, dtype, record):
    a0, b0 = operands(Shape(520, 264, 392), layout, dtype, device="cuda")
    results = []
    for product, kind in ((matmul, dtype), (torch.mm, torch.float64)):
        a, b = a0.detach().to(kind).requires_grad_(), b0.detach().to(kind).requires_grad_()
        y = product(a, b)
        y.backward(torch.arange(264, device="cuda").to(y.dtype).expand_as(y) / 264)
        results.append((y.detach(), a.grad, b.grad))
    for got, want in zip(*results):
        close(got, want)
    record.add("autograd", f"{dtype} {layout}", 3)


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh", "silu", "sigmoid"])
def test_a_layer_and_its_gradients(activation, record):
    functions = {
        None: lambda x: x, "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "sigmoid": torch.sigmoid,
    }  # fmt: skip
    f = functions.get(activation) or getattr(torch.nn.functional, activation)
    layer = Linear(384, 640, activation=activation, device="cuda", dtype=BF16)
    x = torch.randn(4, 96, 384, device="cuda").to(BF16).requires_grad_()
    y = layer(x)
    y.float().square().sum().backward()
    w, bias, x64 = (t.detach().double().requires_grad_() for t in (layer.weight, layer.bias, x))
    want = f(torch.nn.functional.linear(x64, w, bias))
    want.square().sum().backward()
    for got, exact in ((y, want), (x.grad, x64.grad), (layer.weight.grad, w.grad), (layer.bias.grad, bias.grad)):
        close(got.detach(), exact.detach(), 2**-6)
    record.add("autograd", f"Linear {activation}", 4)


def test_opcheck(record):
    a, b = (torch.randn(*s, device="cuda").to(BF16).requires_grad_() for s in ((64, 96), (96, 128)))
    bias = torch.randn(128, device="cuda").requires_grad_()
    result = torch.library.opcheck(torch.ops.hopper_gemm.matmul.default, (a, b, bias), {"activation": "gelu"})
    assert set(result.values()) == {"SUCCESS"}, result
    record.add("torch operator", "opcheck", len(result))


def test_a_compiled_layer_with_graphs(record):
    """Inductor with its CUDA graphs: forward and backward are captured."""
    torch._dynamo.reset()
    layer = Linear(256, 512, activation="gelu", device="cuda", dtype=BF16)
    compiled = torch.compile(lambda x: layer(x).float().square().mean(), mode="reduce-overhead", fullgraph=True)
    for seed in range(4):
        x = torch.randn(64, 256, device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).to(BF16)
        layer.zero_grad()
        layer(x).float().square().mean().backward()
        want = layer.weight.grad.clone()
        layer.zero_grad()
        torch.compiler.cudagraph_mark_step_begin()
        compiled(x).backward()
        close(layer.weight.grad, want, 2**-6)
    torch._dynamo.reset()
    record.add("torch operator", "compiled with CUDA graphs", 4)


def test_autocast_training_follows_torch(record):
    """A few steps of a patched model against the model as it was: float32 weights, products in bf16."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)).cuda()
    patched = copy.deepcopy(model)
    assert len(hopper_gemm.patch(patched).replaced) == 2
    x, target = (torch.randn(512, 64, device="cuda") for _ in range(2))
    curves = []
    for each in (model, patched):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1)
        losses = []
        for _ in range(20):
            with torch.autocast("cuda", dtype=BF16):
                y = each(x)
            loss = torch.nn.functional.mse_loss(y.float(), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        curves.append(torch.stack(losses))
    assert bool((curves[0] - curves[1]).abs().max() < 1e-3 * curves[0][0]) and bool(curves[1][-1] < curves[1][0])
    record.add("torch operator", "training under autocast", 20)


def test_routed_products_of_a_model():
    model = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, device="cuda", dtype=BF16, dropout=0.0)
    x = torch.randn(2, 64, 256, device="cuda").to(BF16)
    want = model(x)
    with hopper_gemm.route() as routed:
        got = model(x)
    assert routed.taken["linear"] >= 2, str(routed)
    close(got.detach(), want.detach(), 2**-5)


def test_main_grad_in_fp32(record):
    layer = Linear(256, 128, bias=False, device="cuda", dtype=BF16)
    layer.accumulate_main_grad, layer.weight.main_grad = True, torch.full((128, 256), 4096.0, device="cuda")
    want = layer.weight.main_grad.double()
    for seed in range(4):
        x = torch.randint(-2, 3, (64, 256), device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).to(BF16)
        layer(x).sum().backward()
        want += x.double().sum(0)
    assert layer.weight.grad is None and torch.equal(layer.weight.main_grad.double(), want)
    record.add("autograd", "main_grad", 4)


def test_a_replayed_stack_of_layers_gives_the_bits_of_eager_calls():
    """Kernels of ours and of torch in turn, as in a decode step: split K, an activation, a residual, dependent launches."""
    torch.manual_seed(0)
    with torch.inference_mode():
        layers = [
            (
                torch.nn.LayerNorm(2048, device="cuda", dtype=torch.bfloat16),
                hopper_gemm.nn.Linear(2048, 8192, activation="gelu_tanh", device="cuda", dtype=torch.bfloat16),
                hopper_gemm.nn.Linear(8192, 2048, device="cuda", dtype=torch.bfloat16),
            )
            for _ in range(12)
        ]

        def step(x):
            for norm, up, down in layers:
                x = x + down(up(norm(x)))
            return x

        inputs = [torch.randn(8, 1, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(20)]
        held = inputs[0].clone()
        step(held)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = step(held)
        for x in inputs:
            held.copy_(x)
            graph.replay()
            assert torch.equal(result, step(x))
