"""Cases of the kind out-arg: out is filled where it lies, or refused before anything is written."""

from __future__ import annotations

import pytest
import torch
from support.exact import BF16, assert_exact, ints, ones

from hopper_gemm import errors, matmul


@pytest.mark.parametrize("other", ["transposed", "itself"])
def test_c054_out_is_one_of_the_inputs(other, device):
    size = 1024 if device == "cuda" else 128
    x = ints(size, size, device=device)
    before = x.clone()
    b = x.t() if other == "transposed" else x
    with pytest.raises(errors.OverlapError, match="overlap"):
        matmul(x, b, out=x)
    assert torch.equal(x, before)


def test_c054_out_is_a_term_of_the_epilogue(device):
    """As torch.addmm's in-place form: every element is read before the one it becomes is written. Else refused."""
    a, b, c = ints(96, 64, device=device), ints(64, 80, device=device), ints(96, 80, device=device)
    before = c.clone()
    try:
        matmul(a, b, beta=1.0, c=c, out=c)
    except errors.OverlapError as error:
        assert "overlap" in str(error) and torch.equal(c, before)
    else:
        assert_exact(c, a, b, before.double())
    with pytest.raises(errors.OverlapError, match="overlap"):
        matmul(a, b[:, :80], beta=1.0, c=before[:, :1], out=before)


@pytest.mark.parametrize("shape", [(32, 47), (48, 32), (32 * 48,), (0,), (1, 32, 48), (33, 48)])
def test_c056_out_of_the_wrong_shape(shape, device):
    a, b = ints(32, 64, device=device), ints(64, 48, device=device)
    out = torch.full(shape, 7.0, device=device, dtype=BF16)
    with pytest.raises(errors.ShapeError) as caught:
        matmul(a, b, out=out)
    assert "shape" in str(caught.value) and str(tuple(shape)) in str(caught.value) and "(32, 48)" in str(caught.value)
    assert tuple(out.shape) == tuple(shape) and bool((out == 7).all())


def test_c057_out_of_the_wrong_dtype_or_device_or_against_out_dtype(device):
    a, b = ints(32, 64, device=device), ints(64, 48, device=device)
    out = torch.full((32, 48), 7.0, device=device)
    assert matmul(a, b, out=out) is out
    assert_exact(out, a, b)
    integers = torch.full((32, 48), 7, device=device, dtype=torch.int32)
    with pytest.raises(errors.DTypeError, match="dtype torch.int32"):
        matmul(a, b, out=integers)
    assert bool((integers == 7).all())
    with pytest.raises(errors.DTypeError, match="out_dtype=torch.float16"):
        matmul(a, b, out=out.fill_(7), out_dtype=torch.float16)
    assert bool((out == 7).all())
    if device == "cuda":
        elsewhere = torch.full((32, 48), 7.0, dtype=BF16)
        with pytest.raises(errors.DeviceError, match="device"):
            matmul(a, b, out=elsewhere)
        assert bool((elsewhere == 7).all())
    assert bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


@pytest.mark.parametrize("n", [200, 104])
def test_c058_a_column_major_out_stays_one(n, device):
    a, b = ints(96, 64, device=device), ints(64, n, device=device)
    out = torch.full((n, 96), float("nan"), device=device, dtype=BF16).t()
    address, strides = out.data_ptr(), out.stride()
    assert matmul(a, b, out=out) is out
    assert out.data_ptr() == address and out.stride() == strides
    assert_exact(out, a, b)


@pytest.mark.parametrize("view", ["columns", "rows and columns", "transposed", "odd slice"])
def test_c060_a_strided_slice_as_out(view, device):
    a, b = ints(64, 64, device=device), ints(64, 100, device=device)
    big = torch.full((200, 210), 7.0, device=device, dtype=BF16)
    out = {
        "columns": lambda: big[:64, :200:2], "rows and columns": lambda: big[1:193:3, 1:201:2],
        "transposed": lambda: big[:200:2, :192:3].t(), "odd slice": lambda: big[3:67, 5:105],
    }[view]()  # fmt: skip
    assert matmul(a, b, out=out) is out
    assert_exact(out, a, b)
    out.fill_(7)
    assert bool((big == 7).all())
