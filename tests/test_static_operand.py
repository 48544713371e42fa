"""`static_b=True`: which operand a kernel loads before the grid before it has ended, and where the promise is not passed on."""

from __future__ import annotations

import pytest
import torch
from support.operands import Shape, operands
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401

import hopper_gemm
from hopper_gemm import Schedule, _extension, explanation, matmul, planned
from hopper_gemm.check import Operands, emulated, ragged_shape
from hopper_gemm.cost import Card
from hopper_gemm.functional import linear, scaled_matmul
from hopper_gemm.plan import Request, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.registry import Kernel, all_kernels

_C = _extension.load()
BF16 = torch.bfloat16
op = torch.ops.hopper_gemm.matmul

# One of every schedule, cluster, order of the output, split and width of element.
KERNELS = {
    (k.schedule, k.cluster, k.output, k.cluster_k, k.element_bytes, k.layout in ("tn", "nt")): k
    for k in reversed(all_kernels())
    if k.emulated
}.values()
LOADS_AHEAD = {Schedule.TMA, Schedule.WARP_SPECIALIZED, Schedule.COOPERATIVE, Schedule.PINGPONG}


def integers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).to(BF16)


def early(kernel: Kernel, static: str, loads: tuple[int, int]) -> bool:
    """Whether just the static operand was loaded early, by kernels that load by TMA."""
    expected = (static == "a", static == "b") if kernel.schedule in LOADS_AHEAD else (False, False)
    return (loads[0] > 0, loads[1] > 0) == expected


# --- kernels


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_either_operand_is_loaded_early_and_the_result_stays(kernel):
    tile_k = kernel.tile[2]
    several = ragged_shape(kernel)
    short = (*several[:2], tile_k + tile_k // 2)  # two k-blocks: fewer than the ring has stages, none for a part of a split K
    for seed, (m, n, k) in enumerate((several, short, (5, 9, 1))):
        given = Operands.of(kernel, m, n, k)
        for static in ("", "a", "b"):
            given.out.zero_()
            report = emulated(kernel, given, static=static, seed=seed, sm_count=2 * kernel.cluster_size)
            assert report["findings"] == []
            assert torch.equal(given.out.double(), (given.a.double() @ given.b.double()).to(given.out.dtype).double())
            assert early(kernel, static, report["early_loads"]), (m, n, k, static, report["early_loads"])


def test_a_ring_that_is_longer_than_k_is_begun_as_far_as_k_goes():
    kernel = next(k for k in all_kernels() if k.schedule == Schedule.WARP_SPECIALIZED and k.layout == "tn" and k.tile[0] == 64)
    boxes = kernel.tile[2] * kernel.element_bytes // 128
    for blocks in (1, 2, kernel.stages, kernel.stages + 3):
        given = Operands.of(kernel, 128, kernel.tile[1], blocks * kernel.tile[2])  # two tiles, a CTA each
        for static in ("a", "b"):
            loads = emulated(kernel, given, static=static)["early_loads"]
            assert max(loads) == 2 * boxes * min(blocks, kernel.stages)


@pytest.mark.parametrize("schedule", sorted(LOADS_AHEAD))
def test_batches(schedule):
    a, b = integers(3, 70, 136), integers(3, 136, 72)
    with hopper_gemm.emulator(sm_count=2) as emulator:
        out = matmul(a, b, schedule=schedule, static_b=True)
        shared = matmul(a, b[0], schedule=schedule, static_b=True)
    assert torch.equal(out, (a.double() @ b.double()).to(BF16)) and torch.equal(shared, (a.double() @ b[0].double()).to(BF16))
    assert all(sum(report["early_loads"]) > 0 for report in emulator.reports)


def test_slices_of_k():
    kernel = next(k for k in all_kernels() if k.schedule == Schedule.PINGPONG and k.layout == "tn" and k.input == "bf16")
    a, b, out = integers(130, 512), integers(200, 512).t(), torch.empty(130, 200, dtype=BF16)
    a, b, out = (b.t(), a.t(), out.t()) if kernel.exchanges else (a, b, out)
    report = _C.gemm_emulated(kernel.id, a, b, out, slices=4, static_b=True)
    assert torch.equal(out, (a.double() @ b.double()).to(BF16)) and report["early_loads"][1] > 0


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_b_of_an_exchanged_product_is_the_kernels_a(exchanged):
    kernel = next(k for k in all_kernels() if k.schedule in LOADS_AHEAD and k.exchanges == exchanged and k.input == "bf16")
    a, b = operands(Shape(16, 200, 264), kernel.operand_layout, BF16, integers=True)
    with hopper_gemm.emulator() as emulator:
        out = matmul(a, b, config=kernel.name, static_b=True)
    assert torch.equal(out, (a.double() @ b.double()).to(BF16))
    assert early(kernel, "a" if exchanged else "b", emulator.reports[0]["early_loads"])


# --- what the call itself writes


def products(a: torch.Tensor, b: torch.Tensor, **options: object) -> bool:
    """Whether the kernel was told that b is static; the result is checked."""
    with hopper_gemm.emulator() as emulator:
        out = matmul(a, b, static_b=True, schedule="pingpong", **options)
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)
    return sum(emulator.reports[-1]["early_loads"]) > 0


