"""Batches are one launch: torch.matmul's rules, every schedule, batches that do not follow each other in memory."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.reference import same_bits

import hopper_gemm
from hopper_gemm import _extension, bmm, errors, matmul
from hopper_gemm.registry import all_kernels

BF16 = torch.bfloat16
SCHEDULES = [s.value for s in hopper_gemm.Schedule]
_C = _extension.load()


def ints(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(BF16)


def exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double() @ b.double()).to(BF16)


def check(a: torch.Tensor, b: torch.Tensor, seed: int = 0, sm_count: int = 3, **options) -> None:
    with hopper_gemm.emulator(seed=seed, sm_count=sm_count):
        y = matmul(a, b, **options)
    expected = exact(a, b)
    assert y.shape == expected.shape and torch.equal(y, expected), (a.shape, b.shape)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("layout", ["tn", "tt", "nn", "nt"])
def test_every_schedule_and_layout(schedule, layout):
    a = ints(3, 72, 40) if layout[0] == "t" else ints(3, 40, 72).mT
    b = ints(3, 40, 136, seed=1) if layout[1] == "t" else ints(3, 136, 40, seed=1).mT
    for seed in range(3):
        check(a, b, seed, schedule=schedule)


SHAPES = [
    ((7,), (7,)), ((7,), (7, 5)), ((5, 7), (7,)), ((3, 5, 7), (7,)), ((7,), (3, 7, 5)), ((2, 3, 5, 7), (7, 4)),
    ((5, 7), (3, 7, 4)), ((1, 5, 7), (3, 7, 4)), ((3, 5, 7), (1, 7, 4)), ((2, 1, 5, 7), (3, 7, 4)), ((2, 3, 5, 7), (1, 3, 7, 4)),
    ((2, 3, 5, 7), (2, 1, 7, 4)), ((4, 1, 8), (4, 8, 1)), ((0, 5, 7), (7, 4)), ((3, 0, 7), (3, 7, 4)), ((2, 5, 0), (2, 0, 4)),
    ((1, 1, 1), (1, 1, 1)), ((2, 1, 2, 1, 5, 7), (3, 1, 4, 7, 2)), ((2, 1, 5, 0), (3, 0, 4)),
]  # fmt: skip


@pytest.mark.parametrize("a, b", SHAPES)
def test_torchs_rules(a, b):
    check(ints(*a), ints(*b, seed=1))


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_any_strides_shapes_and_batches(data):
    batch = data.draw(st.lists(st.integers(1, 3), max_size=3))

    def operand(rows: int, columns: int, seed: int) -> torch.Tensor:
        own = [1 if data.draw(st.integers(0, 3)) == 0 else size for size in batch[data.draw(st.integers(0, len(batch))) :]]
        shape = [*own, rows, columns]
        order = data.draw(st.permutations(range(len(shape))))
        padded = [shape[d] + data.draw(st.sampled_from([0, 0, 1, 3])) for d in order]
        x = ints(*padded, seed=seed).permute([order.index(d) for d in range(len(shape))])
        for dim, size in enumerate(shape):
            x = x.narrow(dim, x.shape[dim] - size, size)
        return x

    m, n, k = (data.draw(st.sampled_from([1, 2, 5, 8, 17, 40])) for _ in range(3))
    check(operand(m, k, 1), operand(k, n, 2), seed=data.draw(st.integers(0, 9)))


@pytest.mark.parametrize("dims", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_out_of_a_batch_in_any_order(dims):
    a, b = ints(3, 20, 24), ints(3, 24, 40, seed=1)
    sizes = [(3, 20, 40)[d] for d in dims]
    out = torch.full(sizes, -7.0, dtype=BF16).permute([dims.index(d) for d in range(3)])
    with hopper_gemm.emulator():
        assert matmul(a, b, out=out) is out
    assert torch.equal(out, exact(a, b))


def test_attention_heads_in_place():
    """(sequence, heads, dim) tensors as batches of heads: neither copied nor packed."""
    q, k = ints(16, 4, 64).transpose(0, 1), ints(24, 4, 64, seed=1).transpose(0, 1)
    with hopper_gemm.emulator():
        assert "packs" not in str(hopper_gemm.explain(q, k.mT))
    check(q, k.mT)


def test_a_batch_with_one_b_is_one_product(pretend_gpu: PretendGpu):  # noqa: F811
    a, b = ints(2, 3, 40, 64), ints(64, 48)
    assert torch.equal(matmul(a, b), exact(a, b)) and len(pretend_gpu.launches) == 1
    product = _C.product(a, b, exact(a, b))
    assert product["folded"] and (product["batches"], product["m"]) == (1, 240)
    product = _C.product(a.transpose(1, 2), b, exact(a, b).transpose(1, 2))
    assert not product["folded"] and product["batches"] == 80 and product["a"][3] is False


def test_any_batch_is_one_launch(pretend_gpu: PretendGpu):  # noqa: F811
    cases = [(ints(3, 40, 64), ints(3, 64, 48)), (ints(40, 64), ints(5, 64, 48)), (ints(2, 1, 40, 63), ints(3, 63, 17))]
    for count, (a, b) in enumerate(cases, 1):
        assert torch.equal(matmul(a, b), exact(a, b))
        assert len(pretend_gpu.launches) == count
    assert pretend_gpu.copies == [2]


def test_equal_bits_alone_and_in_a_batch():
    a, b = torch.randn(4, 70, 200).to(BF16), torch.randn(4, 200, 72).to(BF16)
    for kernel in [k for k in all_kernels() if k.emulated and k.input == "bf16" and k.layout == "tt" and k.output == "row_major"]:
        with hopper_gemm.emulator():
            together = matmul(a, b, config=kernel.name)
            alone = torch.stack([matmul(x, y, config=kernel.name) for x, y in zip(a, b)])
        assert same_bits(together, alone), kernel.name


def test_a_nan_stays_in_its_product():
    a, b = ints(3, 40, 72), ints(3, 72, 48, seed=1)
    expected = exact(a, b)
    a[1, 5, 3] = float("nan")
    with hopper_gemm.emulator():
        y = matmul(a, b)
    assert bool(y[1, 5].isnan().all())
    y[1, 5] = expected[1, 5]
    assert torch.equal(y, expected)


def test_bmm_is_torchs():
    a, b = ints(3, 7, 24), ints(3, 24, 9, seed=1)
    out = torch.empty(3, 9, 7, dtype=BF16).transpose(1, 2)
    with hopper_gemm.emulator():
        assert torch.equal(bmm(a, b), exact(a, b))
        assert bmm(a, b, out=out) is out and torch.equal(out, exact(a, b))
        for bad in ((a[0], b), (a, b[0]), (a[:2], b), (a[:1], b)):
            with pytest.raises(errors.ShapeError, match="B, M, K"):
                bmm(*bad)


def test_an_out_of_a_batch_that_shares_memory_is_refused():
    buffer = ints(3, 40, 192)
    with hopper_gemm.emulator():
        for a, b, out in ((buffer[..., :40], buffer[..., 40:80], buffer[..., 72:112]), (buffer[..., :40], ints(40, 40), buffer[..., :40])):
            with pytest.raises(errors.OverlapError):
                matmul(a, b, out=out)
        expected = exact(buffer[..., :40], buffer[..., 40:80])
        matmul(buffer[..., :40], buffer[..., 40:80], out=buffer[..., 80:120])
    assert torch.equal(buffer[..., 80:120], expected)


GRADIENTS = [((7,), (7,)), ((7,), (7, 5)), ((5, 7), (7,)), ((3, 5, 7), (7, 4)), ((3, 5, 7), (3, 7, 4)), ((2, 1, 5, 7), (3, 7, 4)), ((5, 7), (3, 7, 4)), ((3, 5, 7), (7,))]


@pytest.mark.parametrize("a, b", GRADIENTS)
def test_gradients_of_vectors_and_batches(a, b):
    x, y = ints(*a).requires_grad_(), ints(*b, seed=1).requires_grad_()
    with hopper_gemm.emulator():
        out = matmul(x, y)
        seed = ints(*out.shape, seed=2) if out.dim() else torch.tensor(2.0, dtype=BF16)
        out.backward(seed)
    u, v = x.detach().double().requires_grad_(), y.detach().double().requires_grad_()
    (u @ v).backward(seed.double())
    assert torch.equal(x.grad.double(), u.grad.to(BF16).double()) and torch.equal(y.grad.double(), v.grad.to(BF16).double())


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0), (1, 2)])
@pytest.mark.parametrize("a, b", [((5, 7), (7, 4)), ((7,), (7, 4)), ((5, 7), (7,)), ((7,), (7,)), ((2, 5, 7), (7, 4)), ((5, 7), (2, 7, 4))])
def test_vmap_is_one_batched_product(a, b, dims):
    a_dim, b_dim = (None if d is None else min(d, len(s)) for d, s in zip(dims, (a, b)))
    x = ints(3, *a).movedim(0, a_dim) if a_dim is not None else ints(*a)
    y = ints(3, *b, seed=1).movedim(0, b_dim) if b_dim is not None else ints(*b, seed=1)
    with hopper_gemm.emulator() as machine:
        got = torch.vmap(matmul, in_dims=(a_dim, b_dim))(x, y)
    assert len(machine.reports) == 1
    expected = torch.vmap(torch.matmul, in_dims=(a_dim, b_dim))(x.double(), y.double())
    assert torch.equal(got.double(), expected.to(BF16).double())
