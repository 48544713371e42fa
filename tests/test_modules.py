"""hopper_gemm.nn.Linear beside torch's, and `patch`: the same layer by every measure but the kernel it runs on."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from support.exact import ints

import hopper_gemm
from hopper_gemm import errors
from hopper_gemm.functional import linear
from hopper_gemm.nn import Linear

BF16 = torch.bfloat16


@pytest.fixture(autouse=True)
def emulated():
    with hopper_gemm.emulator() as emulator:
        yield emulator


def pair(bias: bool = True, dtype: torch.dtype = BF16) -> tuple[torch.nn.Linear, Linear]:
    """torch's layer and ours, with integers as parameters."""
    theirs, ours = torch.nn.Linear(32, 24, bias=bias, dtype=dtype), Linear(32, 24, bias=bias, dtype=dtype)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(ints(*parameter.shape, device="cpu"))
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


# --- the drop-in


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [None, BF16, torch.float16, torch.float32])
def test_the_same_parameters_text_and_state(bias, dtype):
    layers = []
    for kind in (torch.nn.Linear, Linear):
        torch.manual_seed(7)
        layers.append(kind(48, 40, bias=bias, dtype=dtype))
    theirs, ours = layers
    assert list(theirs.state_dict()) == list(ours.state_dict())
    for p, q in zip(theirs.parameters(), ours.parameters()):
        assert torch.equal(p, q) and p.dtype == q.dtype and type(p) is type(q)
    assert repr(theirs) == repr(ours) and isinstance(ours, torch.nn.Linear)
    assert theirs.load_state_dict(ours.state_dict()) and ours.load_state_dict(theirs.state_dict())


@pytest.mark.parametrize("shape", [(16, 32), (32,), (2, 3, 32), (0, 32), (1, 1, 1, 32)])
@pytest.mark.parametrize("bias", [True, False])
def test_the_same_numbers_and_gradients(shape, bias):
    x0, results = ints(*shape, device="cpu", seed=3), []
    for layer in pair(bias):
        x = x0.clone().requires_grad_()
        y = layer(x)
        (y.float() * 2).sum().backward()
        results.append([y.detach(), x.grad, *(p.grad for p in layer.parameters())])
    for theirs, ours in zip(*results):
        assert theirs.shape == ours.shape and theirs.dtype == ours.dtype and torch.equal(theirs, ours)


def test_copies_and_pickles():
    _, ours = pair()
    x = ints(8, 32, device="cpu")
    want = ours(x)
    file = io.BytesIO()
    torch.save(ours, file)
    file.seek(0)
    for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), torch.load(file, weights_only=False)):
        assert type(other) is Linear and torch.equal(other(x), want)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "sigmoid"])
def test_an_activation_in_the_kernel(activation):
    functions = torch.nn.functional
    torchs = {"gelu_tanh": lambda x: functions.gelu(x, approximate="tanh"), "sigmoid": torch.sigmoid}
    f = torchs.get(activation) or getattr(functions, activation)
    ours = Linear(32, 24, activation=activation, dtype=BF16)
    assert f"activation='{activation}'" in repr(ours)
    x = torch.randn(16, 32).to(BF16).requires_grad_()
    y = ours(x)
    y.float().square().sum().backward()
    w, b, x64 = (t.detach().double().requires_grad_() for t in (ours.weight, ours.bias, x))
    want = f(torch.nn.functional.linear(x64, w, b))
    want.square().sum().backward()
    y, want = y.detach().double(), want.detach()
    assert float((y - want).abs().max()) < 2**-7 * float(want.abs().max())
    for got, exact in ((x.grad, x64.grad), (ours.weight.grad, w.grad), (ours.bias.grad, b.grad)):
        assert float((got.double() - exact).norm()) < 2**-6 * float(exact.norm())


def test_an_unknown_activation():
    with pytest.raises(errors.OptionError, match="Did you mean 'relu'"):
        Linear(8, 8, activation="relo")


# --- the gradient that is summed in fp32


