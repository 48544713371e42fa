"""torch.ops.hopper_gemm.matmul with everything an epilogue does: gradients, tangents, vmap, autocast, fake tensors."""

from __future__ import annotations

import pytest
import torch

import hopper_gemm
from hopper_gemm import errors, matmul

BF16 = torch.bfloat16
op = torch.ops.hopper_gemm.matmul


@pytest.fixture(autouse=True)
def emulated():
    with hopper_gemm.emulator() as emulator:
        yield emulator


def integers(*shape: int, seed: int = 0, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


ADDENDS = {
    "bias": lambda: {"bias": integers(24, seed=4)},
    "bias per row, fp32": lambda: {"bias": integers(16, 1, seed=4, dtype=torch.float32)},
    "c": lambda: {"c": integers(16, 24, seed=5), "beta": 2.0, "alpha": 3.0},
    "c of one row": lambda: {"c": integers(1, 24, seed=5, dtype=torch.float32), "beta": 0.5},
    "residual": lambda: {"residual": integers(16, 24, seed=6)},
    "all": lambda: {
        "bias": integers(24, seed=4), "c": integers(24, seed=5), "beta": -1.0, "alpha": 2.0, "residual": integers(16, 1, seed=6),
    },
}  # fmt: skip
ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


def in_float64(a, b, *, bias=0.0, c=0.0, residual=0.0, alpha=1.0, beta=0.0, activation=None):
    return ACTIVATIONS[activation](alpha * (a @ b) + beta * c + bias) + residual


def close(got: torch.Tensor, want: torch.Tensor, what: str = "") -> None:
    error, size = float((got.double() - want).norm()), float(want.norm())
    assert error <= 2**-6 * size, f"{what}: off by {error} of {size}"


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("addends", ADDENDS)
def test_gradients_of_every_operand(addends, activation):
    given = {"a": integers(16, 32) / 4, "b": integers(32, 24, seed=1) / 4, **ADDENDS[addends]()}
    grad = integers(16, 24, seed=9)
    tensors = {n: v for n, v in given.items() if isinstance(v, torch.Tensor)}
    numbers = {n: v for n, v in given.items() if n not in tensors}
    results = []
    for function, dtype in ((matmul, None), (in_float64, torch.float64)):
        leaves = {n: t.detach().clone().to(dtype or t.dtype).requires_grad_() for n, t in tensors.items()}
        y = function(**leaves, **numbers, activation=activation)
        y.backward(grad.to(y.dtype))
        results.append({"y": y.detach()} | {n: t.grad for n, t in leaves.items()})
    for name in results[0]:
        close(results[0][name], results[1][name], name)
    for name, tensor in tensors.items():
        assert results[0][name].dtype == tensor.dtype and results[0][name].shape == tensor.shape


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_second_derivatives_through_an_activation(activation):
    given = {"a": integers(8, 16) / 4, "b": integers(16, 24, seed=1) / 4, "bias": integers(24, seed=2)}
    results = []
    for function, dtype in ((matmul, BF16), (in_float64, torch.float64)):
        leaves = {n: t.clone().to(dtype).requires_grad_() for n, t in given.items()}
        y = function(**leaves, activation=activation)
        (first,) = torch.autograd.grad(y.float().square().sum() if dtype == BF16 else y.square().sum(), leaves["a"], create_graph=True)
        results.append(torch.autograd.grad(first.sum(), tuple(leaves.values()), allow_unused=True))
    for got, want in zip(*results):
        error, size = float((got.double() - want).norm()), float(want.norm())
        assert error <= 2**-4 * size + 1e-6, (error, size)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("addends", ADDENDS)
def test_tangents_of_every_operand(addends, activation):
    given = {"a": integers(16, 32) / 4, "b": integers(32, 24, seed=1) / 4, **ADDENDS[addends]()}
    names = [n for n, v in given.items() if isinstance(v, torch.Tensor)]
    numbers = {n: v for n, v in given.items() if n not in names}
    results = []
    for function, dtype in ((matmul, None), (in_float64, torch.float64)):
        primals = tuple(given[n].to(dtype or given[n].dtype) for n in names)
        tangents = tuple(integers(*p.shape, seed=i + 20).to(p.dtype) / 4 for i, p in enumerate(primals))
        f = lambda *t, function=function: function(**dict(zip(names, t)), **numbers, activation=activation)  # noqa: E731
        results.append(torch.func.jvp(f, primals, tangents)[1])
    close(*results)


@pytest.mark.parametrize("addends", ADDENDS)
def test_opcheck_with_addends(addends):
    given = ADDENDS[addends]()
    operands = [given.pop(n, None) for n in ("bias", "c", "residual")]
    for tensor in operands:
        if tensor is not None:
            tensor.requires_grad_()
    arguments = (integers(16, 32).requires_grad_(), integers(32, 24), *operands)
    result = torch.library.opcheck(op.default, arguments, {**given, "activation": "gelu"})
    assert set(result.values()) == {"SUCCESS"}, result


def test_vmap_with_addends():
    a, b, bias, c = integers(5, 16, 32), integers(32, 24), integers(5, 24), integers(16, 24)
    y = torch.func.vmap(lambda a, bias: matmul(a, b, bias=bias, c=c, beta=2.0, activation="relu"))(a, bias)
    want = (a.double() @ b.double() + 2 * c.double() + bias.double()[:, None]).relu().to(BF16)
    assert torch.equal(y, want)


def test_addends_that_do_not_fit_are_refused_without_memory_too():
    for device in ("cpu", "meta"):
        a, b, bias = (t.to(device) for t in (integers(16, 32), integers(32, 24), integers(16)))
        with pytest.raises(errors.ShapeError, match="bias does not broadcast"):
            matmul(a, b, bias=bias)
        with pytest.raises(errors.OptionError, match="tanh"):
            matmul(a, b, activation="tanh")


def test_autocast_leaves_addends_as_exact_as_they_came():
    a, b = integers(16, 32, dtype=torch.float32), integers(32, 24, dtype=torch.float32)
    bias = torch.full((24,), 1 + 2.0**-16)
    with torch.autocast("cpu", dtype=BF16):
        y = matmul(a, b, bias=bias, out_dtype=torch.float32)
    assert torch.equal(y.double(), a.double() @ b.double() + bias.double())
