"""K cut into slices: a batch of products into a workspace and a launch that sums them, against exact integers."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hopper_gemm
from hopper_gemm import _C, selector
from hopper_gemm.cost import Estimate
from hopper_gemm.plan import Request, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.registry import all_kernels
from hopper_gemm.selector import Card, load_model
from hopper_gemm.tiling import SLICES_AT_ONCE
from hopper_gemm.walk import slicings
from tests.support.reference import Reference, same_bits

# Slices of which 4, 8 or 16 are loaded together, all of them used or not, and some left for another round.
SHAPES = ((70, 133, 512, 4), (200, 40, 1024, 8), (1, 8, 256, 2), (129, 257, 384, 3), (33, 70, 640, 5), (24, 9, 768, 12), (66, 16, 1296, 18))
KERNELS = [k for k in _C.kernels() if k["a_type"] == "bf16" and k["emulated"] and k["accumulator"] == "f32"]
# One kernel of each schedule, layout and output order; kernels that also split K inside a cluster.
CHOSEN = {(k["schedule"], k["a_major"], k["b_major"], k["output"], k["cluster_k"]): k for k in reversed(KERNELS)}.values()


def stored(rows, columns, major_last):
    values = torch.randint(-3, 4, (rows, columns)).to(torch.bfloat16)
    if major_last:
        memory = torch.zeros(rows, -(-columns // 8) * 8, dtype=torch.bfloat16)
        memory[:, :columns] = values
        return memory[:, :columns]
    memory = torch.zeros(columns, -(-rows // 8) * 8, dtype=torch.bfloat16)
    memory[:, :rows] = values.t()
    return memory[:, :rows].t()


def operands(kernel, m, n, k):
    exchanged = kernel["output"] == "column_major"
    a_is_k, b_is_k = kernel["a_major"] == "k", kernel["b_major"] == "k"
    if exchanged:
        a_is_k, b_is_k = b_is_k, a_is_k
    return stored(m, k, a_is_k), stored(k, n, not b_is_k), exchanged


@pytest.mark.parametrize("kernel", CHOSEN, ids=lambda k: k["name"])
def test_the_sum_of_slices_is_exact(kernel):
    torch.manual_seed(0)
    for m, n, k, slices in SHAPES:
        a, b, exchanged = operands(kernel, m, n, k)
        for dtype in (torch.float32, torch.bfloat16):
            buffer = torch.full((m + 2, n + 5), 7.0, dtype=dtype)
            out = buffer[1 : m + 1, 2 : n + 2]
            _C.gemm_emulated(kernel["id"], a, b, out, exchanged=exchanged, slices=slices, seed=m)
            assert torch.equal(out, (a.double() @ b.double()).to(dtype)), (m, n, k, slices, dtype)
            out.fill_(7.0)
            assert bool((buffer == 7.0).all()), "wrote outside out"


def test_slices_sum_in_order_whatever_the_interleaving():
    torch.manual_seed(1)
    kernel = next(k for k in CHOSEN if k["a_major"] == k["b_major"] == "k")
    a, b, exchanged = operands(kernel, 100, 72, 512)
    a, b = torch.randn_like(a.float()).to(a.dtype), torch.randn_like(b.float()).to(b.dtype)
    b = b.t().contiguous().t()
    results = []
    for seed in range(4):
        out = torch.empty(100, 72)
        _C.gemm_emulated(kernel["id"], a, b, out, exchanged=exchanged, slices=4, seed=seed)
        results.append(out)
    assert all(same_bits(results[0], other) for other in results[1:])
    expected = sum(a[:, i : i + 128].double() @ b[i : i + 128].double() for i in range(0, 512, 128))
    assert (results[0].double() - expected).abs().max() < 1e-3


@pytest.mark.parametrize(
    ("k", "slices", "text"),
    [
        (1000, 3, "K = 1000 does not fall into 3 equal slices"),
        (1000, 50, "slices of K = 20 are 40 bytes of a row: expected a multiple of 16"),
        (1000, 0, "slices is 0: expected 1"),
    ],
)
def test_what_cannot_be_cut_is_refused_and_out_stays(k, slices, text):
    kernel = next(x for x in KERNELS if (x["a_major"], x["b_major"], x["output"]) == ("k", "k", "row_major"))
    a, b, out = stored(8, k, True), stored(k, 64, False), torch.full((8, 64), 3.0)
    with pytest.raises(ValueError, match=text):
        _C.gemm_emulated(kernel["id"], a, b, out, slices=slices)
    assert bool((out == 3.0).all())


def test_matmul_cuts_a_deep_k_by_itself():
    torch.manual_seed(2)
    a, b = torch.randn(64, 4096).to(torch.bfloat16), torch.randn(64, 4096).to(torch.bfloat16).t()
    with hopper_gemm.emulator(sm_count=32) as machine:
        out = hopper_gemm.matmul(a, b, out_dtype=torch.float32)
        text = str(hopper_gemm.explain(a, b, out_dtype=torch.float32))
    assert "parts, summed in order by a second launch" in text
    assert Reference(a, b).problem_with(out) == ""
    assert machine.reports


def test_slices_are_legal_and_near_the_sms():
    kernel = next(k for k in hopper_gemm.kernels("bf16_*_tn_64x64*") if k.accumulator == "f32")
    problem = Problem(256, 256, 32768, "bf16", "bf16", ("k",), ("k",))
    assert slicings(problem, kernel, tiles=16, sms=132) == [1, 4, 8, 16]
    assert slicings(replace(problem, k=1000), kernel, tiles=16, sms=132) == [1]
    assert slicings(problem, kernel, tiles=100, sms=132) == [1]
    for slices in slicings(replace(problem, k=10680), kernel, tiles=10, sms=132):
        assert 10680 % (8 * slices) == 0


def test_slices_that_begin_at_whole_sectors_of_memory_are_among_them():
    """L2 is slower off them, which the model counts: 325 x 104 x 7792 takes 9.8 us whole and 12.9 in two slices (sweep_shapes_215.json)."""
    kernel = next(k for k in hopper_gemm.kernels("bf16_*_tn_64x64*") if k.accumulator == "f32")
    problem = Problem(66, 557, 6192, "bf16", "bf16", ("k",), ("k",))
    assert slicings(problem, kernel, tiles=18, sms=132) == [1, 3, 6, 9, 18], "3 and 9 at whole sectors"
    times = {s: Estimate(replace(problem, k=9344), kernel, Card(), load_model(), s) for s in (1, 2, 4, 8, 16)}
    assert [times[s].row_alignments for s in times] == [(n, n) for n in (128, 128, 64, 32, 16)]
    assert times[2].l2_requests < times[4].l2_requests < times[8].l2_requests < times[16].l2_requests
    along = next(k for k in hopper_gemm.kernels("bf16_*_nt_64x64*") if k.accumulator == "f32")
    assert slicings(Problem(72, 552, 6192, "bf16", "bf16", ("mn",), ("mn",)), along, tiles=18, sms=132) == [1, 3, 6, 18]
    of_rows = Estimate(Problem(72, 552, 6192, "bf16", "bf16", ("mn",), ("mn",)), along, Card(), load_model(), 6)
    assert of_rows.row_alignments == (16, 16) and of_rows.slice_k == 1032, "begins with a row of M or N"


def test_the_model_counts_the_rounds_of_the_kernels():
    header = (Path(__file__).resolve().parents[1] / "include/hopper_gemm/core/slice_sum.h").read_text(encoding="utf-8")
    assert f"kSlicesAtOnce[] = {{{', '.join(map(str, SLICES_AT_ONCE))}}}" in header


def test_the_trees_decide_how_many_slices(monkeypatch):
    kernel = next(k for k in hopper_gemm.kernels("bf16_*_tn_64x64*") if k.accumulator == "f32")
    problem = Problem(256, 256, 32768, "bf16", "bf16", ("k",), ("k",))
    numbers = [p.walk.slices for p in selector.in_slices(problem, kernel, Card(), load_model())]
    assert numbers == slicings(problem, kernel, tiles=16, sms=132)
    monkeypatch.setattr(selector, "CORRECTED", 100.0)
    for wanted in numbers:
        monkeypatch.setattr(selector, "log_factor", lambda e, correction, wanted=wanted: -3.0 if e.slices == wanted else 0.0)
        assert [p.walk.slices for p in selector.rank(problem, [kernel], Card(), load_model())] == [wanted]


def test_slices_that_a_round_leaves_over_cost_nothing_more():
    """Their loads are in flight with the others' (core/slice_sum.h); in older results one by one."""
    kernel, model = next(k for k in hopper_gemm.kernels("bf16_*_tn_64x64*") if k.accumulator == "f32"), load_model()
    problem = Problem(8, 64, 720720, "bf16", "bf16", ("k",), ("k",))

    def waits(slices: int, **version: int) -> float:
        estimate = Estimate(problem, kernel, Card(), model, slices, **version)
        written = 4 * slices * problem.m * problem.n / model["slice_sum"]["bytes_per_us"]
        return estimate.sum_us - written - model["slice_sum"]["launch_us"]

    one, single = model["slice_sum"]["round_us"], model["slice_sum"]["single_us"]
    rounds = {2: 1, 4: 1, 5: 1, 8: 1, 9: 1, 15: 1, 16: 1, 18: 2, 33: 3}
    assert {s: round(waits(s) / one, 6) for s in rounds} == rounds
    assert [waits(s, sums=0) for s in (8, 15)] == pytest.approx([one, one + 7 * single])


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_float32_sums_of_few_tiles_are_cut_as_short_as_torchs(dtype):
    """An RMS error grows with the chains of a sum. At 512x512 torch 2.11's cuts K = 4096 of fp16 in 2, 16384 in 4 and 65536 in 8
    (an H200, 2026-11-30: its errors equal ours in as many parts; fp16 in one part had 1.98 times torch's)."""
    for k, least in ((4096, 2), (16384, 4), (65536, 8), (16672, 4), (65984, 8)):
        problem = Problem(512, 512, k, dtype, "f32", ("k",), ("k",))
        chosen = make_plan(problem, Request(), all_kernels(), Card()).chosen
        assert chosen.walk.slices * chosen.kernel.cluster_k >= least, (k, chosen)


def test_batch_invariant_products_are_not_cut():
    choices = set()
    for m in (1, 2, 17, 64, 65, 300):
        problem = Problem(m, 256, 32768, "bf16", "bf16", ("k",), ("k",))
        assert make_plan(problem, Request(), all_kernels(), Card()).chosen.walk.slices > 1
        chosen = make_plan(problem, Request(batch_invariant=True), all_kernels(), Card()).chosen
        choices.add((chosen.kernel.name, chosen.walk.slices))
    assert len(choices) == 1 and choices.pop()[1] == 1
