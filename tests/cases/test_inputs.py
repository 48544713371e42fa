"""Cases of the kinds input-check, error-message and dtype: what cannot be computed is refused in words, never guessed."""

from __future__ import annotations

import contextlib
import itertools

import pytest
import torch
from support.exact import BF16, ones
from support.features import needs

import hopper_gemm
from hopper_gemm import errors, matmul

KINDS = (errors.HopperGemmError, TypeError)  # an unknown keyword is Python's own TypeError


def refusal(*args: object, **kwargs: object) -> str:
    with pytest.raises(KINDS) as caught:
        matmul(*args, **kwargs)
    return str(caught.value)


def still_works(device: str) -> bool:
    return bool((matmul(ones(64, 64, device=device), ones(64, 64, device=device)) == 64).all())


@pytest.mark.parametrize(
    "a, b", [((10, 15), (14, 32)), ((2, 5), (3, 7)), ((256, 17), (16, 32)), ((16, 16), (17, 16)), ((1, 1), (2, 1))]
)
def test_c061_inner_dimensions_differ(a, b, device):
    text = refusal(ones(*a, device=device), ones(*b, device=device))
    assert str(a[1]) in text and str(b[0]) in text and "K is" in text


def test_c063_0_dimensions_and_mismatched_batches(device):
    for a, b in (((), (4, 4)), ((4, 4), ()), ((2, 3, 4, 32), (20, 8))):
        text = refusal(ones(*a, device=device), ones(*b, device=device)).lower()
        assert "dim" in text or "shape" in text


@pytest.mark.parametrize("a, b", [((4,), (4, 4)), ((4, 4), (4,)), ((4,), (4,)), ((3,), (2, 3, 5)), ((2, 5, 3), (3,))])
def test_c063_vectors_as_torch_matmul_has_them(a, b, device):
    x, y = ones(*a, device=device), ones(*b, device=device)
    result, expected = matmul(x, y), torch.matmul(x.double(), y.double())
    assert result.shape == expected.shape and torch.equal(result.double(), expected)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.bool, torch.complex64, torch.float64])
def test_c064_unsupported_dtypes_are_named(dtype, device):
    x = torch.ones(32, 32, device=device, dtype=dtype)
    text = refusal(x, x)
    assert str(dtype) in text and "bfloat16" in text and "dtype" in text


@needs("u8")
def test_c064_uint8_is_supported(device):
    x = torch.full((32, 32), 255, device=device, dtype=torch.uint8)
    y = matmul(x, x)
    assert y.dtype == torch.int32 and bool((y == 32 * 255 * 255).all())


def test_c065_misspelt_schedules_and_unknown_keywords(device):
    x = ones(64, 64, device=device)
    assert "steam_k" in refusal(x, x, schedule="steam_k") and "'auto'" in refusal(x, x, schedule="steam_k")
    assert "'AUTO '" in refusal(x, x, schedule="AUTO ")
    assert "3" in refusal(x, x, schedule=3)
    with pytest.raises(TypeError, match="schedul"):
        matmul(x, x, schedul="auto")


@pytest.mark.parametrize("schedule", ["", None, "auto\n", b"auto"])
def test_c066_an_empty_or_odd_schedule(schedule, device):
    text = refusal(ones(64, 64, device=device), ones(64, 64, device=device), schedule=schedule)
    assert "auto" in text


@pytest.mark.gpu
def test_c067_cpu_tensors_among_the_inputs():
    x = ones(64, 64, device="cuda")
    for a, b in ((x, x.cpu()), (x.cpu(), x), (x.cpu(), x.cpu()), (x, x.cpu().pin_memory())):
        text = refusal(a, b)
        assert "CUDA" in text or "device" in text
    assert still_works("cuda")


@pytest.mark.gpu
def test_c069_an_unrelated_earlier_cuda_error_is_not_blamed_on_us():
    x = ones(128, 128, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaHostUnregister(4096)  # fails, and leaves that behind as the last error
    try:
        y = matmul(x, x).cpu()
    finally:  # torch's next launch reports it, to whoever comes next
        with contextlib.suppress(RuntimeError):
            torch.zeros(1, device="cuda")
    assert bool((y == 128).all())


DTYPES = (BF16, torch.float16, torch.float32)


@pytest.mark.parametrize("first, second", list(itertools.permutations(DTYPES, 2)))
def test_c072_mixed_dtypes_are_refused_and_both_named(first, second, device):
    text = refusal(ones(64, 64, device=device, dtype=first), ones(64, 64, device=device, dtype=second))
    assert "dtype" in text and str(first) in text and str(second) in text


@pytest.mark.parametrize("first, second", list(itertools.permutations(DTYPES, 2)))
def test_c072_also_when_compiled(first, second, device):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: matmul(x, y), backend="aot_eager")
    with pytest.raises(Exception) as caught:
        compiled(ones(64, 64, device=device, dtype=first), ones(64, 64, device=device, dtype=second))
    assert "dtype" in str(caught.value) and str(first) in str(caught.value) and str(second) in str(caught.value)


def test_c073_inside_an_autocast_region(device):
    single, half = torch.ones(64, 64, device=device), ones(64, 64, device=device)
    with torch.autocast(device, dtype=BF16):
        y = matmul(half, half)
        assert bool((y == 64).all())
        for a, b in ((single, single), (single, half)):
            try:
                y = matmul(a, b)
            except hopper_gemm.HopperGemmError as error:
                assert "dtype" in str(error) or "float32" in str(error)
            else:  # cast, as torch.mm does, or computed in float32
                assert y.dtype in (BF16, torch.float32) and bool((y == 64).all())
    assert still_works(device)
