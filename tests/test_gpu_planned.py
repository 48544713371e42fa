"""Repeated and planned products on a Hopper GPU: launched from C++, on the current stream, into fresh or given memory."""

from __future__ import annotations

import threading

import pytest
import torch

import hopper_gemm
from hopper_gemm import errors

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
