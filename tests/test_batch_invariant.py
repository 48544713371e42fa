"""`batch_invariant=True`: the bits of a row do not depend on how many rows there are, nor on what they hold."""

from __future__ import annotations

import pytest
import torch
from support.features import dtypes
from support.problems import DTYPES
from support.reference import same_bits

import hopper_gemm
from hopper_gemm import explain, matmul
from hopper_gemm.bench.suites import Case
from hopper_gemm.cost import Card
from hopper_gemm.explanation import explain_problem
from hopper_gemm.plan import Request
from hopper_gemm.problem import Problem

BF16 = torch.bfloat16
SIZES = (1, 2, 3, 17, 64, 65, 130)
LAYOUTS = {
    "row-major": lambda x: x,
    "column-major": lambda x: x.t().contiguous().t(),
    "padded": lambda x: torch.cat([x, x], 1)[:, : x.shape[1]],
    "odd pitch": lambda x: torch.cat([x, x[:, :3]], 1)[:, : x.shape[1]],
    "strided": lambda x: torch.stack([x, x], 2).flatten(1)[:, ::2],
}


def rows(m: int, k: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    x = torch.randn(m, k, generator=torch.Generator().manual_seed(3))
    return (x * 4).to(dtype) if not dtype.is_floating_point else x.to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n, k", [(96, 200), (33, 71), (8, 640)])
def test_rows_do_not_depend_on_how_many_there_are(layout, n, k):
    a, b = LAYOUTS[layout](rows(130, k)), rows(k, n)
    with hopper_gemm.emulator():
        whole = matmul(a, b, batch_invariant=True)
        for m in SIZES:
            for seed, start in ((0, 0), (1, 130 - m)):
                with hopper_gemm.emulator(seed=seed):
                    part = matmul(a[start : start + m], b, batch_invariant=True)
                assert same_bits(part, whole[start : start + m]), (m, start)


@pytest.mark.parametrize("dtype", [d for d in dtypes() if d not in ("s8", "u8")])
def test_every_type(dtype):
    a, b = rows(130, 168, DTYPES[dtype]), rows(168, 80, DTYPES[dtype])
    for options in ({"precision": "tf32"}, {"precision": "fp32"}) if dtype == "fp32" else ({},):
        with hopper_gemm.emulator():
            whole = matmul(a, b, batch_invariant=True, **options)
            for m in SIZES:
                assert same_bits(matmul(a[:m], b, batch_invariant=True, **options), whole[:m])


def test_batches_vectors_and_outputs():
    a, b = rows(60, 136), rows(136, 72)
    with hopper_gemm.emulator():
        whole = matmul(a, b, batch_invariant=True)
        assert same_bits(matmul(a.view(3, 20, 136), b, batch_invariant=True).view(60, 72), whole)
        assert same_bits(matmul(a[5], b, batch_invariant=True), whole[5])
        assert same_bits(matmul(a.view(3, 20, 136), b.expand(3, 136, 72), batch_invariant=True).view(60, 72), whole)
        for m in (1, 17, 60):
            out = torch.zeros(m, 144, dtype=BF16)[:, ::2]
            assert same_bits(matmul(a[:m], b, out=out, batch_invariant=True), whole[:m])


@pytest.mark.parametrize("n, k", [(8, 648), (16, 640), (32, 2048)])
def test_few_columns_of_a_column_major_output(n, k):
    """There the kernels for few rows read the caller's A as theirs, and begin its sums by where a row lies."""
    a, b = rows(130, k), rows(k, n)

    def product(start: int, end: int) -> torch.Tensor:
        out = torch.zeros(n, -(end - start) // 4 * -4).t()[: end - start]
        return matmul(a[start:end], b, out=out, out_dtype=torch.float32, batch_invariant=True)

    with hopper_gemm.emulator():
        whole = product(0, 130)
        for start, end in ((64, 128), (1, 65), (120, 130), (129, 130)):
            assert same_bits(product(start, end), whole[start:end]), (start, end)
    out = torch.empty(n, 128).t()
    turned = [k for k in hopper_gemm.kernels("bf16_bf16_f32_tt_*_column") if k.turns_k]
    assert turned
    for kernel in turned:
        with pytest.raises(hopper_gemm.HopperGemmError, match="where a row lies"):
            explain(a[:128], b, out=out, out_dtype=torch.float32, config=kernel.name, batch_invariant=True)


def test_other_rows_may_be_nan():
    a, b = rows(70, 136), rows(136, 72)
    with hopper_gemm.emulator():
        whole = matmul(a, b, batch_invariant=True)
        a[:5], a[6:] = float("nan"), float("inf")
        assert same_bits(matmul(a, b, batch_invariant=True)[5], whole[5])


@pytest.mark.parametrize("schedule", [s.value for s in hopper_gemm.Schedule])
def test_a_named_schedule(schedule):
    a, b = rows(130, 200), rows(200, 64)
    with hopper_gemm.emulator():
        whole = matmul(a, b, schedule=schedule, batch_invariant=True)
        for m in (1, 64, 65):
            assert same_bits(matmul(a[:m], b, schedule=schedule, batch_invariant=True), whole[:m])


def test_one_kernel_for_all_m_that_no_table_chooses():
    b = rows(512, 384)
    with hopper_gemm.emulator():
        plans = [explain(rows(m, 512), b, batch_invariant=True) for m in (1, 5, 64, 700)]
    assert len({p.kernel for p in plans}) == 1 and all(p.plan.chosen.walk.slices == 1 for p in plans)


@pytest.mark.parametrize("n, k", [(4096, 4096), (28672, 8192), (64, 65536), (1280, 8192)])
def test_one_kernel_for_all_m_on_an_h200(n, k):
    names = {
        explain_problem(Problem(m, n, k, "bf16", "bf16", ("k",), ("k",)), Request(batch_invariant=True), Card()).kernel
        for m in (1, 2, 16, 64, 128, 1000, 4096, 100000)
    }
    assert len(names) == 1


@pytest.mark.parametrize("n, k", [(335, 7839), (364, 4825), (201, 2661)])
def test_one_kernel_for_all_m_on_an_h200_of_what_is_packed(n, k):
    """How much is packed depends on M, so that it must not count."""
    problems = {m: Case(m, n, k).problem() for m in (2, 16, 64, 256, 512, 1000, 4096, 16384)}
    assert all(all(problem.packs) for problem in problems.values())
    plans = [explain_problem(problem, Request(batch_invariant=True), Card()).plan for problem in problems.values()]
    assert len({plan.kernel.name for plan in plans}) == 1 and {plan.chosen.walk.slices for plan in plans} == {1}


def test_one_kernel_for_all_m_of_columns_that_are_packed():
    """One row of a transposed operand looks like a row, which is packed the other way round."""
    data = torch.empty(512, 1001, dtype=torch.bfloat16)
    for n in (4096, 100, 1000):
        b = rows(n, 512, torch.bfloat16).t()
        with hopper_gemm.emulator():
            plans = [explain(data.t()[:m], b, batch_invariant=True) for m in (1, 2, 100)]
        assert all(p.plan.problem.packs[p.plan.problem.swapped] for p in plans)
        assert len({p.kernel for p in plans}) == 1, n


def test_rows_of_many_that_are_packed():
    a, b = rows(700, 5475, torch.float16), rows(35, 5475, torch.float16).t()
    with hopper_gemm.emulator(sm_count=32):
        whole = matmul(a, b, batch_invariant=True)
        assert same_bits(matmul(a[:300], b, batch_invariant=True), whole[:300])