def test_main_grad_takes_what_bf16_would_lose():
    ours = Linear(32, 24, dtype=BF16)
    ours.accumulate_main_grad = True
    ours.weight.main_grad = torch.full((24, 32), 4096.0)
    want = ours.weight.main_grad.double()
    for seed in range(3):
        x = ints(8, 32, device="cpu", seed=seed).requires_grad_()
        ours(x).sum().backward()
        want += x.detach().double().sum(0)
        assert torch.equal(x.grad, ours.weight.detach().double().sum(0).to(BF16).expand_as(x))
    assert ours.weight.grad is None and torch.equal(ours.weight.main_grad.double(), want)
    assert torch.equal(ours.bias.grad, torch.full((24,), 24, dtype=BF16))


def test_main_grad_of_a_frozen_weight_or_of_another_shape():
    ours = Linear(32, 24, dtype=BF16).requires_grad_(False)
    ours.accumulate_main_grad, ours.weight.main_grad = True, torch.zeros(24, 32)
    x = ints(8, 32, device="cpu").requires_grad_()
    ours(x).sum().backward()
    assert x.grad is not None and bool((ours.weight.main_grad == 0).all())
    for wrong in (torch.zeros(32, 24), torch.zeros(24, 32, dtype=BF16)):
        ours.weight.main_grad = wrong
        with pytest.raises(errors.OptionError, match="main_grad cannot take"):
            ours(x)


# --- patch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(24, 32, dtype=BF16)
        self.body = torch.nn.Sequential(torch.nn.Linear(32, 32, dtype=BF16), torch.nn.ReLU(), torch.nn.Linear(32, 8, dtype=BF16))
        self.double = torch.nn.Linear(32, 32, dtype=torch.float64)
        self.special = torch.nn.modules.linear.NonDynamicallyQuantizableLinear(32, 32, dtype=BF16)
        self.head = torch.nn.Linear(32, 24, bias=False, dtype=BF16)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.body[1](self.body[0](x)))


def test_patch_reports_what_it_did_and_why_not():
    model = Model()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    report = hopper_gemm.patch(model, min_size=512)
    assert report.replaced == ("body.0", "head")
    assert set(report.kept) == {"body.2", "double", "special"}
    assert "min_size=512" in report.kept["body.2"] and "float64" in report.kept["double"]
    assert "NonDynamicallyQuantizableLinear" in report.kept["special"]
    assert "2 layers run on hopper_gemm, 3 do not" in str(report) and "body.2: kept" in str(report)
    assert {n: id(p) for n, p in model.named_parameters(remove_duplicate=False)} == {n: id(p) for n, p in parameters.items()}
    assert model.head.weight is model.embedding.weight
    again = hopper_gemm.patch(model, min_size=512)
    assert again.replaced == () and again.kept["head"] == "already a hopper_gemm.nn.Linear"


def test_a_patched_model_computes_the_same_and_can_be_undone(emulated):
    model = Model()
    for p in model.parameters():
        torch.nn.init.constant_(p, 0.5)
    x, calls = ints(8, 32, device="cpu"), []
    model.body[0].register_forward_hook(lambda module, args, y: calls.append(type(module)))
    want = model(x)
    report = hopper_gemm.patch(model)
    assert torch.equal(model(x), want)
    assert len(emulated.reports) == 2 and calls == [torch.nn.Linear, Linear]
    report.undo()
    assert torch.equal(model(x), want) and len(emulated.reports) == 2
    assert type(model.head) is torch.nn.Linear and repr(model) == repr(Model())


def test_patch_of_a_layer_itself_and_of_something_else():
    layer = torch.nn.Linear(32, 8, dtype=BF16)
    assert hopper_gemm.patch(layer).replaced == ("",) and type(layer) is Linear
    layer = torch.nn.Linear(32, 8, dtype=BF16)
    layer.forward = lambda x: x
    assert "replaced on the layer itself" in hopper_gemm.patch(layer).kept[""]
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(32, 8, dtype=BF16))
    assert "subclass" in hopper_gemm.patch(layer).kept[""]
    with pytest.raises(errors.ArgumentError, match="torch.nn.Module"):
        hopper_gemm.patch([layer])


def test_linear_of_shapes_that_do_not_fit():
    with pytest.raises(errors.ShapeError):
        linear(ints(8, 32, device="cpu"), ints(24, 40, device="cpu"))
