"""torch.ops.hopper_gemm on the emulator: gradients, transforms, tracing, autocast, modes; the numbers against torch's own."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from support.operands import LAYOUTS, Shape, operands

import hopper_gemm
from hopper_gemm import Config, Schedule, errors, matmul

BF16 = torch.bfloat16
op = torch.ops.hopper_gemm.matmul


@pytest.fixture(autouse=True)
def emulated():
    with hopper_gemm.emulator() as emulator:
        yield emulator


def integers(*shape: int, seed: int = 0, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product in float64, rounded once; differentiable in float64 too."""
    return (a.double() @ b.double()).to(a.dtype)


# --- torch's own check of an operator


SAMPLES = {
    "packed": lambda: (integers(64, 32), integers(32, 48)),
    "transposed": lambda: (integers(32, 64).t(), integers(48, 32).t()),
    "padded": lambda: (integers(64, 64)[:, :32], integers(32, 96)[:, :48]),
    "empty M": lambda: (integers(0, 32), integers(32, 48)),
    "empty K": lambda: (integers(16, 0), integers(0, 48)),
    "a row": lambda: (integers(1, 32), integers(32, 48)),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(sample, requires_grad):
    arguments = tuple(t.requires_grad_(requires_grad) for t in (x.detach() for x in SAMPLES[sample]()))
    result = torch.library.opcheck(op.default, arguments)
    assert set(result.values()) == {"SUCCESS"} and len(result) == 4, result


def test_opcheck_of_out():
    a, b = integers(24, 32), integers(32, 16)
    result = torch.library.opcheck(torch.ops.hopper_gemm.matmul_out.default, (a, b, torch.empty(24, 16, dtype=BF16)))
    assert set(result.values()) == {"SUCCESS"}, result


def test_the_operator_is_the_function():
    a, b = integers(24, 32), integers(32, 16)
    assert torch.equal(op(a, b), exact(a, b)) and torch.equal(op(a, b), matmul(a, b))
    assert torch.Tag.pt2_compliant_tag in op.default.tags


def test_the_operator_refuses_cpu_tensors_outside_the_emulator(monkeypatch):
    from hopper_gemm import emulation

    token = emulation._active.set(None)
    try:
        with pytest.raises(errors.DeviceError, match="emulator"):
            op(integers(8, 8), integers(8, 8))
    finally:
        emulation._active.reset(token)


# --- gradients


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [BF16, torch.float16])
def test_gradients_of_every_layout(layout, dtype):
    a0, b0 = operands(Shape(40, 24, 48), layout, dtype, integers=True)
    grad = integers(40, 24, seed=3, dtype=dtype)
    results = []
    for product in (matmul, exact):
        a, b = a0.detach().requires_grad_(), b0.detach().requires_grad_()
        y = product(a, b)
        y.backward(grad)
        assert a.grad.dtype == b.grad.dtype == dtype
        results.append((y.detach(), a.grad, b.grad))
    for got, want in zip(*results):
        assert torch.equal(got, want)


@pytest.mark.parametrize("needed", [(True, False), (False, True)])
def test_only_the_gradients_that_are_needed_are_computed(needed, emulated):
    a, b = (t.requires_grad_(n) for t, n in zip((integers(16, 32), integers(32, 24)), needed))
    y = matmul(a, b)
    before = len(emulated.reports)
    y.sum().backward()
    assert len(emulated.reports) == before + 1
    assert (a.grad is not None, b.grad is not None) == needed


def test_a_gradient_lies_as_its_factor():
    """torch copies one that does not when it becomes the gradient of a parameter."""
    x, weight = integers(2, 16, 32).requires_grad_(), integers(24, 32).requires_grad_()
    for product in (lambda: matmul(x, weight.t()), lambda: matmul(x.mT, x.detach())):
        of_x, of_weight = torch.autograd.grad(product().sum(), (x, weight), allow_unused=True)
        assert of_x.stride() == x.stride() and (of_weight is None or of_weight.stride() == weight.stride())
    expected = x.detach().double().sum((0, 1)).expand(24, 32)
    assert torch.equal(torch.autograd.grad(matmul(x, weight.t()).sum(), weight)[0].double(), expected.bfloat16().double())


