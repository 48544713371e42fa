"""tf32, fp8 and 8-bit integers on the emulator: every schedule against float64, the formats bit for bit, promotion, wrap
around, saturating outputs, and torch's switches for float32.
"""

from __future__ import annotations

import pytest
import torch
from support.guards import Guarded
from support.operands import KERNEL_DTYPES, LAYOUTS, Shape, kernel_arguments, kernel_dtypes, operands
from support.reference import Reference, same_bits

import hopper_gemm
from hopper_gemm import Schedule, _extension, errors, matmul
from hopper_gemm.problem import default_output
from hopper_gemm.registry import Kernel, all_kernels

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
SCHEDULES = [s.value for s in Schedule]
PAIRS = [(a, b) for types in (("e4m3", "e5m2"), ("s8", "u8")) for a in types for b in types] + [("tf32", "tf32")]
SHAPES = (Shape(72, 136, 300), Shape(13, 24, 8), Shape(1, 40, 24), Shape(65, 129, 200), Shape(40, 1, 17))


def narrow() -> list[Kernel]:
    return [k for k in all_kernels() if k.emulated and k.a_type not in ("bf16", "f16")]


def bits(values, dtype: torch.dtype) -> torch.Tensor:
    """A column of values given by their bits."""
    return torch.tensor(values, dtype=torch.uint8).view(dtype).unsqueeze(1)


def first_column(values: torch.Tensor, width: int) -> torch.Tensor:
    """A matrix of zeros but for its first column."""
    matrix = torch.zeros(values.shape[0], width, dtype=values.dtype)
    matrix[:, :1] = values
    return matrix


def unit_row(width: int, n: int, dtype: torch.dtype) -> torch.Tensor:
    """(width, n), K-major: picks the first column of the other factor."""
    stored = torch.zeros(n, width, dtype=dtype)
    stored[:, 0] = 1
    return stored.t()


@pytest.mark.parametrize("kernel", narrow(), ids=lambda k: k.name)
def test_every_kernel_on_normal_data(kernel):
    fast = kernel.promote_k == 0
    for seed, shape in enumerate((Shape(kernel.tile[0] + 8, kernel.tile[1] + 8, 328), Shape(24, 40, 72))):
        a, b = operands(shape, "tn", kernel_dtypes(kernel), seed=seed)
        guarded = Guarded(shape.m, shape.n, default_output(a.dtype), "cpu", aligned=seed == 0)
        with hopper_gemm.emulator(seed=seed):
            matmul(a, b, out=guarded.view, use_fast_accum=fast, **kernel_arguments(kernel))
        assert Reference(a, b, use_fast_accum=fast).problem_with(guarded.view) == "", kernel.name
        assert guarded.damage() == "", kernel.name


@pytest.mark.parametrize("a_type, b_type", PAIRS)
def test_the_selector_finds_a_kernel_for_every_pair(a_type, b_type):
    for seed, shape in enumerate(SHAPES):
        a, b = operands(shape, "tn", (KERNEL_DTYPES[a_type], KERNEL_DTYPES[b_type]), seed=seed)
        with hopper_gemm.emulator(seed=seed):
            y = matmul(a, b, precision="tf32")
            chosen = hopper_gemm.explain(a, b, precision="tf32").kernel
        assert Reference(a, b).problem_with(y) == "", (shape, chosen)
        assert y.dtype == default_output(a.dtype)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("dtype", [torch.float32, E4M3, torch.int8])
def test_every_schedule_can_be_named(schedule, dtype):
    a, b = operands(Shape(70, 90, 152), "tn", dtype, integers=True)
    with hopper_gemm.emulator(seed=3):
        y = matmul(a, b, schedule=schedule, precision="tf32")
        assert f"_{schedule}_" in hopper_gemm.explain(a, b, schedule=schedule, precision="tf32").kernel
    assert Reference(a, b).inexact_integers(y) == ""


@pytest.mark.parametrize("a_type, b_type", PAIRS)
def test_column_major_out(a_type, b_type):
    a, b = operands(Shape(72, 41, 48), "tn", (KERNEL_DTYPES[a_type], KERNEL_DTYPES[b_type]), integers=True)
    guarded = Guarded(72, 41, default_output(a.dtype), "cpu", column_major=True)
    with hopper_gemm.emulator():
        assert matmul(a, b, out=guarded.view, precision="tf32") is guarded.view
    assert Reference(a, b).inexact_integers(guarded.view) == "" and guarded.damage() == ""