def test_a_packed_b_is_not_static():
    a, b = integers(24, 64), integers(64, 48)
    assert products(a, b) and products(a, integers(48, 64).t())
    for packed in (integers(64, 96)[:, ::2], integers(64, 49)[:, :48], integers(64 * 48 + 1)[1:].view(64, 48)):
        assert not products(a, packed)
        with hopper_gemm.emulator():
            prepacked = hopper_gemm.prepack(packed)
        assert products(a, prepacked)
    assert products(integers(24, 65)[:, :64], b)  # packing a leaves the promise about b as it is


def test_the_parts_of_a_float32_b_are_not_static():
    a, b = integers(24, 64).float(), integers(48, 64).float().t()
    assert not products(a, b, precision="fp32")
    assert products(a, b, precision="tf32")


# --- where the promise goes, on a pretended GPU


def test_remembered_launches_keep_the_promise_apart(pretend_gpu: PretendGpu):  # noqa: F811
    a, b = integers(72, 64), integers(40, 64).t()
    for static in (True, False, True, False):
        matmul(a, b, static_b=static)
        matmul(a, b, out=torch.empty(72, 40, dtype=BF16), static_b=static)
        matmul(a, b, bias=b[0], static_b=static)
    assert pretend_gpu.static == 3 * [True] + 3 * [False] + 3 * [True] + 3 * [False]
    pretend_gpu.static.clear()
    off = integers(40 * 64 + 1)[1:].view(40, 64).t()
    for _ in range(3):
        matmul(a, off, static_b=True)
    assert pretend_gpu.static == 3 * [False] and pretend_gpu.copies


def test_plans(pretend_gpu: PretendGpu, monkeypatch):  # noqa: F811
    monkeypatch.setattr(planned, "_on_gpu", lambda tensor: True)
    monkeypatch.setattr(explanation, "all_kernels", lambda: pretend_gpu.kernels)
    a, b = integers(72, 64), integers(40, 64).t()
    static, plain = hopper_gemm.plan(a, b, static_b=True), hopper_gemm.plan(a, b)
    assert torch.equal(static(a, b), plain(a, b)) and pretend_gpu.static == [True, False]
    assert "  static  " in str(static.explanation) and "  static  " not in str(plain.explanation)
    with_bias = hopper_gemm.plan(a, b, bias=b[0], static_b=True)
    with_bias(a, b)
    off = integers(64, 80)[:, ::2]
    hopper_gemm.plan(a, off, static_b=True)(a, off)
    assert pretend_gpu.static == [True, False, True, False]


def test_functions_and_the_layer(pretend_gpu: PretendGpu):  # noqa: F811
    x, weight = integers(24, 64), integers(40, 64)
    linear(x, weight, static_weight=True)
    linear(x, weight)
    layer = hopper_gemm.nn.Linear(64, 40, dtype=BF16, static_weight=True).requires_grad_(False)
    layer(x)
    layer.static_weight = False
    layer(x)
    model = torch.nn.Sequential(torch.nn.Linear(64, 40, dtype=BF16).requires_grad_(False))
    hopper_gemm.patch(model)
    model(x)
    model[0].static_weight = True
    model(x)
    assert pretend_gpu.static == [True, False, True, False, False, True]
    one = torch.ones(1)
    narrow = x.to(torch.float8_e4m3fn), weight.to(torch.float8_e4m3fn).t()
    scaled_matmul(*narrow, one, one, static_b=True)
    assert pretend_gpu.static[-1]


def test_explain_says_what_comes_of_it():
    a, b = integers(24, 64), integers(40, 64).t()
    with hopper_gemm.emulator():
        assert "loaded before the kernel before has ended" in str(hopper_gemm.explain(a, b, static_b=True, schedule="pingpong"))
        assert "not used: multistage kernels" in str(hopper_gemm.explain(a, b, static_b=True, schedule="multistage"))
        assert "not used: this call packs b" in str(hopper_gemm.explain(a, integers(64, 80)[:, ::2], static_b=True))


# --- torch's dispatcher