def test_an_fp32_result_of_bf16_factors_gives_bf16_gradients():
    a, b = integers(16, 32).requires_grad_(), integers(32, 24).requires_grad_()
    y = matmul(a, b, out_dtype=torch.float32)
    assert y.dtype == torch.float32
    (y * 3).sum().backward()
    assert a.grad.dtype == b.grad.dtype == BF16
    assert torch.equal(a.grad, (3 * b.detach().double().sum(1)).to(BF16).expand_as(a))


def test_double_backward():
    a, b = integers(8, 16).requires_grad_(), integers(16, 24).requires_grad_()
    x, w = a.detach().double().requires_grad_(), b.detach().double().requires_grad_()

    def twice(product, a, b):
        (first,) = torch.autograd.grad((product(a, b) * 2).square().sum(), a, create_graph=True)
        return torch.autograd.grad(first.sum(), (a, b))

    for got, want in zip(twice(matmul, a, b), twice(torch.mm, x, w)):
        assert torch.allclose(got.double(), want, rtol=2**-6, atol=0)


def test_a_result_in_out_has_no_backward():
    a, b = integers(8, 8).requires_grad_(), integers(8, 8)
    with pytest.raises(errors.AutogradError, match="requires_grad=True on a"):
        matmul(a, b, out=torch.empty(8, 8, dtype=BF16))
    with pytest.raises(errors.AutogradError, match="on a"):
        torch.ops.hopper_gemm.matmul_out(a, b, torch.empty(8, 8, dtype=BF16))


def test_no_graph_where_none_is_wanted():
    a, b = integers(8, 8).requires_grad_(), integers(8, 8)
    with torch.no_grad():
        assert matmul(a, b).grad_fn is None
    with torch.inference_mode():
        assert matmul(a, b).is_inference()
    assert matmul(a, b).grad_fn is not None


def test_saved_tensor_hooks_see_what_is_saved():
    a, b = integers(8, 16).requires_grad_(), integers(16, 8).requires_grad_()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        matmul(a, b).sum().backward()
    assert len(packed) == 2


def test_checkpointing():
    a, b = integers(16, 16).requires_grad_(), integers(16, 16).requires_grad_()
    y = torch.utils.checkpoint.checkpoint(lambda x: matmul(matmul(x, b), b), a, use_reentrant=False)
    y.sum().backward()
    recomputed = a.grad.clone()
    a.grad = None
    matmul(matmul(a, b), b).sum().backward()
    assert torch.equal(a.grad, recomputed)


# --- forward mode and functorch


def test_forward_mode():
    a, b, ta, tb = integers(8, 16), integers(16, 24), integers(8, 16, seed=1), integers(16, 24, seed=2)
    with torch.autograd.forward_ad.dual_level():
        dual = [torch.autograd.forward_ad.make_dual(p, t) for p, t in ((a, ta), (b, tb))]
        value, tangent = torch.autograd.forward_ad.unpack_dual(matmul(*dual))
        with pytest.raises(errors.AutogradError, match="forward-mode"):
            matmul(dual[0], b, out=torch.empty(8, 24, dtype=BF16))
    assert torch.equal(value, exact(a, b))
    assert torch.equal(tangent, exact(ta, b) + exact(a, tb))


def test_grad_jvp_and_jacobians():
    a, b = integers(4, 8), integers(8, 8)
    loss = lambda product: lambda x: product(x, b).float().square().sum()  # noqa: E731
    assert torch.allclose(torch.func.grad(loss(matmul))(a), torch.func.grad(loss(torch.mm))(a), rtol=2**-6)
    f, g = (lambda x: matmul(x, b)), (lambda x: torch.mm(x, b))
    assert torch.equal(torch.func.jvp(f, (a,), (a,))[1], torch.func.jvp(g, (a,), (a,))[1])
    assert torch.equal(torch.func.jacrev(f)(a), torch.func.jacrev(g)(a))
    assert torch.equal(torch.func.jacfwd(f)(a), torch.func.jacfwd(g)(a))
    squares = lambda product: lambda x: product(x, b).float().square().sum()  # noqa: E731
    assert torch.allclose(torch.func.hessian(squares(matmul))(a), torch.func.hessian(squares(torch.mm))(a), rtol=2**-6)


