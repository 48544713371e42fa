"""Cases of the kind compile: one node in a graph, for every size, with the refusals of the eager function."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones
from torch._subclasses.fake_tensor import FakeTensorMode

from hopper_gemm import matmul


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


SAMPLES = {
    "packed": lambda make: (make(64, 32), make(32, 48)),
    "transposed": lambda make: (make(32, 64).t(), make(48, 32).t()),
    "padded": lambda make: (make(64, 64)[:, :32], make(32, 96)[:, :48]),
    "empty": lambda make: (make(0, 32), make(32, 48)),
    "a row and a column": lambda make: (make(1, 32), make(32, 1)),
    "expanded": lambda make: (make(1, 32).expand(64, 32), make(32, 48)),
    "odd slices": lambda make: (make(64, 64)[:, :31], make(31, 96)[:, 1:48]),
    "batches": lambda make: (make(3, 16, 32), make(32, 48)),
    "K = 0": lambda make: (make(64, 0), make(0, 48)),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_c106_opcheck(sample, device):
    a, b = SAMPLES[sample](lambda *shape: ints(*shape, device=device))
    result = torch.library.opcheck(torch.ops.hopper_gemm.matmul.default, (a, b))
    assert set(result.values()) == {"SUCCESS"}, result


@pytest.mark.parametrize("sample", SAMPLES)
def test_c107_the_fake_result_is_like_the_real_one(sample, device):
    a, b = SAMPLES[sample](lambda *shape: ints(*shape, device=device))
    real, mode = matmul(a, b), FakeTensorMode()
    with mode:
        fake = matmul(mode.from_tensor(a), mode.from_tensor(b))
    assert tuple(real.shape) == tuple(fake.shape) and real.stride() == fake.stride()
    assert (real.dtype, real.device) == (fake.dtype, fake.device)
    assert_exact(real, a, b)


def test_c108_compiled_code_sees_the_new_value_of_out(device):
    def f(x, out):
        before = out.sum()
        matmul(x, x, out=out)
        return before, out.sum(), out * 2

    x = ones(64, 64, device=device)
    eager, compiled = (torch.zeros(64, 64, device=device, dtype=BF16) for _ in range(2))
    want, got = f(x, eager), torch.compile(f, backend="aot_eager")(x, compiled)
    assert all(torch.equal(p, q) for p, q in zip(want, got)) and torch.equal(eager, compiled)
    assert bool((compiled == 64).all()) and float(got[0]) == 0


def test_c110_one_graph_for_many_m(device):
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    b = ones(64, 32, device=device)
    f = torch.compile(lambda x: matmul(x, b) + 1, backend=backend, fullgraph=True, dynamic=True)
    for m in (2, 7, 128, 129, 33) + ((1000, 4096) if device == "cuda" else ()):
        y = f(ones(m, 64, device=device))
        assert tuple(y.shape) == (m, 32) and bool((y == 65).all()), m
    assert len(graphs) <= 2


@pytest.mark.parametrize("what", ["inner sizes", "dtype", "device"])
def test_c111_refusals_are_the_same_compiled(what, device):
    x = ones(8, 16, device=device)
    y = {
        "inner sizes": lambda: ones(17, 8, device=device),
        "dtype": lambda: ones(16, 8, device=device, dtype=torch.float16),
        "device": lambda: torch.ones(16, 8, dtype=BF16, device="cpu" if device == "cuda" else "meta"),
    }[what]()
    for f in (matmul, torch.compile(lambda p, q: matmul(p, q), backend="aot_eager")):
        with pytest.raises(Exception, match=what):
            f(x, y)
