"""The memory of products seen before, with a stand-in for the launch: what it finds, and when it sends the caller the long way."""

from __future__ import annotations

import gc
import itertools

import pytest
import torch

from hopper_gemm import _extension, kernels

_C = _extension.load()
KERNEL = next(k for k in kernels("bf16_*_tn_*") if not k.exchanges)
BF16 = torch.bfloat16


class Product:
    """out = a @ b, counted; the arguments are those of `_C.gemm`."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def __call__(self, kernel, a, b, out, *options):
        self.seen.append((kernel, *options))
        out.copy_((a.double() @ b.double()).to(out.dtype))


@pytest.fixture
def product() -> Product:
    return Product()


@pytest.fixture
def known(product):
    return _C.Launches(product)


def operands(m: int = 64, n: int = 48, k: int = 32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(m, k).to(BF16), torch.randn(n, k).to(BF16).t(), torch.empty(m, n, dtype=BF16)


def remember(known, a, b, out, *, given: bool = False) -> None:
    known.remember(a, b, out if given else None, out, KERNEL.id, 1, 4, 0, False, 1)


def test_what_was_remembered_is_launched(known, product):
    a, b, out = operands()
    assert known.call(a, b, None) is None and len(known) == 0
    remember(known, a, b, out)
    y = known.call(a, b, None)
    assert torch.equal(y, (a.double() @ b.double()).to(BF16)) and y.is_contiguous() and y.dtype == BF16
    assert product.seen == [(KERNEL.id, 1, 4, 0, False, 1, None, False)] and len(known) == 1
    fresh = [x.clone(memory_format=torch.preserve_format) for x in (a, b)]
    assert torch.equal(known.call(*fresh, None), y)
    known.clear()
    assert known.call(a, b, None) is None and len(known) == 0


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_static_b_is_remembered(known, product, exchanged):
    kernel = next(k for k in kernels("bf16_*_tn_*") if k.exchanges == exchanged)
    a, b, out = operands()
    known.remember(a, b, None, out, kernel.id, 0, 8, 0, exchanged, 1, True)
    known.call(a, b, None)
    assert product.seen == [(kernel.id, 0, 8, 0, exchanged, 1, None, True)]


def test_a_given_output_is_written_returned_and_counted_as_modified(known):
    a, b, out = operands()
    remember(known, a, b, out)
    assert known.call(a, b, out) is None
    remember(known, a, b, out, given=True)
    version = out._version
    assert known.call(a, b, out) is out and out._version == version + 2  # the stand-in's own copy_ counts as well
    with torch.inference_mode():
        written = torch.empty_like(out)
        assert known.call(a, b, written) is written and torch.equal(written, out)
        assert known.call(a, b, None).is_inference()
    assert not known.call(a, b, None).is_inference()


def test_whatever_changes_the_launch_is_another_product(known):
    a, b, out = operands()
    remember(known, a, b, out)
    remember(known, a, b, out, given=True)
    others = [
        (a[:56], b, None),
        (a, b[:, :40], None),
        (torch.empty(64, 64, dtype=BF16)[:, :32], b, None),
        (a, b.contiguous(), None),
        (a.half(), b.half(), None),
        (a.half(), b, None),
        (a, b, out.float()),
        (a, b, torch.empty(48, 64, dtype=BF16).t()),
        (a[None], b, None),
        (a.to("meta"), b.to("meta"), None),
    ]
    for other in others:
        assert known.call(*other) is None


def test_addresses_that_need_a_look_go_the_long_way(known):
    a, b, out = operands(64, 64, 64)
    remember(known, a, b, out)
    remember(known, a, b, out, given=True)
    shifted = torch.empty(64 * 64 + 1, dtype=BF16)[1:].view(64, 64)
    assert known.call(shifted, b, None) is None and known.call(a, shifted.t(), None) is None
    assert known.call(a, b, a) is None and known.call(a, b, b.t()) is None
    memory = torch.randn(3, 64, 64).to(BF16)
    assert known.call(memory[0], memory[1].t(), memory[2]) is not None
    assert known.call(memory[0], memory[1].t(), memory.view(-1)[64 * 64 + 8 :][: 64 * 64].view(64, 64)) is None


def test_a_view_with_its_negative_bit_set_goes_the_long_way(known, product):
    """The kernel would read the elements without their sign; the long way says so."""
    a, b, out = operands()
    remember(known, a, b, out)
    remember(known, a, b, out, given=True)
    for arguments in ((torch._neg_view(a), b, None), (a, torch._neg_view(b), None), (a, b, torch._neg_view(out))):
        assert known.call(*arguments) is None
    assert not product.seen and known.call(a, b, out) is out


def test_what_the_dispatcher_has_work_for_goes_the_long_way(known):
    a, b, out = operands()
    remember(known, a, b, out)
    remember(known, a, b, out, given=True)
    needs_grad = a.clone().requires_grad_()
    assert known.call(needs_grad, b, None) is None
    with torch.no_grad():
        assert known.call(needs_grad, b, None) is not None
        assert known.call(torch.nn.Parameter(a), b, out) is out
    assert known.call(torch.Tensor._make_subclass(type("Own", (torch.Tensor,), {}), a), b, None) is None
    for bad in itertools.permutations((a, b, 3)):
        assert known.call(*bad) is None
    assert known.call(a.to_sparse(), b, None) is None
    with pytest.raises(TypeError):
        known.call(a, b)


def test_errors_of_the_launch_arrive_and_nothing_leaks(known):
    def broken(*arguments):
        raise ValueError("no luck")

    failing = _C.Launches(broken)
    a, b, out = operands()
    remember(failing, a, b, out)
    with pytest.raises(ValueError, match="no luck"):
        failing.call(a, b, None)
    with pytest.raises(ValueError, match="does not exist"):
        failing.remember(a, b, None, out, 10**6, 0, 8, 0, False, 1)
    call = _C.Launches(lambda *arguments: None).call
    gc.collect()
    assert call(a, b, None) is None


def test_vectors_and_batches_are_remembered_too(known):
    a, b = torch.randn(3, 64, 32).to(BF16), torch.randn(3, 48, 32).to(BF16).transpose(1, 2)
    out = torch.empty(3, 64, 48, dtype=BF16)
    remember(known, a, b, out)
    assert torch.equal(known.call(a, b, None), (a.double() @ b.double()).to(BF16))
    deep = torch.empty([1] * 7 + [8, 8], dtype=BF16)
    remember(known, deep, deep.transpose(-1, -2), deep)
    assert known.call(deep, deep.transpose(-1, -2), None) is None


def test_the_memory_is_bounded(known):
    a, b, out = operands(8, 8, 8)
    big = torch.empty(5000, 8, dtype=BF16)
    for m in range(1, 4200):
        remember(known, big[:m], b, big[:m])
    assert 0 < len(known) <= 4096


# --- launches of the emulator: what a kernel is told


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("slices", [1, 2])
def test_the_tensors_of_this_call_are_read_and_not_those_of_the_first(exchanged, slices):
    kernel = next(k for k in kernels("bf16_*_tn_*") if k.exchanges == exchanged and k.promote_k == 0)
    known = _C.Launches()

    def tensors(seed: int) -> tuple[torch.Tensor, ...]:
        draw = torch.Generator().manual_seed(seed)
        a, b, c, bias, residual = (torch.randn(shape, generator=draw) for shape in ((40, 256), (24, 256), (24, 40), (24,), (40, 1)))
        scales = (torch.rand(shape, generator=draw) + 0.5 for shape in ((40, 1), (1, 24), (1,)))
        return a.to(BF16), b.to(BF16).t(), c.half().t(), bias.to(BF16), residual, *scales

    out = torch.empty(40, 24, dtype=BF16)
    a, b, *added = tensors(0)
    epilogue = lambda alpha, beta, c, bias, residual, *scales: (alpha, beta, c, bias, "gelu", residual, *scales)  # noqa: E731
    known.remember(a, b, None, out, kernel.id, 0, 8, 0, exchanged, slices, False, _C.Epilogue(*epilogue(2.0, 3.0, *added)))
    for seed, alpha, beta in ((0, 2.0, 3.0), (1, 0.5, -1), (2, -3, 0.25)):
        a, b, *added = tensors(seed)
        options = epilogue(alpha, beta, *added)
        got, want = known.call(a, b, None, *options), torch.empty_like(out)
        _C.gemm_emulated(kernel.id, a, b, want, exchanged=exchanged, slices=slices, epilogue=_C.Epilogue(*options))
        assert torch.equal(got, want)
    assert known.call(a, b, None) is None and known.call(a, b, None, alpha, 0.0, *options[2:]) is None


def test_the_emulator_reads_plain_products_too():
    known = _C.Launches()
    a, b, out = operands()
    remember(known, a, b, out)
    remember(known, a, b, out, given=True)
    a, b, out = operands()
    want = torch.empty_like(out)
    _C.gemm_emulated(KERNEL.id, a, b, want)
    assert torch.equal(known.call(a, b, None), want) and known.call(a, b, out) is out and torch.equal(out, want)
