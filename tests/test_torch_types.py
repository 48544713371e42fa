"""The operator with every element type: gradients of float32, none of fp8 and integers, and what a trace believes."""

from __future__ import annotations

import pytest
import torch
from support.features import needs
from torch._subclasses.fake_tensor import FakeTensorMode

import hopper_gemm
from hopper_gemm import errors, matmul

E4M3, BF16 = torch.float8_e4m3fn, torch.bfloat16


@pytest.fixture(autouse=True)
def emulated():
    with hopper_gemm.emulator():
        yield


@pytest.fixture
def tf32_switch():
    before = torch.backends.cuda.matmul.allow_tf32
    yield torch.backends.cuda.matmul
    torch.backends.cuda.matmul.allow_tf32 = before


def integers(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    low = 0 if dtype == torch.uint8 else -2
    return torch.randint(low, 3, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


PAIRS = [
    pytest.param(torch.float32, torch.float32, marks=needs("fp32")),
    pytest.param(E4M3, BF16, marks=needs("e4m3")),
    pytest.param(torch.int8, torch.int32, marks=needs("s8")),
]


@pytest.mark.parametrize("dtype, result", PAIRS)
def test_opcheck_and_fake_tensors(dtype, result):
    a, b = integers(24, 64, dtype=dtype), integers(32, 64, dtype=dtype, seed=1).t()
    options = {"precision": "tf32"} if dtype == torch.float32 else {}
    assert matmul(a, b, **options).dtype == result
    assert torch.equal(matmul(a, b, **options).double(), a.double() @ b.double())
    checks = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    own = checks[1:] if dtype == E4M3 else checks  # test_schema itself multiplies its inputs, which torch cannot in fp8
    outcome = torch.library.opcheck(torch.ops.hopper_gemm.matmul.default, (a, b), options, test_utils=own)
    assert set(outcome.values()) == {"SUCCESS"}, outcome
    mode = FakeTensorMode()
    with mode:
        assert matmul(mode.from_tensor(a), mode.from_tensor(b), **options).dtype == result
    f = torch.compile(lambda x: matmul(x, b, **options), backend="aot_eager", fullgraph=True)
    assert torch.equal(f(a), matmul(a, b, **options))


@needs("fp32")
@pytest.mark.parametrize("switch", [False, True])
def test_gradients_of_float32(switch, tf32_switch):
    """The switch is asked again in the backward, as torch's products do."""
    tf32_switch.allow_tf32 = switch
    options = {} if switch else {"precision": "tf32"}
    a, b = integers(24, 64, dtype=torch.float32).requires_grad_(), integers(64, 32, dtype=torch.float32).requires_grad_()
    grad = integers(24, 32, dtype=torch.float32, seed=2)
    matmul(a, b, **options).backward(grad)
    assert torch.equal(a.grad, grad @ b.detach().t()) and torch.equal(b.grad, a.detach().t() @ grad)


@needs("fp32")
def test_float32_without_a_word_keeps_its_bits_when_recorded_too():
    a = torch.full((24, 64), 1 + 2.0**-12).requires_grad_()
    b = torch.eye(64)[:, :32]
    y = matmul(a, b)
    y.backward(torch.full((24, 32), 1 + 2.0**-12))
    assert bool((y == 1 + 2.0**-12).all()) and bool((a.grad[:, :32] == 1 + 2.0**-12).all())


@needs("e4m3")
def test_fp8_has_no_derivative_and_says_so():
    a, b = integers(24, 64, dtype=E4M3).requires_grad_(), integers(32, 64, dtype=E4M3).t()
    for product in (matmul, torch.ops.hopper_gemm.matmul):
        with pytest.raises(errors.AutogradError, match="float8_e4m3fn"):
            product(a, b)
    with torch.no_grad():
        assert matmul(a, b).dtype == BF16


@needs("e4m3", "s8")
@pytest.mark.parametrize("dtype", [E4M3, torch.int8])
def test_autocast_leaves_fp8_and_integers_alone(dtype):
    a, b = integers(24, 64, dtype=dtype), integers(32, 64, dtype=dtype).t()
    with torch.autocast("cpu", dtype=BF16):
        assert torch.equal(matmul(a, b).double(), a.double() @ b.double())
