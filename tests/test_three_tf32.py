"""Float32 products that keep their bits: each operand packed as two tf32 parts (3xTF32), summed by the tf32 kernels."""

from __future__ import annotations

import pytest
import torch

import hopper_gemm
from hopper_gemm import _extension, explain, matmul
from hopper_gemm.packing import LEFT, RIGHT
from hopper_gemm.registry import all_kernels
from support.error_model import sums
from hopper_gemm.schedule import Schedule

pytestmark = pytest.mark.skipif(not any(k.input == "tf32" for k in all_kernels()), reason="no tf32 kernels in this build")
_C = _extension.load()
INF, NAN = float("inf"), float("nan")


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def fp32(a: torch.Tensor, b: torch.Tensor, **options) -> torch.Tensor:
    with hopper_gemm.emulator():
        return matmul(a, b, precision="fp32", **options)


def check(a: torch.Tensor, b: torch.Tensor, **options) -> None:
    """Within the sums' own error and what is left out: low * low, and the bits of low that tf32 drops."""
    y = fp32(a, b, **options)
    exact, magnitude = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    assert y.shape == exact.shape
    assert bool(((y.double() - exact).abs() <= sums("3xtf32", a.shape[-1]) * magnitude).all())


def parts(x: torch.Tensor, split: int) -> torch.Tensor:
    rows, columns = x.shape
    pitch = (columns + 3) // 4 * 4
    target = torch.full((rows, 3 * pitch), 7.0)
    _C.copy_emulated([(x, target[:, :columns], pitch, split)])
    return target.view(rows, 3, pitch)


def is_tf32(x: torch.Tensor) -> bool:
    return not (x.view(torch.int32) & 0x1FFF).any()


def test_every_number_is_the_sum_of_its_parts():
    x = torch.cat([randn(5, 9), randn(5, 9) * 2.0**100, randn(5, 9) * 2.0**-100, torch.full((1, 9), 3.4e38), torch.zeros(1, 9)])
    left, right = parts(x, LEFT), parts(x, RIGHT)
    low, high = left[:, 0, :9], left[:, 2, :9]
    assert is_tf32(high) and torch.equal((high.double() + low.double()).float(), x)
    assert bool((low.abs() <= high.abs() * 2.0**-10).all())
    assert torch.equal(left[:, 1, :9], high) and torch.equal(right[:, 0, :9], high)
    assert torch.equal(right[:, 1, :9], low) and torch.equal(right[:, 2, :9], high)
    assert not left[:, :, 9:].any() and not right[:, :, 9:].any()


def test_infinities_and_nan_have_one_part():
    x = torch.tensor([[INF, -INF, NAN, 1.0]])
    for split in (LEFT, RIGHT):
        found = parts(x, split)[0]
        assert torch.equal(found[2].nan_to_num(5.0), x[0].nan_to_num(5.0)) and not found[:2, :3].any()
    a, b = randn(20, 24), randn(24, 16, seed=1)
    a[3, 5], b[7, 2], a[9, 9] = INF, NAN, -INF
    y, exact = fp32(a, b), a.double() @ b.double()
    assert torch.equal(y.isnan(), exact.isnan()) and torch.equal(y.isinf(), exact.isinf())
    assert torch.equal(y[exact.isinf()].double(), exact[exact.isinf()])


@pytest.mark.parametrize("k", [1, 3, 7, 64, 200])
def test_random_numbers(k):
    check(randn(40, k), randn(k, 48, seed=1))


@pytest.mark.parametrize("k", [1, 2, 4, 8, 16, 32])
def test_short_sums_beside_fp32_arithmetic(k):
    """What docs/accuracy.md says of them. The product of the low parts is missing, so they are not as good; below 64 of K
    benchmarks/accuracy.py does not look."""
    a, b = randn(64, k), randn(k, 64, seed=1)
    exact = a.double() @ b.double()
    theirs = torch.zeros(64, 64)
    for i in range(k):
        theirs = torch.addcmul(theirs, a[:, i : i + 1], b[i : i + 1])
    errors = [float((y.double() - exact).square().mean().sqrt()) for y in (fp32(a, b), theirs)]
    assert errors[0] <= 3.5 * errors[1]