# --- the formats


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_every_fp8_value_is_read_exactly(dtype):
    values = bits(list(range(256)), dtype)
    for schedule in ("multistage", "cooperative"):
        with hopper_gemm.emulator():
            config = {"config": "e5m2_e5m2_*_cooperative_*p128"} if dtype is E5M2 else {"schedule": schedule}
            y = matmul(first_column(values, 16), unit_row(16, 8, dtype), out_dtype=torch.float32, **config)
        expected = values.float()
        assert torch.equal(y[:, :1].nan_to_num(7e7, 8e7, 9e7), expected.nan_to_num(7e7, 8e7, 9e7))
        assert torch.equal(y[:, :1].isnan(), expected.isnan())


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_fp8_outputs_round_to_even_and_saturate(dtype, layout):
    every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)[::7].unsqueeze(1)
    a = first_column(every, 8)
    with hopper_gemm.emulator():
        if layout == "rows":
            y = matmul(a, unit_row(8, 3, torch.bfloat16), out_dtype=dtype)[:, 0]
        else:
            out = torch.empty(3, a.shape[0], dtype=dtype).t()
            y = matmul(a, unit_row(8, 3, torch.bfloat16), out=out)[:, 2]
    largest = torch.finfo(dtype).max
    expected = every[:, 0].float().clamp(-largest, largest).to(dtype).float()  # NaN stays, infinities are clamped
    assert torch.equal(y.float().nan_to_num(7e7), expected.nan_to_num(7e7))


def test_nan_and_inf_of_fp8_stay_in_their_row_and_column():
    a, b = operands(Shape(72, 88, 96), "tn", E5M2, integers=True)
    clean = a.double() @ b.double()
    a[37, 5] = float("nan")
    b.t()[60, 11] = float("inf")
    with hopper_gemm.emulator():
        y = matmul(a, b, out_dtype=torch.float32)
    touched = torch.zeros(72, 88, dtype=torch.bool)
    touched[37], touched[:, 60] = True, True
    assert bool(y[37].isnan().all()) and not bool(y[:, 60].isfinite().any())
    assert torch.equal(y[~touched].double(), clean[~touched])


def test_tf32_rounds_to_nearest_even_in_every_schedule():
    step = 2.0**-10
    ties = torch.tensor([1 + step / 2, 1 + 3 * step / 2, 1 + step / 2 + 2.0**-20, -1 - step / 2, 2 - step / 2, 1e-40])
    rounded = torch.tensor([1.0, 1 + 2 * step, 1 + step, -1.0, 2.0, 0.0])
    a = first_column(ties.unsqueeze(1), 8)
    for schedule in SCHEDULES:
        with hopper_gemm.emulator():
            y = matmul(a, unit_row(8, 4, torch.float32), schedule=schedule, precision="tf32")
        assert torch.equal(y[:5, 0], rounded[:5]), (schedule, y[:, 0])
        assert abs(float(y[5, 0]) - 1e-40) < 1e-41  # a subnormal keeps what its 10 bits hold


def test_all_tf32_kernels_of_one_k_order_give_the_same_bits():
    a, b = operands(Shape(70, 72, 200), "tn", torch.float32)
    results = []
    for schedule in SCHEDULES:
        with hopper_gemm.emulator():
            results.append(matmul(a, b, schedule=schedule, precision="tf32"))
    assert all(same_bits(results[0], other) for other in results[1:])


# --- sums


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_promotion_keeps_what_the_tensor_core_drops(schedule):
    # Ones: the fp8 adder keeps 13 bits below the leading one, so a sum of 2^14 swallows every further 1.
    k = 20000
    a, b = torch.ones(8, k, dtype=E4M3), torch.ones(8, k, dtype=E4M3).t()
    with hopper_gemm.emulator():
        assert bool((matmul(a, b, schedule=schedule, out_dtype=torch.float32) == k).all())


@pytest.mark.parametrize("kernel", [k for k in narrow() if k.input == "e4m3"], ids=lambda k: k.name)
def test_sums_that_are_not_promoted_stop_growing(kernel):
    a, b, out = torch.ones(8, 20000, dtype=E4M3), torch.ones(8, 20000, dtype=E4M3).t(), torch.zeros(8, 8)
    _extension.load().gemm_emulated(kernel.id, a, b, out.t() if kernel.exchanges else out)  # one launch: K in one piece
    assert bool((out == (20000 if kernel.promote_k else 2**14)).all())


def test_promoted_sums_are_closer():
    a, b = operands(Shape(64, 64, 2048), "tn", E4M3)
    exact = a.double() @ b.double()
    with hopper_gemm.emulator():
        promoted, fast = (matmul(a, b, out_dtype=torch.float32, use_fast_accum=f).double() for f in (False, True))
    assert float((promoted - exact).norm()) < 0.5 * float((fast - exact).norm())


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("k", [128, 1000])
@pytest.mark.parametrize("data", ["normal", "one sign", "equal", "descending"])
def test_what_fp8_sums_may_lose(data, k, fast):
    """Sums whose products have one sign lose 16 times as much as those of random signs, and are within the bound of their own."""
    generator = torch.Generator().manual_seed(k)

    def operand() -> torch.Tensor:
        x = torch.randn(48, k, generator=generator)
        x = {"normal": x, "one sign": x.abs(), "equal": x[:, :1], "descending": x.abs().sort(descending=True)[0]}[data]
        return x.expand(48, k).contiguous().to(E4M3)

    a, b = operand(), operand().t()
    reference = Reference(a, b, use_fast_accum=fast)
    with hopper_gemm.emulator():
        for out in (torch.float32, torch.bfloat16):
            y = matmul(a, b, out_dtype=out, use_fast_accum=fast)
            assert reference.problem_with(y) == ""
    dropped = Reference(a[:, 1:], b[1:]).exact.bfloat16()
    assert data != "normal" or "missing" in reference.problem_with(dropped) or "outside" in reference.problem_with(dropped)


