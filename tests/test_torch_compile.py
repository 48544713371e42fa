"""torch.compile and torch.export of programs with products, on the emulator: one graph, right numbers, same refusals."""

from __future__ import annotations

import shutil
import warnings

import pytest
import torch

import hopper_gemm
from hopper_gemm import Schedule, errors, matmul

BF16 = torch.bfloat16
BACKENDS = ["eager", "aot_eager"] + (["inductor"] if shutil.which("g++") else [])


@pytest.fixture(autouse=True)
def emulated():
    torch._dynamo.reset()
    with hopper_gemm.emulator(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch._dynamo.reset()


def ones(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


@pytest.mark.parametrize("backend", BACKENDS)
def test_forward_and_backward_in_one_graph(backend):
    def step(x, w):
        return torch.relu(matmul(x, w.t()) - 1).float().square().sum()

    x, w = torch.randint(-2, 3, (16, 32)).to(BF16), torch.randint(-2, 3, (24, 32)).to(BF16)
    results = []
    for f in (step, torch.compile(step, backend=backend, fullgraph=True)):
        parameter = w.clone().requires_grad_()
        loss = f(x, parameter)
        loss.backward()
        results.append((loss.detach(), parameter.grad))
    assert results[0][0] > 0
    for eager, compiled in zip(*results):
        assert torch.equal(eager, compiled)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_a_layer_with_bias_and_activation_in_one_graph(activation):
    layer = hopper_gemm.nn.Linear(32, 24, activation=activation, dtype=BF16)
    x = torch.randn(2, 8, 32).to(BF16)
    results = []
    for f in (layer, torch.compile(layer, backend=BACKENDS[-1], fullgraph=True, dynamic=True)):
        layer.zero_grad()
        y = f(x)
        y.float().square().sum().backward()
        results.append((y.detach(), layer.weight.grad.clone(), layer.bias.grad.clone()))
    for eager, compiled in zip(*results):
        assert float((eager.double() - compiled.double()).norm()) <= 2**-8 * float(eager.double().norm())


@pytest.mark.parametrize("backend", BACKENDS)
def test_out_is_written_in_compiled_code(backend):
    def f(x, out):
        before = out.sum()
        matmul(x, x, out=out)
        return before, out.sum(), out * 2

    x = ones(64, 64)
    eager, compiled = torch.zeros(64, 64, dtype=BF16), torch.zeros(64, 64, dtype=BF16)
    want = f(x, eager)
    got = torch.compile(f, backend=backend, fullgraph=True)(x, compiled)
    assert all(torch.equal(p, q) for p, q in zip(want, got))
    assert bool((compiled == 64).all()) and float(got[0]) == 0


def test_one_graph_for_many_sizes():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    b = ones(64, 32)
    f = torch.compile(lambda x: matmul(x, b) + 1, backend=backend, fullgraph=True, dynamic=True)
    for m in (2, 7, 128, 129, 200, 33):
        y = f(ones(m, 64))
        assert y.shape == (m, 32) and bool((y == 65).all())
    assert len(graphs) <= 2


def test_dynamic_shapes_with_inductor_and_gradients():
    if "inductor" not in BACKENDS:
        pytest.skip("no compiler")
    w = ones(64, 32).requires_grad_()
    f = torch.compile(lambda x: (matmul(x, w) * 2).sum(), backend="inductor", fullgraph=True, dynamic=True)
    for m in (8, 24, 40):
        w.grad = None
        f(ones(m, 64)).backward()
        assert bool((w.grad == 2 * m).all())


@pytest.mark.parametrize("kwargs", [{"schedule": Schedule.TMA}, {"schedule": "tma"}, {"out_dtype": torch.float32}])
def test_options_in_compiled_code(kwargs):
    f = torch.compile(lambda x: matmul(x, x, **kwargs), backend="aot_eager", fullgraph=True)
    y = f(ones(64, 64))
    assert bool((y == 64).all()) and y.dtype == kwargs.get("out_dtype", BF16)


def test_a_config_in_compiled_code():
    config = hopper_gemm.Config(tile=(64, 128))
    f = torch.compile(lambda x: matmul(x, x, config=config), backend="aot_eager", fullgraph=True)
    assert bool((f(ones(64, 64)) == 64).all())


def test_autocast_in_compiled_code():
    def f(x, w):
        with torch.autocast("cpu", dtype=BF16):
            return matmul(x, w)

    x, w = ones(16, 32, dtype=torch.float32), ones(32, 24, dtype=torch.float32).requires_grad_()
    y = torch.compile(f, backend="aot_eager", fullgraph=True)(x, w)
    y.sum().backward()
    assert y.dtype == BF16 and bool((y == 32).all()) and bool((w.grad == 16).all()) and w.grad.dtype == torch.float32


@pytest.mark.parametrize(
    "a, b, words",
    [
        (ones(8, 16), ones(17, 8), "inner sizes"),
        (ones(8, 16), ones(16, 8, dtype=torch.float16), "dtype"),
    ],
)
def test_refusals_are_the_same_in_compiled_code(a, b, words):
    for f in (matmul, torch.compile(lambda p, q: matmul(p, q), backend="aot_eager")):
        with pytest.raises(Exception, match=words):
            f(a, b)


def test_an_unknown_keyword_in_compiled_code():
    with pytest.raises(Exception, match="schedul"):
        torch.compile(lambda p: matmul(p, p, schedul="auto"), backend="eager", fullgraph=True)(ones(8, 8))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randint(-2, 3, (24, 32)).to(BF16))

    def forward(self, x):
        return matmul(x, self.weight.t())


@pytest.mark.parametrize("strict", [False, True])
def test_export_with_a_dynamic_dimension(strict):
    model = Model()
    batch = torch.export.Dim("batch", min=2, max=4096)
    program = torch.export.export(model, (ones(8, 32),), dynamic_shapes=({0: batch},), strict=strict)
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert any("hopper_gemm.matmul" in t for t in targets), targets
    for m in (3, 40):
        x = torch.randint(-2, 3, (m, 32)).to(BF16)
        assert torch.equal(program.module()(x), model(x))


def test_export_to_a_file_and_back(tmp_path):
    model = Model()
    program = torch.export.export(model, (ones(8, 32),))
    torch.export.save(program, tmp_path / "model.pt2")
    x = torch.randint(-2, 3, (8, 32)).to(BF16)
    assert torch.equal(torch.export.load(tmp_path / "model.pt2").module()(x), model(x))


def test_make_fx_records_the_operator():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: matmul(x, x) + 1)(ones(8, 8))
    assert any(node.target is torch.ops.hopper_gemm.matmul.default for node in graph.graph.nodes)
    assert bool((graph(ones(8, 8)) == 9).all())


def test_a_compiled_program_without_the_emulator_is_refused():
    from hopper_gemm import emulation

    f = torch.compile(lambda x: matmul(x, x), backend="eager", fullgraph=True)
    f(ones(8, 8))
    token = emulation._active.set(None)
    try:
        with pytest.raises(errors.DeviceError):
            f(ones(8, 8))
    finally:
        emulation._active.reset(token)
