"""Products recorded for a backward from C++: the same graph, numbers and refusals as those that Python records."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401

import hopper_gemm
from hopper_gemm import autograd, errors, known, matmul, ops

BF16 = torch.bfloat16
OPTIONS = {
    "nothing": {},
    "bias": {"bias": (24,)},
    "bias per row": {"bias": (16, 1)},
    "activation": {"bias": (24,), "activation": "gelu"},
    "activation by its value": {"bias": (24,), "activation": "relu"},
    "residual": {"residual": (16, 24), "activation": "relu"},
    "all": {"bias": (24,), "c": (1, 24), "residual": (16, 24), "activation": "silu", "alpha": 2.0, "beta": -1.0},
}


def integers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(BF16)


def leaves(options: dict) -> dict:
    """The operands of a product with these options, all of which require grad."""
    shapes = {"a": (16, 32), "b": (32, 24)} | {name: value for name, value in options.items() if isinstance(value, tuple)}
    return {name: (integers(*shape, seed=i) / 4).requires_grad_() for i, (name, shape) in enumerate(shapes.items())}


def numbers(options: dict) -> dict:
    return {name: value for name, value in options.items() if not isinstance(value, tuple)}


@pytest.fixture
def from_python(monkeypatch: pytest.MonkeyPatch, pretend_gpu: PretendGpu) -> list[int]:  # noqa: F811
    """One entry for each call that Python recorded."""
    seen, recorded = [], autograd.recorded
    monkeypatch.setattr(autograd, "recorded", lambda *arguments: seen.append(1) or recorded(*arguments))
    return seen


def warm(options: dict) -> None:
    """Launches of these options are remembered."""
    given = leaves(options)
    with torch.no_grad():
        matmul(**given, **numbers(options))


@pytest.mark.parametrize("options", OPTIONS)
def test_the_gradients_that_python_records(from_python, options):
    options, results = OPTIONS[options], []
    for remembered in (False, True):
        known.forget()
        if remembered:
            warm(options)
        given = leaves(options)
        y = matmul(**given, **numbers(options))
        assert len(from_python) == 1 and y.grad_fn is not None
        y.backward(integers(16, 24, seed=9))
        results.append([y.detach(), *(t.grad for t in given.values())])
    for python, cpp in zip(*results):
        assert torch.equal(python, cpp) and python.dtype == cpp.dtype


@pytest.mark.parametrize("name", ["a", "b", "bias", "c", "residual"])
def test_only_what_is_needed_is_computed(from_python, pretend_gpu, name):  # noqa: F811
    options = OPTIONS["all"]
    warm(options)
    given = {n: t.detach().requires_grad_(n == name) for n, t in leaves(options).items()}
    y = matmul(**given, **numbers(options))
    before = len(pretend_gpu.launches)
    y.backward(integers(16, 24))
    launches = {"a": 2, "b": 2, "bias": 1, "c": 1, "residual": 0}[name]  # what went into silu, and a product
    assert len(pretend_gpu.launches) - before == launches and not from_python
    assert [n for n, t in given.items() if t.grad is not None] == [name]


def test_only_what_is_asked_for_is_computed(from_python, pretend_gpu):  # noqa: F811
    warm({})
    a, b = leaves({}).values()
    y = matmul(a, b)
    before = len(pretend_gpu.launches)
    (of_b,) = torch.autograd.grad(y.sum(), b)
    assert len(pretend_gpu.launches) == before + 1
    assert torch.equal(of_b, (a.detach().double().t() @ torch.ones(16, 24).double()).to(BF16)) and not from_python


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "silu"])
def test_second_derivatives(from_python, activation):
    results = []
    for remembered in (False, True):
        known.forget()
        if remembered:
            warm({"bias": (24,), "activation": activation})
        a, b, bias = leaves({"bias": (24,)}).values()
        y = matmul(a, b, bias=bias, activation=activation)
        (first,) = torch.autograd.grad(y.float().square().sum(), a, create_graph=True)
        results.append(torch.autograd.grad(first.float().square().sum(), (a, b, bias), allow_unused=True))
    for python, cpp in zip(*results):
        assert (python is None) == (cpp is None) and (cpp is None or torch.equal(python, cpp))


def test_batches_vectors_and_layers(from_python):
    layer = hopper_gemm.nn.Linear(32, 24, dtype=BF16)
    for shape in ((2, 3, 8, 32), (32,), (8, 32)):
        results = []
        for _ in range(2):
            x = (integers(*shape) / 4).requires_grad_()
            layer.zero_grad()
            y = layer(x)
            y.sum().backward()
            results.append([y.detach(), x.grad, layer.weight.grad, layer.bias.grad])
        assert all(torch.equal(python, cpp) for python, cpp in zip(*results))
    assert len(from_python) == 3


# --- what torch promises of a node


def test_hooks_versions_and_graphs_that_were_freed(from_python):
    warm({})
    a, b = leaves({}).values()
    packed, seen = [], []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = matmul(a, b)
    assert len(packed) == 2
    y.register_hook(lambda grad: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda ours, theirs: seen.append(len(ours)))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert seen == ["tensor", "before", 2] * 2 or seen == ["before", "tensor", 2] * 2
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    y = matmul(a, b)
    with torch.no_grad():
        a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_the_graph_holds_no_cycle(from_python):
    options = {"bias": (24,), "activation": "relu"}  # whose result is kept for the backward
    warm(options)
    gc.collect()
    gc.disable()
    try:
        given = leaves(options)
        dying = [weakref.ref(t) for t in (given["a"], matmul(**given, **numbers(options)))]
        del given
        assert [ref() for ref in dying] == [None, None]
    finally:
        gc.enable()


def test_a_gradient_of_none_and_errors_of_the_formulas(from_python, monkeypatch):
    warm({})
    a, b = leaves({}).values()
    y = matmul(a, b)
    assert y.grad_fn(None) == (None, None)

    def broken(*arguments):
        raise LookupError("no luck")

    monkeypatch.setattr(autograd, "gradients", broken)
    with pytest.raises(LookupError, match="no luck"):
        y.sum().backward()


def test_a_backward_of_another_thread(from_python):
    warm({})
    a, b = leaves({}).values()
    y = matmul(a, b).sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert torch.equal(b.grad, (a.detach().double().t() @ torch.ones(16, 24).double()).to(BF16))


def test_checkpoints(from_python):
    warm({})
    a = (integers(32, 32) / 4).requires_grad_()
    with torch.no_grad():
        matmul(a, a)
    results = []
    for run in (lambda x: matmul(matmul(x, x), x), lambda x: torch.utils.checkpoint.checkpoint(lambda x: matmul(matmul(x, x), x), x, use_reentrant=False)):
        (grad,) = torch.autograd.grad(run(a).sum(), a)
        results.append(grad)
    assert torch.equal(*results) and not from_python


# --- what goes the long way


def test_what_has_no_derivative_is_refused_as_before(pretend_gpu):  # noqa: F811
    narrow = [t.detach().to(torch.float8_e4m3fn) for t in (integers(16, 32), integers(32, 24))]
    bias = torch.zeros(24, requires_grad=True)
    for _ in range(2):
        with torch.no_grad():
            matmul(*narrow, bias=bias)
        with pytest.raises(errors.AutogradError, match="no derivative of a product of this dtype"):
            matmul(*narrow, bias=bias)
    a, b = leaves({}).values()
    one = torch.ones(1)
    for _ in range(2):
        with torch.no_grad():
            hopper_gemm.scaled_matmul(a, b, one, one)
        with pytest.raises(errors.AutogradError, match="scaled_matmul is no operator"):
            hopper_gemm.scaled_matmul(a, b, one, one)
    with torch.no_grad():
        matmul(a, b, out=torch.empty(16, 24, dtype=BF16))
    with pytest.raises(errors.AutogradError, match="out="):
        matmul(a, b, out=torch.empty(16, 24, dtype=BF16))


def test_transforms_and_tangents_are_for_the_dispatcher(from_python, monkeypatch):
    a, b = leaves({}).values()
    warm({})
    ways, through = [], ops.through_dispatcher
    monkeypatch.setattr(ops, "through_dispatcher", lambda *arguments, **options: ways.append(1) or through(*arguments, **options))
    with torch.autograd.forward_ad.dual_level():
        y = matmul(torch.autograd.forward_ad.make_dual(a, torch.ones_like(a)), b)
        assert torch.autograd.forward_ad.unpack_dual(y).tangent is not None
    torch.func.grad(lambda x: matmul(x, b).sum())(a)
    assert len(ways) >= 2
    ways.clear()
    assert matmul(a, b).grad_fn is not None and not ways


def test_inference_tensors_cannot_be_saved(from_python):
    warm({})
    a, b = leaves({}).values()
    with torch.inference_mode():
        x = integers(16, 32)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        matmul(x, b)


# --- gradients of what was broadcast are summed in fp32, whatever their types


@pytest.mark.parametrize("way", ["remembered", "first"])
@pytest.mark.parametrize("kind", [torch.float16, BF16, torch.float32])
@pytest.mark.parametrize("out_dtype", [BF16, torch.float32])
def test_the_gradient_of_a_bias_is_summed_in_fp32(way, kind, out_dtype):
    rows = 512
    a, b = integers(rows, 8, seed=1), integers(8, 3, seed=2)
    bias = torch.zeros(3, dtype=kind, requires_grad=True)
    grad = torch.stack([torch.full((rows,), 1e-8), torch.full((rows,), 1 + 2**-9), torch.zeros(rows)], dim=1)
    grad[:3, 2] = torch.tensor([1e5, -1e5, 1.0])  # beyond fp16 on the way, not in the end
    grad = grad.to(out_dtype)
    with hopper_gemm.emulator():
        if way == "remembered":
            matmul(a, b, bias=bias.detach(), out_dtype=out_dtype)
        matmul(a, b, bias=bias, out_dtype=out_dtype).backward(grad)
    exact = grad.double().sum(0)
    assert bias.grad.dtype == kind
    assert torch.allclose(bias.grad.double(), exact, rtol=2 * torch.finfo(kind).eps, atol=6e-8 if kind == torch.float16 else 1e-12)


def test_the_gradient_of_a_factor_of_all_batches_is_summed_in_fp32():
    a = (torch.ones(1, 16, 32) * torch.tensor([1.0, -1.0]).view(2, 1, 1)).half()
    b = torch.ones(1, 32, 24).half().requires_grad_()
    with hopper_gemm.emulator():
        matmul(a, b, out_dtype=torch.float32).backward(torch.full((2, 16, 24), 100.0))
    assert torch.equal(b.grad, torch.zeros_like(b))  # 16 * 100 * 32 of either sign, each beyond nothing but near fp16's end
    small = (torch.rand(64, 16, 32, generator=torch.Generator().manual_seed(0)) / 64).to(BF16)
    c = torch.ones(1, 32, 24).to(BF16).requires_grad_()
    with hopper_gemm.emulator():
        matmul(small, c).backward(torch.ones(64, 16, 24).to(BF16))
    exact = small.double().sum((0, 1)).view(1, 32, 1).expand(1, 32, 24)
    assert (c.grad.double() - exact).abs().max() <= 2**-8 * exact.max()


def test_a_scaled_addend_has_a_gradient_that_is_rounded_once():
    a, b = integers(64, 8, seed=1), integers(8, 4, seed=2)
    c = torch.zeros(4, dtype=torch.float16, requires_grad=True)
    with hopper_gemm.emulator():
        matmul(a, b, c=c, beta=2.0**-8, out_dtype=torch.float32).backward(torch.full((64, 4), 2000.0))
    assert torch.equal(c.grad, torch.full((4,), 500.0).half())  # the sum alone, 128,000, is beyond fp16


def test_gradients_of_a_batch_of_directions():
    x, w = integers(6, 16, seed=1).requires_grad_(), integers(16, 5, seed=2).requires_grad_()
    directions = integers(3, 6, 5, seed=3)
    with hopper_gemm.emulator():
        y = matmul(x, w)
        of_x, of_w = torch.autograd.grad(y, (x, w), directions, is_grads_batched=True)
        jacobian = torch.autograd.functional.jacobian(lambda v: matmul(v, w.detach()), x.detach(), vectorize=True)
    assert torch.equal(of_x, directions @ w.detach().t()) and torch.equal(of_w, x.detach().t() @ directions)
    assert torch.equal(jacobian[0, :, 0], w.detach().t()) and not jacobian[0, :, 1].any()
