"""Cases of the kinds autograd and functorch: no graph is dropped silently, every form of gradient is exact."""

from __future__ import annotations

import pytest
import torch
from support.exact import assert_exact, ints, ones

from hopper_gemm import errors, matmul


def exact(a, b):
    """In float64, rounded once; its gradients are float64's, rounded once."""
    return (a.double() @ b.double()).to(a.dtype)


def test_c100_no_silent_detach(device):
    a, b = (ints(*s, device=device).requires_grad_() for s in ((64, 128), (128, 96)))
    y = matmul(a, b)
    assert y.requires_grad and y.grad_fn is not None
    (y * 2).sum().backward()
    assert torch.equal(a.grad, (2 * b.detach().double().sum(1)).to(a.dtype).expand_as(a))
    assert torch.equal(b.grad, (2 * a.detach().double().sum(0)).to(b.dtype).unsqueeze(1).expand_as(b))


FORMS = {
    "expanded": lambda y: y.sum(),
    "sliced": lambda y: torch.cat([y, 2 * y], dim=1).sum(),
    "transposed": lambda y: (y.t().contiguous().t() * 1).t().sum(),
    "strided": lambda y: y[::2, ::3].sum(),
    "broadcast rows": lambda y: y.mean(0).sum() * 64,
    "one element": lambda y: y[3, 5] * 3,
    "column-major": lambda y: (y.t().contiguous() * torch.arange(64, device=y.device, dtype=y.dtype)).sum(),
}


@pytest.mark.parametrize("form", FORMS)
def test_c101_gradients_of_any_form(form, device):
    a0, b0 = ints(64, 128, device=device), ints(128, 96, device=device)
    results = []
    for product in (matmul, exact):
        a, b = a0.clone().requires_grad_(), b0.clone().requires_grad_()
        FORMS[form](product(a, b)).backward()
        results.append((a.grad, b.grad))
    for got, want in zip(*results):
        assert torch.equal(got, want)


def test_c103_out_bumps_the_version_counter(device):
    a, out = ones(64, 64, device=device), torch.zeros(64, 64, device=device, dtype=torch.bfloat16)
    w = ones(64, 64, device=device).requires_grad_()
    loss = (w * out).sum()  # saves out for the backward
    version = out._version
    matmul(a, a, out=out)
    assert out._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(errors.AutogradError, match="requires_grad"):
        matmul(w, a, out=out)


def test_c113_vmap(device):
    a3, b, b3 = (ints(*s, device=device) for s in ((5, 64, 32), (32, 48), (5, 32, 48)))
    in_a = torch.func.vmap(lambda x: matmul(x, b))(a3)
    in_both = torch.func.vmap(matmul)(a3, b3)
    in_b = torch.func.vmap(lambda x: matmul(a3[0], x), in_dims=2)(b3.permute(1, 2, 0))
    nested = torch.func.vmap(torch.func.vmap(matmul, in_dims=(None, 0)), in_dims=(0, None))(a3, b3)
    for y, x, z in ((in_a, a3, b), (in_both, a3, b3), (in_b, a3[0], b3), (nested, a3[:, None], b3[None])):
        assert_exact(y, x, z)


def test_c113_vmap_of_out_is_refused(device):
    a3, b = ints(5, 64, 32, device=device), ints(32, 48, device=device)
    out = torch.empty(5, 64, 48, device=device, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match="(?i)vmap|batch"):
        torch.func.vmap(lambda x, y: matmul(x, b, out=y))(a3, out)