@pytest.mark.parametrize(
    "a, b",
    [((7,), (7, 5)), ((5, 7), (7,)), ((3, 5, 7), (7, 4)), ((3, 5, 7), (3, 7, 4)), ((2, 1, 5, 7), (3, 7, 4)), ((5, 7), (3, 7, 4))],
)
def test_vectors_and_batches(a, b):
    check(randn(*a), randn(*b, seed=1))


def test_any_layout():
    big = randn(130, 140)
    for a in (big[:40, 1:34], big[:33, :40].t(), big[:80:2, :99:3], big[:1, :33].expand(40, 33)):
        for b in (big[:33, :20], big[:20, :33].t(), big[1:34, 1:60:2], big[:33, :1].expand(33, 20)):
            check(a, b)
    out = torch.zeros(40, 40)[:, ::2]
    assert fp32(big[:40, :33], big[:33, :20], out=out) is out and torch.equal(out, fp32(big[:40, :33], big[:33, :20]))


def test_bits_that_tf32_drops_are_kept():
    x = torch.full((16, 16), 1 + 2.0**-12)
    x[:, 1::2] = 1 + 2.0**-20
    assert torch.equal(fp32(x, torch.eye(16)), x) and torch.equal(fp32(torch.eye(16), x), x)
    integers = torch.randint(-4000, 4000, (24, 40)).float()
    assert torch.equal(fp32(integers, torch.eye(40)), integers)


def test_explain_says_three_times():
    with hopper_gemm.emulator():
        text = str(explain(randn(100, 50), randn(50, 80), precision="fp32"))
    assert "100 x 80 x 156, 3xtf32 -> f32" in text and "packs   a and b" in text


@pytest.mark.parametrize("schedule", [s.value for s in Schedule])
def test_long_sums_leave_the_tensor_core(schedule):
    """Only kernels that promote, of every schedule; tf32 itself takes the others, and so does a K of one promotion."""
    a, b = randn(70, 100), randn(100, 40)
    with hopper_gemm.emulator():
        asked = {p: explain(a, b, precision=p, schedule=schedule).candidates for p in ("fp32", "tf32")}
        assert {c.kernel.promote_k for c in asked["fp32"]} == {32} and {c.kernel.promote_k for c in asked["tf32"]} == {0}
        assert {c.kernel.promote_k for c in explain(a[:, :8], b[:8], precision="fp32", schedule=schedule).candidates} == {0, 32}
    check(a, b, schedule=schedule)


def test_a_kernel_that_does_not_promote_is_refused_unless_it_is_named():
    a, b = randn(70, 100), randn(100, 40)
    name = next(k.name for k in all_kernels() if k.input == "tf32" and not k.promote_k and k.schedule == "cooperative")
    with hopper_gemm.emulator():
        assert explain(a, b, precision="fp32", config=name).kernel == name
        with pytest.raises(hopper_gemm.errors.UnsupportedProblemError, match="without promotion, which takes precision='tf32'"):
            matmul(a, b, precision="fp32", config=name[:-1] + "?")


def test_torchs_switch_decides(monkeypatch):
    a = torch.full((16, 16), 1 + 2.0**-12)
    with hopper_gemm.emulator():
        for setting, kept in (("none", True), ("ieee", True), ("tf32", False)):
            monkeypatch.setattr("hopper_gemm.precision.switch", lambda setting=setting: setting)
            assert torch.equal(matmul(a, torch.eye(16)), a) == kept
        monkeypatch.setattr("hopper_gemm.precision.switch", lambda: "tf32")
        assert torch.equal(matmul(a, torch.eye(16), precision="fp32"), a)