@pytest.fixture
def on_emulator(monkeypatch):
    """What each product of the emulator was told."""
    seen = []
    run = hopper_gemm.ops.run_emulated

    def noted(machine, prediction, a, b, out, options=None, static_b=False):
        seen.append(static_b)
        run(machine, prediction, a, b, out, options, static_b)

    monkeypatch.setattr(hopper_gemm.ops, "run_emulated", noted)
    with hopper_gemm.emulator():
        yield seen


def test_the_operator_takes_it(on_emulator):
    a, b = integers(24, 64), integers(64, 48)
    assert torch.equal(op(a, b, static_b=True), op(a, b))
    assert on_emulator == [True, False]
    result = torch.library.opcheck(op.default, (a, b), {"static_b": True})
    assert set(result.values()) == {"SUCCESS"}, result


def test_a_backward_makes_no_promises(on_emulator):
    a, b = integers(24, 64).requires_grad_(), integers(64, 48).requires_grad_()
    matmul(a, b, activation="silu", static_b=True).sum().backward()
    assert on_emulator == [True, False, False, False]  # forward, what went into silu, both gradients
    on_emulator.clear()
    _, tangent = torch.func.jvp(lambda x: matmul(x, b.detach(), static_b=True), (a.detach(),), (a.detach(),))
    assert on_emulator[1:] == [False]


def test_copies_made_on_the_way_are_not_static(on_emulator):
    a, b = integers(24, 64), integers(64, 48)
    with torch.autocast("cpu", dtype=BF16):
        matmul(a.float(), b.float(), static_b=True)
        matmul(a.float(), b, static_b=True)
    assert on_emulator == [False, True]
    on_emulator.clear()
    torch.func.vmap(lambda x: matmul(x, b, static_b=True))(integers(3, 24, 64))
    torch.func.vmap(lambda y: matmul(a, y, static_b=True))(integers(3, 64, 48))
    assert on_emulator == [True, False]


class Unpacked(torch.Tensor):
    """A subclass whose products are of a tensor it makes on the way."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def plain(x):
            return x.as_subclass(torch.Tensor).clone() if isinstance(x, Unpacked) else x

        return func(*(plain(x) for x in args), **(kwargs or {}))


def test_a_subclass_may_make_its_own_b(on_emulator):
    a, b = integers(24, 64), integers(64, 48)
    matmul(a, b.as_subclass(Unpacked), static_b=True)
    matmul(a.as_subclass(Unpacked), b, static_b=True)
    assert on_emulator == [False, True]


def test_compiled(on_emulator):
    a, b = integers(24, 64), integers(64, 48)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def product(x, y):
        return matmul(x, y, static_b=True)

    assert torch.equal(product(a, b), matmul(a, b)) and on_emulator == [True, False]


# --- which kernel


def test_a_kernel_cuts_k_alike_whether_its_weights_are_static_or_not():
    """It promises the same bits, and slices gain nothing from static weights."""
    for m, n, k in ((16, 1032, 1032), (16, 2048, 4096), (64, 512, 8192)):
        problem = Problem(m, n, k, "bf16", "bf16", ("k",), ("k",))
        for kernel in (x for x in all_kernels() if x.automatic and x.input == "bf16" and x.operand_layout == "tn"):
            walks = [
                make_plan(problem, Request(config=kernel.name, static_b=static), all_kernels(), Card()).chosen.walk
                for static in (False, True)
            ]
            assert walks[0] == walks[1], (kernel.name, m, n, k)


def test_weights_that_are_static_ask_for_kernels_that_leave_the_next_one_its_place():
    def plans(m, n, k):
        asked = Problem(m, n, k, "bf16", "bf16", ("k",), ("k",))
        requests = (Request(shipped=False), Request(static_b=True), Request(batch_invariant=True, static_b=True), Request(batch_invariant=True))
        return [make_plan(asked, request, all_kernels(), Card()).chosen for request in requests]

    for n, k in ((6144, 4096), (28672, 4096), (8192, 8192), (57344, 8192)):
        alone, static, invariant, invariant_alone = plans(16, n, k)
        assert static.kernel.schedule.is_persistent, (n, k)
        measured = make_plan(Problem(16, n, k, "bf16", "bf16", ("k",), ("k",)), Request(), all_kernels(), Card()).chosen
        assert measured.kernel.schedule.is_persistent or not alone.kernel.schedule.is_persistent, (n, k)
        assert invariant.kernel == invariant_alone.kernel, "the kernel of batch-invariant products does not depend on the promise"
    _, static, *_ = plans(16, 4096, 14336)
    shipped = make_plan(Problem(16, 4096, 14336, "bf16", "bf16", ("k",), ("k",)), Request(), all_kernels(), Card()).chosen
    assert static.kernel == shipped.kernel, "the one that is measured to be the fastest alone"
    assert static.kernel.cluster_k == 2 and static.walk.slices == 1 and static.waves <= 1
