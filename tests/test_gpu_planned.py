"""Repeated and planned products on a Hopper GPU: launched from C++, on the current stream, into fresh or given memory."""

from __future__ import annotations

import threading

import pytest
import torch

import hopper_gemm
from hopper_gemm import errors, known

pytestmark = pytest.mark.gpu
BF16 = torch.bfloat16


def operands(m: int = 192, n: int = 256, k: int = 320) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    a = torch.randint(-2, 3, (m, k), device="cuda").to(BF16)
    b = torch.randint(-2, 3, (n, k), device="cuda").to(BF16).t()
    return a, b, (a.double() @ b.double()).to(BF16)


def ways():
    yield "matmul", lambda a, b: hopper_gemm.matmul
    yield "plan", lambda a, b: hopper_gemm.plan(a, b)


@pytest.fixture(params=[way for _, way in ways()], ids=[name for name, _ in ways()])
def product(request):
    """matmul, or a plan of it, as f(a, b, out=None)."""

    def made(a, b):
        found = request.param(a, b)
        return found if found is not hopper_gemm.matmul else lambda a, b, out=None: hopper_gemm.matmul(a, b, out=out)

    return made


@pytest.mark.parametrize("shape", [(192, 256, 320), (1, 4096, 512), (64, 72, 8192), (1000, 1000, 1000)])
def test_repeated_calls_are_right(product, shape):
    a, b, expected = operands(*shape)
    f = product(a, b)
    out = torch.empty_like(expected)
    for _ in range(3):
        y = f(a, b)
        assert torch.equal(y, expected) and y.is_contiguous() and y.data_ptr() != out.data_ptr()
        version = out._version
        assert f(a, b, out.zero_()) is out and torch.equal(out, expected) and out._version > version + 1
    a2, b2, other = operands(*shape)
    assert torch.equal(f(a2, b2), other)


def test_calls_follow_the_current_stream(product):
    a, b, expected = operands(2048, 2048, 2048)
    f = product(a, b)
    f(a, b)
    stream = torch.cuda.Stream()
    slow = torch.empty(1 << 28, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(20):
            slow.fill_(1)
        late = a.mul(2)
        y = f(late, b)
        z = y.clone()
    stream.synchronize()
    assert torch.equal(z, (2 * expected.double()).to(BF16))


def test_calls_are_captured(product):
    a, b, expected = operands()
    f = product(a, b)
    f(a, b)
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(expected)
    with torch.cuda.graph(graph):
        y = f(a, b)
        f(a, b, out)
    for _ in range(2):
        y.zero_(), out.zero_()
        graph.replay()
        assert torch.equal(y, expected) and torch.equal(out, expected)


def test_modes_around_a_call(product):
    a, b, expected = operands()
    f = product(a, b)
    f(a, b)
    with torch.inference_mode():
        y = f(a, b)
        assert y.is_inference() and torch.equal(y, expected)
    assert not f(a, b).is_inference() and f(a, b).grad_fn is None
    assert f(a.clone().requires_grad_(), b).grad_fn is not None
    square = torch.ones(2, 64, 64, device="cuda").to(BF16)
    g = product(*square)
    g(*square, torch.empty_like(square[0]))
    with pytest.raises(errors.OverlapError):
        g(*square, square[0])


def test_many_threads_share_a_product(product):
    a, b, expected = operands()
    f = product(a, b)
    wrong: list[int] = []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(200):
                y = f(a, b)
                if i % 20 == 0 and not torch.equal(y, expected):
                    wrong.append(i)
            torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_results_outlive_the_next_calls(product):
    a, b, expected = operands()
    f = product(a, b)
    kept = [f(a, b) for _ in range(50)]
    assert len({y.data_ptr() for y in kept}) == 50 and all(torch.equal(y, expected) for y in kept)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_another_device_than_the_current_one(product):
    a, b, expected = (x.to("cuda:1") for x in operands())
    f = product(a, b)
    for _ in range(2):
        y = f(a, b)
        assert y.device == a.device and torch.equal(y, expected) and torch.cuda.current_device() == 0


# --- with options, and recorded for a backward


def layer(shape: tuple[int, int, int]) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
    """The tensors of a product with every option, all of which require grad, and the rest of its options."""
    (m, n, k), normal = shape, lambda *size: torch.randn(size, device="cuda")
    tensors = {
        "a": normal(m, k).to(BF16), "b": normal(n, k).to(BF16).t(), "bias": normal(n).to(BF16), "c": normal(n, m).half().t(),
        "residual": normal(m, 1),
    }  # fmt: skip
    return {name: t.requires_grad_() for name, t in tensors.items()}, {"alpha": 0.5, "beta": -2.0, "activation": "gelu"}


@pytest.mark.parametrize("shape", [(192, 256, 320), (1, 4096, 512), (64, 72, 8192), (1000, 1000, 1000)])
def test_repeated_layers_have_the_bits_of_the_first_call_and_its_gradients(shape):
    for _ in range(3):
        tensors, options = layer(shape)
        results = []
        for first in (True, False, False):
            if first:
                known.forget()
            with torch.no_grad():
                alone = hopper_gemm.matmul(**tensors, **options)
            y = hopper_gemm.matmul(**tensors, **options)
            results.append([alone, y.detach(), *torch.autograd.grad(y, tuple(tensors.values()), torch.ones_like(y))])
        for repeated in results[1:]:
            assert all(torch.equal(x, y) for x, y in zip(results[0], repeated))
        assert torch.equal(results[0][0], results[0][1])


def test_recorded_layers_on_a_stream_and_in_a_graph():
    layers = [hopper_gemm.nn.Linear(256, 256, activation="relu", device="cuda", dtype=BF16) for _ in range(3)]
    model, x = torch.nn.Sequential(*layers), torch.randn(64, 256, device="cuda").to(BF16)

    def step() -> list[torch.Tensor]:
        y = model(x)
        return [y, *torch.autograd.grad(y.float().square().sum(), tuple(model.parameters()))]

    want = [t.detach().clone() for t in step()]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            assert all(torch.equal(x, y) for x, y in zip(step(), want))
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(2):
        graph.replay()
        assert all(torch.equal(x, y) for x, y in zip(captured, want))
