"""Cases of the kind cuda-graph: captured launches replay with new data, and hold on to nothing that may move."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, ones, schedules
from support.processes import python

from hopper_gemm import matmul

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("schedule", schedules())
def test_c115_capture_once_replay_with_new_data(schedule):
    a, b = ones(256, 512, device="cuda"), ones(512, 128, device="cuda")
    out = torch.zeros(256, 128, device="cuda", dtype=BF16)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        matmul(a, b, out=out, schedule=schedule)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        matmul(a, b, out=out, schedule=schedule)
        y = matmul(a, b, schedule=schedule)
    for value in (1, 2, 3):
        a.fill_(value)
        out.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        assert bool((out == 512 * value).all()) and bool((y == 512 * value).all())


def test_c116_the_first_call_of_a_process_is_captured():
    python(
        """
        a, b = ones(256, 512), ones(512, 128)
        wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = matmul(a, b)
        graph.replay()
        wait()
        assert bool((y == 512).all())
        z = matmul(a, b)
        assert bool((z == 512).all())
        """,
        "cuda",
    )


def test_c116_a_training_step_is_captured():
    """torch.cuda.make_graphed_callables captures a backward too."""
    from hopper_gemm.nn import Linear

    layer = Linear(512, 256, bias=False, device="cuda", dtype=BF16)
    x = torch.randn(64, 512, device="cuda").to(BF16).requires_grad_()
    want = torch.autograd.grad(layer(x).float().square().sum(), (x, layer.weight))
    graphed = torch.cuda.make_graphed_callables(layer, (torch.randn_like(x).requires_grad_(),))
    for _ in range(2):
        got = torch.autograd.grad(graphed(x).float().square().sum(), (x, layer.weight))
        assert all(torch.equal(p, q) for p, q in zip(got, want))


@pytest.mark.parametrize("schedule", schedules())
def test_c118_a_bigger_eager_call_between_capture_and_replay(schedule):
    k = 8192
    a, b = ones(64, k, device="cuda"), ones(k, 64, device="cuda")
    matmul(a, b, schedule=schedule)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = matmul(a, b, schedule=schedule)
    matmul(ones(2048, 2 * k, device="cuda"), ones(2 * k, 2048, device="cuda"), schedule=schedule)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    poison = torch.full((1 << 26,), float("nan"), device="cuda")
    y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert bool((y == k).all()) and bool(torch.isnan(poison).all())