def test_vmap():
    a, a3 = integers(16, 32), integers(5, 16, 32)
    b, b3 = integers(32, 24, seed=1), integers(5, 32, 24, seed=1)
    cases = [
        (lambda x: matmul(x, b), (a3,), (0,), exact(a3, b)),
        (matmul, (a3, b3), (0, 0), exact(a3, b3)),
        (lambda x: matmul(a, x), (b3.permute(1, 2, 0),), (2,), exact(a, b3)),
        (matmul, (a3, b), (0, None), exact(a3, b)),
    ]
    for f, arguments, dims, want in cases:
        assert torch.equal(torch.func.vmap(f, in_dims=dims)(*arguments), want)


def test_gradients_for_every_sample():
    """vmap of grad: the weight's gradient of each sample."""
    w, x = integers(32, 24), integers(6, 8, 32, seed=1)
    per_sample = torch.func.vmap(torch.func.grad(lambda w, x: matmul(x, w).float().sum()), in_dims=(None, 0))(w, x)
    want = torch.stack([exact(s.t(), torch.ones(8, 24, dtype=BF16)) for s in x])
    assert torch.equal(per_sample, want)


# --- modes, subclasses, autocast


def test_autocast():
    a, b = integers(16, 32, dtype=torch.float32).requires_grad_(), integers(32, 24)
    with torch.autocast("cpu", dtype=BF16):
        y = matmul(a, b)
        z = matmul(integers(16, 32, dtype=torch.float16), b)
    assert y.dtype == z.dtype == BF16 and torch.equal(y, exact(a.detach().to(BF16), b))
    y.sum().backward()
    assert a.grad.dtype == torch.float32 and torch.equal(a.grad[0], b.double().sum(1).float())


def test_a_dispatch_mode_sees_the_operator():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names = [*getattr(self, "names", []), func.name()]
            return func(*args, **(kwargs or {}))

    a, b = integers(8, 8), integers(8, 8, seed=1)
    with Seen() as mode:
        y = matmul(a, b)
    assert mode.names == ["hopper_gemm::matmul"] and torch.equal(y, exact(a, b))


def test_a_subclass_is_asked():
    class Logged(torch.Tensor):
        calls: list[str] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs)

    a = integers(8, 8).as_subclass(Logged)
    y = matmul(a, integers(8, 8))
    assert type(y) is Logged and any("matmul" in name for name in Logged.calls)
    assert torch.equal(y.as_subclass(torch.Tensor), exact(integers(8, 8), integers(8, 8)))
    with torch.inference_mode():
        assert type(matmul(a, integers(8, 8))) is Logged


def test_meta_and_fake_tensors_have_the_shape_of_the_real_ones():
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    for (sample, make), kwargs in itertools.product(SAMPLES.items(), ({}, {"out_dtype": torch.float32})):
        a, b = make()
        real = matmul(a, b, **kwargs)
        with mode:
            fake = matmul(mode.from_tensor(a), mode.from_tensor(b), **kwargs)
        meta = matmul(a.to("meta"), b.to("meta"), **kwargs)
        for other in (fake, meta):
            assert (real.shape, real.stride(), real.dtype) == (other.shape, other.stride(), other.dtype), sample
        assert fake.device == real.device and meta.device.type == "meta"


def test_options_travel_through_the_operator():
    a, b = integers(16, 32).requires_grad_(), integers(32, 24)
    want = exact(a.detach(), b)
    for kwargs in (
        {"schedule": "tma"},
        {"schedule": Schedule.TMA},
        {"config": Config(tile=(64, 128))},
        {"config": "*_64x128x64_*"},
        {"accumulate": torch.float32},
        {"accumulate": "fp32"},
    ):
        y = matmul(a, b, **kwargs)
        assert y.grad_fn is not None and torch.equal(y, want)
    with pytest.raises(errors.ScheduleError, match="steam_k"):
        matmul(a, b, schedule="steam_k")
    with pytest.raises(TypeError, match="schedul"):
        matmul(a, b, schedul="auto")


def test_a_config_survives_its_text():
    config = Config(tile=(64, 128, 64), cluster=(1, 1), stages=7, store="tma", consumers=1, accumulate="fp32")
    assert Config.parse(str(config)) == config and Config.parse(str(Config())) == Config()


def test_copies_and_pickles_of_what_holds_a_product():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(integers(32, 24))

        def forward(self, x):
            return matmul(x, self.weight)

    layer = Layer()
    x = integers(16, 32)
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))