def test_which_fp8_kernels_may_run():
    a, b = operands(Shape(64, 64, 512), "tn", E4M3)
    with hopper_gemm.emulator():
        assert "_p128" in hopper_gemm.explain(a, b).kernel
        assert "_p128" not in hopper_gemm.explain(a, b, use_fast_accum=True).kernel
        # no fast kernel of this schedule: the promoted one is at least as exact
        assert "_p128" in hopper_gemm.explain(a, b, schedule="multistage", use_fast_accum=True).kernel
        # named: taken at its word
        name = next(k.name for k in all_kernels() if k.a_type == "e4m3" and k.b_type == "e4m3" and not k.promote_k)
        assert hopper_gemm.explain(a, b, config=name).kernel == name
        # a pattern or a Config is no such word
        for pattern in ("e4m3_e4m3_*_128x256x128_*", hopper_gemm.Config(tile=(128, 256))):
            with pytest.raises(errors.UnsupportedProblemError, match="without promotion, which takes use_fast_accum=True"):
                hopper_gemm.explain(a, b, config=pattern)
            assert "_128x256x128_" in hopper_gemm.explain(a, b, config=pattern, use_fast_accum=True).kernel
        # nothing to promote within 128 of K
        few = hopper_gemm.explain(a[:, :128], b[:128])
        assert {bool(p.kernel.promote_k) for p in few.candidates} == {False, True}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, E4M3, torch.int8])
@pytest.mark.parametrize("schedule", ["auto", *SCHEDULES])
def test_no_k_is_zero(schedule, dtype):
    a, b = torch.empty(70, 0).to(dtype), torch.empty(0, 40).to(dtype)
    with hopper_gemm.emulator():
        for precision in ("fp32", "tf32") if dtype == torch.float32 else (None,):
            y = matmul(a, b, schedule=schedule, precision=precision)
            assert y.shape == (70, 40) and not y.float().any()


def test_integer_sums_wrap_around():
    k = 33056  # 255 * 255 * k is just above 2^31
    a, b = torch.full((8, k), 255, dtype=torch.uint8), torch.full((8, k), 255, dtype=torch.uint8).t()
    exact = 255 * 255 * k
    assert 2**31 < exact < 2**32
    with hopper_gemm.emulator():
        y = matmul(a, b)
    assert bool((y == exact - 2**32).all())


def test_mixed_signs_of_integers():
    values = torch.arange(-128, 128).to(torch.int8)
    other = torch.arange(256).to(torch.uint8)
    a, b = values.repeat(16, 1), other.repeat(16, 1)
    expected = int((values.long() * other.long()).sum())
    with hopper_gemm.emulator():
        assert bool((matmul(a, b.t()) == expected).all()) and bool((matmul(b, a.t()) == expected).all())
        assert matmul(a, a.t()).dtype == torch.int32


# --- refusals


def test_unknown_precisions():
    a = torch.ones(16, 16)
    with hopper_gemm.emulator(), pytest.raises(errors.OptionError, match="unknown precision"):
        matmul(a, a.t(), precision="high")


def test_the_switch_is_torchs():
    from hopper_gemm.precision import switch

    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        assert switch() == "tf32"
        torch.set_float32_matmul_precision("highest")
        assert switch() in ("ieee", "none")
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, E4M3, torch.int8])
def test_operands_that_are_not_k_major_are_transposed_first(dtype, layout):
    a, b = operands(Shape(40, 72, 50), layout, dtype, integers=True)
    with hopper_gemm.emulator():
        for call in ({}, {"out": torch.empty(72, 40, dtype=default_output(dtype)).t()}, {"schedule": "pingpong"}):
            assert Reference(a, b).inexact_integers(matmul(a, b, precision="tf32", **call)) == ""


def test_types_that_do_not_go_together():
    a = torch.ones(16, 16)
    for left, right in ((E4M3, torch.int8), (torch.float32, torch.bfloat16), (E5M2, torch.float16), (torch.int8, torch.int32)):
        with hopper_gemm.emulator(), pytest.raises(errors.DTypeError, match="differ in dtype"):
            matmul(a.to(left), a.to(right).t())
    with hopper_gemm.emulator():
        with pytest.raises(errors.DTypeError, match=r"no kernel writes.*torch.int32 for integer inputs"):
            matmul(a.to(torch.int8), a.to(torch.int8).t(), out_dtype=torch.float32)
        with pytest.raises(errors.DTypeError, match=r"no kernel writes.*int32 for torch.bfloat16"):
            matmul(a.bfloat16(), a.bfloat16(), out_dtype=torch.int32)
        with pytest.raises(errors.DTypeError, match="fp16 inputs"):
            matmul(a.to(E4M3), a.to(E4M3).t(), accumulate="fp16")
