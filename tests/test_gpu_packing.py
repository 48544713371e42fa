"""On a Hopper GPU: the packing kernel bit by bit, and packed products in graphs, on streams and with workspaces reused."""

from __future__ import annotations

import random

import pytest
import torch
from support.reference import Reference

from hopper_gemm import _extension, matmul, prepack

pytestmark = pytest.mark.gpu
_C = _extension.load()
DTYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def source(draw: random.Random, element_bytes: int) -> torch.Tensor:
    """A matrix of any strides, or a batch of three, in a buffer of random bytes."""
    rows, columns, batch = draw.randint(1, 700), draw.randint(1, 700), draw.choice((1, 1, 3))
    step, pad, offset = draw.randint(1, 3), draw.randint(0, 20), draw.randint(0, 17)
    row_major, zero = draw.random() < 0.5, draw.choice((None, None, None, 0, 1))
    pitch = (columns if row_major else rows) * step + pad
    strides = [pitch, step] if row_major else [step, pitch]
    if zero is not None:
        strides[zero] = 0
    distance = draw.choice((0, 7, rows * columns))
    span = offset + (batch - 1) * distance + (rows - 1) * strides[0] + (columns - 1) * strides[1] + 1
    info = torch.iinfo(DTYPES[element_bytes])
    data = torch.randint(info.min, info.max, (span,), dtype=DTYPES[element_bytes], device="cuda")
    return data.as_strided((batch, rows, columns), (distance, *strides), offset)


@pytest.mark.parametrize("element_bytes", DTYPES)
def test_any_strides_are_packed_bit_by_bit(element_bytes, record):
    draw, failures = random.Random(element_bytes), []
    for case in range(300):
        x = source(draw, element_bytes)
        x = x.mT if draw.random() < 0.5 else x
        columns, whole = x.shape[-1], 16 // element_bytes
        pitch = -(-columns // whole) * whole
        targets = [torch.full((*x.shape[:-1], pitch), 77, dtype=x.dtype, device="cuda") for _ in range(2)]
        _C.copy([(x, t[..., :columns], pitch, 0) for t in targets])
        right = all(torch.equal(t[..., :columns], x) and not t[..., columns:].any() for t in targets)
        failures += [] if right else [f"case {case}: {tuple(x.shape)} {x.stride()}"]
    record.add("packing", f"{element_bytes} bytes", 300, failures)
    assert not failures, failures[:5]


@pytest.mark.parametrize("element_bytes", DTYPES)
def test_results_are_copied_to_any_strides_and_nowhere_else(element_bytes, record):
    draw, failures = random.Random(element_bytes), []
    for case in range(150):
        x = source(draw, element_bytes)[0]
        if 0 in x.stride():
            continue
        whole = 16 // element_bytes
        result = torch.randint(0, 100, (x.shape[0], -(-x.shape[1] // whole) * whole), device="cuda").to(x.dtype)[:, : x.shape[1]]
        span = torch.full((x.storage_offset() + x.untyped_storage().nbytes() + 64,), 99, dtype=x.dtype, device="cuda")
        expected = span.clone()
        expected.as_strided(x.shape, x.stride(), x.storage_offset()).copy_(result)
        _C.copy([(result, span.as_strided(x.shape, x.stride(), x.storage_offset()), 0, 0)])
        failures += [] if torch.equal(span, expected) else [f"case {case}: {tuple(x.shape)} {x.stride()}"]
    record.add("packing", f"{element_bytes} bytes, outwards", 150, failures)
    assert not failures, failures[:5]


def operands(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = (torch.randn(shape, device="cuda").bfloat16() for shape in ((m, k + 4), (n, k + 4)))
    return a[:, 1 : k + 1], b[:, 1 : k + 1].t()


def test_packed_products_in_a_cuda_graph():
    a, b = operands(500, 300, 700)
    out = torch.empty(500, 600, device="cuda", dtype=torch.bfloat16)[:, ::2]
    matmul(a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            matmul(a, b, out=out)
    for seed in range(3):
        torch.manual_seed(seed)
        a.copy_(torch.randn(500, 700, device="cuda"))
        out.zero_()
        graph.replay()
        assert Reference(a, b).problem_with(out) == ""


def test_packed_products_on_many_streams_at_once():
    streams = [torch.cuda.Stream() for _ in range(6)]
    products = [operands(300 + i, 200, 500) for i in range(6)]
    torch.cuda.synchronize()
    results = []
    for _ in range(20):
        for (a, b), stream in zip(products, streams):
            with torch.cuda.stream(stream):
                results.append((a, b, matmul(a, b)))
    torch.cuda.synchronize()
    for a, b, y in results[-6:] + results[:6]:
        assert Reference(a, b).problem_with(y) == ""
    for i in range(6, len(results)):
        assert torch.equal(results[i][2], results[i % 6][2])


def test_workspaces_are_given_back():
    a, b = operands(2000, 2000, 2000)
    matmul(a, b)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(10):
        y = matmul(a, b)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() - before <= y.nbytes + 512


def test_prepacked_weights_on_the_gpu():
    a, b = operands(64, 333, 777)
    packed = prepack(b)
    assert torch.equal(packed, b) and prepack(packed) is packed
    assert torch.equal(matmul(a, packed), matmul(a, b))
