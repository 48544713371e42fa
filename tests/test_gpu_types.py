"""On a Hopper GPU: tf32, fp8 and 8-bit integers in every schedule against float64, and beside torch's own products."""

from __future__ import annotations

import pytest
import torch
from support.guards import Guarded
from support.operands import KERNEL_DTYPES, Shape, operands
from support.reference import Reference, same_bits
from support.shapes import GPU

from hopper_gemm import Schedule, _extension, matmul
from hopper_gemm.problem import default_output
from hopper_gemm.registry import all_kernels

pytestmark = pytest.mark.gpu
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
SCHEDULES = ["auto", *(s.value for s in Schedule)]
PAIRS = [(a, b) for types in (("e4m3", "e5m2"), ("s8", "u8")) for a in types for b in types] + [("tf32", "tf32")]
EVERY_SCHEDULE = [("e4m3", "e4m3"), ("s8", "s8"), ("tf32", "tf32")]


def failure_of(shape: Shape, pair: tuple[str, str], seed: int, **options) -> str:
    """Two runs between guard bands; what is wrong with them, or an empty text."""
    a, b = operands(shape, "tn", (KERNEL_DTYPES[pair[0]], KERNEL_DTYPES[pair[1]]), device="cuda", seed=seed)
    out_dtype = options.pop("out_dtype", default_output(a.dtype))
    runs = []
    for _ in range(2):
        guarded = Guarded(shape.m, shape.n, out_dtype, "cuda", aligned=seed % 2 == 0)
        matmul(a, b, out=guarded.view, precision="tf32", **options)
        runs.append(guarded)
    reference = Reference(a, b, use_fast_accum=options.get("use_fast_accum", False))
    wrong = reference.problem_with(runs[0].view) or runs[0].damage()
    if not wrong and not same_bits(runs[0].view, runs[1].view):
        wrong = "two runs differ"
    return f"{shape}: {wrong}" if wrong else ""


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_shapes(schedule, pair, record):
    if schedule not in ("auto", "cooperative") and pair not in EVERY_SCHEDULE:
        pytest.skip("not every schedule is built for this pair")
    failures = [f for seed, shape in enumerate(GPU) if (f := failure_of(shape, pair, seed, schedule=schedule))]
    record.add("types", f"{schedule} {'_'.join(pair)}", len(GPU), failures)
    assert not failures, failures


@pytest.mark.parametrize("pair", [p for p in PAIRS if p[0].startswith("e")], ids="-".join)
def test_fast_accumulation(pair, record):
    failures = [f for seed, shape in enumerate(GPU) if (f := failure_of(shape, pair, seed, use_fast_accum=True))]
    record.add("types", f"fast {'_'.join(pair)}", len(GPU), failures)
    assert not failures, failures


@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float16, torch.float32, E4M3, E5M2])
@pytest.mark.parametrize("pair", [("e4m3", "e5m2"), ("tf32", "tf32"), ("bf16", "bf16")], ids="-".join)
def test_output_types(pair, out_dtype, record):
    failures = [f for seed, shape in enumerate(GPU[::4]) if (f := failure_of(shape, pair, seed, out_dtype=out_dtype))]
    record.add("types", f"out {out_dtype} of {'_'.join(pair)}", len(GPU[::4]), failures)
    assert not failures, failures


def test_fp8_outputs_round_and_saturate_as_modelled():
    every = torch.arange(65536, dtype=torch.int32, device="cuda").to(torch.int16).view(torch.bfloat16).unsqueeze(1)
    a = torch.zeros(65536, 8, dtype=torch.bfloat16, device="cuda")
    a[:, :1] = every
    picks = torch.zeros(8, 8, dtype=torch.bfloat16, device="cuda")
    picks[:, 0] = 1
    for dtype, largest in ((E4M3, 448.0), (E5M2, 57344.0)):
        y = matmul(a, picks.t(), out_dtype=dtype)[:, 3].float()
        expected = every[:, 0].float().clamp(-largest, largest).to(dtype).float()
        finite = every[:, 0].float().abs() >= 2.0**-126  # what the tensor core does with subnormals is not in question here
        assert torch.equal(y[finite].nan_to_num(7e7), expected[finite].nan_to_num(7e7)), dtype


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tf32_is_rounded_to_nearest_even(schedule):
    step = 2.0**-10
    ties = [1 + step / 2, 1 + 3 * step / 2, 1 + step / 2 + 2.0**-20, -1 - step / 2, 2 - step / 2]
    a, picks = torch.zeros(5, 8, device="cuda"), torch.zeros(8, 8, device="cuda")
    a[:, 0], picks[:, 0] = torch.tensor(ties, device="cuda"), 1
    y = matmul(a, picks.t(), schedule=schedule, precision="tf32")[:, 2]
    assert y.tolist() == [1.0, 1 + 2 * step, 1 + step, -1.0, 2.0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_promotion_keeps_what_the_tensor_core_drops(schedule):
    k = 1 << 16
    ones = torch.ones(64, k, dtype=E4M3, device="cuda")
    assert bool((matmul(ones, ones.t(), schedule=schedule, out_dtype=torch.float32) == k).all())


def test_what_fast_accumulation_drops(record):
    """Not a promise: what this card's adder keeps, which the emulator models as 13 bits (2^14 of 20,000)."""
    ones, out = torch.ones(64, 20000, dtype=E4M3, device="cuda"), torch.zeros(64, 64, device="cuda")
    for kernel in all_kernels():
        if kernel.compiled and kernel.input == "e4m3" and not kernel.promote_k:
            _extension.load().gemm(kernel.id, ones, ones.t(), out.t() if kernel.exchanges else out)  # K in one piece
            print(f"20000 ones, {kernel.name}: {out.unique().tolist()}")
            assert bool((out <= 20000).all()) and bool((out >= 2**13).all())


def test_integer_sums_wrap_around():
    k = 33056
    a = torch.full((64, k), 255, dtype=torch.uint8, device="cuda")
    assert bool((matmul(a, a.t()) == 255 * 255 * k - 2**32).all())


def test_integers_are_torchs_bit_for_bit():
    a, b = operands(Shape(264, 520, 1032), "tn", torch.int8, device="cuda")
    assert torch.equal(matmul(a, b), torch._int_mm(a.contiguous(), b.t().contiguous().t()))


@pytest.mark.parametrize("fast", [False, True])
def test_fp8_is_as_close_as_torchs(fast):
    one = torch.ones((), device="cuda")
    for shape in (Shape(512, 512, 4096), Shape(1024, 768, 16384)):
        a, b = (x.contiguous() for x in operands(shape, "tn", E4M3, device="cuda"))
        b = b.t().contiguous().t()
        exact = a.double() @ b.double()
        ours = (matmul(a, b, out_dtype=torch.float32, use_fast_accum=fast).double() - exact).square().mean().sqrt()
        theirs = torch._scaled_mm(a, b, one, one, out_dtype=torch.float32, use_fast_accum=fast).double()
        assert float(ours) <= 1.1 * float((theirs - exact).square().mean().sqrt()), shape


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_float32_products_are_as_close_as_torchs(schedule):
    """Sums that stay in the tensor core are not: at this K they had 20 times torch's error."""
    generator = torch.Generator("cuda").manual_seed(0)
    a, b = (torch.randn(512, 4096, generator=generator, device="cuda") for _ in range(2))
    exact = a.double() @ b.double().t()
    ours, theirs = matmul(a, b.t(), precision="fp32", schedule=schedule), a @ b.t()
    errors = [float((y.double() - exact).square().mean().sqrt()) for y in (ours, theirs)]
    assert errors[0] <= 1.1 * errors[1]
