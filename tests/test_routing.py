"""`route`: torch's products of a region on our kernels, counted; what cannot run here runs on torch, with the reason."""

from __future__ import annotations

import pytest
import torch
from support.exact import assert_exact, ints

import hopper_gemm

BF16 = torch.bfloat16


@pytest.fixture(autouse=True)
def emulated():
    with hopper_gemm.emulator() as emulator:
        yield emulator


def test_every_name_of_a_product(emulated):
    a, b, c = ints(16, 32, device="cpu"), ints(32, 24, device="cpu"), ints(16, 24, device="cpu")
    weight, bias = ints(24, 32, device="cpu"), ints(24, device="cpu")
    with hopper_gemm.route() as routed:
        results = [
            (torch.mm(a, b), a, b, 0),
            (a.mm(b), a, b, 0),
            (torch.mm(input=a, mat2=b), a, b, 0),
            (torch.matmul(a, b), a, b, 0),
            (a @ b, a, b, 0),
            (torch.addmm(c, a, b), a, b, c.double()),
            (torch.addmm(c, a, b, beta=2, alpha=3), 3 * a, b, 2 * c.double()),
            (torch.nn.functional.linear(a, weight, bias), a, weight.t(), bias.double()),
        ]
    for y, x, z, plus in results:
        assert_exact(y, x, z, plus)
    assert routed.taken == {"mm": 3, "matmul": 2, "addmm": 2, "linear": 1} and not routed.left
    assert len(emulated.reports) == 8 and "8 products on hopper_gemm, 0 on torch" in str(routed)


def test_products_of_batches():
    a, b, c = ints(3, 16, 32, device="cpu"), ints(3, 32, 24, device="cpu"), ints(16, 24, device="cpu")
    with hopper_gemm.route() as routed:
        results = torch.bmm(a, b), a.bmm(b), torch.baddbmm(c, a, b), a @ b[0]
    for y, z, plus in zip(results, (b, b, b, b[0]), (0, 0, c.double(), 0)):
        assert_exact(y, a, z, plus)
    assert routed.taken == {"bmm": 2, "baddbmm": 1, "matmul": 1} and not routed.left


def test_what_is_left_to_torch_and_why(emulated):
    a, double = ints(16, 32, device="cpu"), torch.ones(8, 8, dtype=torch.float64)
    with hopper_gemm.route() as routed:
        assert bool((double @ double == 8).all())
        torch.mm(a, a.t(), out=torch.empty(16, 16, dtype=BF16))
        with pytest.raises(RuntimeError):
            torch.mm(a[None], a)
        a + a
    assert routed.taken.total() == 0 and routed.left.total() == 3 and not emulated.reports
    reasons = {name: reason for name, reason in routed.left}
    assert "float64" in reasons["matmul"]
    assert "on torch: out= is given" in str(routed) and "not 2-D" in str(routed)


def test_products_inside_larger_functions_are_counted_as_torchs(emulated):
    a = ints(16, 32, device="cpu")
    with hopper_gemm.route() as routed:
        torch.einsum("ik,jk->ij", a, a)
        torch.nn.MultiheadAttention(32, 2, dtype=BF16)(*[a[None]] * 3)
    assert routed.left["einsum", "torch computes it as a whole"] == 1 and not emulated.reports
    assert routed.left["multi_head_attention_forward", "torch computes it as a whole"] == 1


def test_a_model_with_its_backward():
    layer = torch.nn.Linear(32, 24, dtype=BF16)
    x = torch.randn(8, 32).to(BF16)
    want = torch.autograd.grad(layer(x).float().square().sum(), layer.weight)[0]
    with hopper_gemm.route() as routed:
        y = layer(x)
    got = torch.autograd.grad(y.float().square().sum(), layer.weight)[0]
    assert routed.taken == {"linear": 1}
    assert float((got - want).norm()) < 2**-6 * float(want.norm())


def test_outside_the_region_nothing_changes(emulated):
    a = ints(16, 32, device="cpu")
    with hopper_gemm.route():
        pass
    torch.mm(a, a.t())
    assert not emulated.reports


def test_nested_regions_and_exceptions():
    a = ints(16, 32, device="cpu")
    with pytest.raises(ZeroDivisionError), hopper_gemm.route() as outer:
        with hopper_gemm.route() as inner:
            torch.mm(a, a.t())
        torch.mm(a, a.t())
        raise ZeroDivisionError
    assert inner.taken == {"mm": 1} and outer.taken == {"mm": 1}
