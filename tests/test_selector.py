"""The analytic model: sane on the shapes measured on an H200, deterministic, and right about waves and walks."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest

from hopper_gemm import Schedule
from hopper_gemm.cost import Estimate
from hopper_gemm.explanation import explain_problem
from hopper_gemm.plan import Request, candidates_for, make_plan
from hopper_gemm.problem import Problem
from hopper_gemm.recipe import Recipe
from hopper_gemm.registry import Kernel, all_kernels
from hopper_gemm.selector import Card, load_model, predict, rank, static_gain_us
from hopper_gemm.walk import GROUPS, RASTERS

H200 = Card()
MODEL_ALONE = Request(shipped=False)


def problem(m: int, n: int, k: int, layout: str = "tn", output: str = "bf16") -> Problem:
    a = "k" if layout[0] == "t" else "mn"
    b = "k" if layout[1] == "n" else "mn"
    return Problem(m, n, k, "bf16", output, (a,), (b,))


def chosen(m: int, n: int, k: int, layout: str = "tn", card: Card = H200) -> Kernel:
    return make_plan(problem(m, n, k, layout), MODEL_ALONE, all_kernels(), card).kernel


def test_short_boxes_are_for_a_k_that_does_not_fill_whole_ones():
    def tiles_k(k: int, **request: object) -> set[int]:
        return {kernel.tile[2] for kernel in candidates_for(problem(512, 4096, k), Request(**request), all_kernels())[0]}  # type: ignore[arg-type]

    assert min(tiles_k(56)) == 16 and min(tiles_k(64)) == min(tiles_k(4096, schedule="cooperative")) == 64
    assert tiles_k(4096, config="bf16_bf16_f32_tn_128x256x16_c1x1_s4_cooperative_tma") == {16}
    assert chosen(685, 11200, 8).tile[2] == 16, "6.8 us, with whole boxes 8.8 (short_k.json)"


def best_of(tiles: dict[str, tuple[str, tuple[int, int]]], shape: tuple[int, int, int]) -> str:
    """Name of the fastest of some (schedule, tile), any cluster, by the model."""
    times = {}
    for name, (schedule, tile) in tiles.items():
        kernels = [k for k in all_kernels() if k.schedule == schedule and k.tile[:2] == tile and k.automatic]
        candidates = [k for k in kernels if k.layout == "tn" and k.input == "bf16"]
        times[name] = rank(problem(*shape), candidates, H200, load_model())[0].us
    return min(times, key=lambda name: times[name])


MEASURED = {"pp128": ("pingpong", (128, 128)), "pp192": ("pingpong", (128, 192)), "coop": ("cooperative", (128, 256))}

# Interleaved rounds on an H200, 2026-11-29: speed of plain kernels of these tiles relative to torch.mm.
SPEEDS = {
    (8192, 8192, 8192): {"pp128": 1.035, "pp192": 1.062, "coop": 1.034},
    (4096, 4096, 4096): {"pp128": 1.033, "pp192": 0.891, "coop": 1.017},
    (4096, 7168, 2048): {"pp128": 1.064, "pp192": 0.996, "coop": 1.014},
    (2048, 28672, 4096): {"pp128": 1.031, "pp192": 1.002, "coop": 1.008},
    (4096, 24576, 1536): {"pp128": 1.105, "pp192": 1.106, "coop": 1.012},
    (4096, 2112, 7168): {"pp128": 0.803, "pp192": 0.962, "coop": 0.680},
    (512, 8192, 8192): {"pp128": 1.007, "pp192": 0.662, "coop": 1.021},
    (2048, 4096, 4096): {"pp128": 1.032, "pp192": 0.912, "coop": 1.001},
}


def test_the_tile_chosen_by_the_model_is_near_the_fastest_on_the_card():
    losses = {}
    for shape, speeds in SPEEDS.items():
        losses[shape] = max(speeds.values()) / speeds[best_of({name: MEASURED[name] for name in speeds}, shape)]
    assert max(losses.values()) < 1.08, losses
    assert math.prod(losses.values()) ** (1 / len(losses)) < 1.025, losses


def test_a_tile_that_does_not_fit_the_waves_loses():
    assert best_of({k: MEASURED[k] for k in ("pp128", "pp192")}, (512, 8192, 8192)) == "pp128"  # 1.007 : 0.662


def test_predictions_of_large_products_are_near_the_measured_times():
    for shape, us in (((4096, 4096, 4096), 191), ((8192, 8192, 8192), 1500), ((4096, 7168, 2048), 167)):
        plan = make_plan(problem(*shape), MODEL_ALONE, all_kernels(), H200)
        assert 0.85 * us < plan.chosen.us < 1.15 * us, (shape, plan.chosen.us)


@pytest.mark.parametrize("m", [1, 16, 64])
def test_decode_shapes_get_a_small_tile_and_many_ctas(m):
    kernel = chosen(m, 6144, 4096)
    assert kernel.tile[0] == 64 and kernel.tile[1] <= 128


def test_small_products_spread_over_the_sms():
    kernel = chosen(512, 512, 512)
    assert kernel.tile[0] * kernel.tile[1] <= 64 * 128


def test_large_products_use_a_persistent_schedule():
    for shape in ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 24576, 1536)):
        assert chosen(*shape).schedule.is_persistent


@pytest.mark.parametrize("layout", ["tn", "tt", "nn", "nt"])
def test_a_kernel_of_the_right_layout_is_chosen(layout):
    for shape in ((1, 8, 8), (129, 257, 64), (4096, 4096, 4096)):
        kernel = chosen(*shape, layout)
        assert kernel.operand_layout == layout and kernel.automatic and kernel.accumulator == "f32"


def test_the_choice_is_deterministic():
    for shape in itertools.product((1, 100, 4096), (64, 5000), (8, 4096)):
        assert len({make_plan(problem(*shape), MODEL_ALONE, all_kernels(), H200).chosen for _ in range(3)}) == 1


@pytest.mark.parametrize("sms", [1, 4, 78, 114, 132, 144])
def test_any_sm_count_works(sms):
    card = Card("some Hopper", sms, 50 << 20)
    for shape in ((64, 64, 64), (4096, 4096, 4096)):
        prediction = make_plan(problem(*shape), MODEL_ALONE, all_kernels(), card).chosen
        assert prediction.us > 0
    slow = make_plan(problem(8192, 8192, 8192), MODEL_ALONE, all_kernels(), Card("half", 66, 60 << 20)).chosen.us
    fast = make_plan(problem(8192, 8192, 8192), MODEL_ALONE, all_kernels(), H200).chosen.us
    assert 1.7 < slow / fast < 2.3


def test_a_row_can_be_read_two_ways_and_gets_the_first_that_is_built():
    row = Problem(1, 256, 64, "bf16", "bf16", ("k", "mn"), ("k",))
    assert row.layouts == ("tn", "nn")
    pool, _ = candidates_for(row, MODEL_ALONE, all_kernels())
    assert {k.layout for k in pool} == {"tn"}
    only_nn = [k for k in all_kernels() if k.layout == "nn"]
    pool, _ = candidates_for(row, MODEL_ALONE, only_nn)
    assert {k.layout for k in pool} == {"nn"}


@pytest.mark.parametrize("schedule", list(Schedule))
def test_a_named_schedule_is_kept(schedule):
    for shape in ((1, 8, 8), (4096, 4096, 4096), (64, 96, 16384)):
        plan = make_plan(problem(*shape), Request(schedule), all_kernels(), H200)
        assert plan.kernel.schedule is schedule and plan.kernel.automatic


def estimate(kernel: Kernel, shape: tuple[int, int, int], card: Card = H200) -> Estimate:
    return Estimate(problem(*shape, kernel.layout).for_output(kernel.output), kernel, card, load_model())


def test_clusters_of_four_leave_some_sms_idle():
    kernel = next(k for k in all_kernels() if k.schedule is Schedule.PINGPONG and k.tile == (128, 128, 64))
    resident = {
        cluster: estimate(dataclasses.replace(kernel, cluster=cluster), (4096, 4096, 4096)).resident_ctas
        for cluster in ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
    }
    assert resident == {(1, 1): 132, (2, 1): 132, (1, 2): 132, (2, 2): 120, (4, 1): 120, (1, 4): 120}


@pytest.mark.parametrize("kernel", all_kernels()[::7], ids=lambda k: k.name)
def test_every_term_is_positive_and_time_grows_with_the_work(kernel):
    small, large = estimate(kernel, (256, 512, 256)), estimate(kernel, (4096, 8192, 1024))
    for e in (small, large):
        assert min(e.busy_us, e.power_us, e.hbm_us, e.block_cycles, e.epilogue_cycles) > 0
        assert 0 < e.useful_area <= 1 and e.ctas_per_sm >= 1
        assert e.us > max(e.busy_us, e.power_us, e.hbm_us)
    assert large.us > small.us


def test_splitting_k_makes_more_and_shorter_tiles():
    kernel = next(k for k in all_kernels() if k.cluster_k == 1 and k.cluster == (1, 1))
    split = dataclasses.replace(kernel, cluster_k=4)
    whole, parts = estimate(kernel, (256, 256, 8192)), estimate(split, (256, 256, 8192))
    assert parts.tiles == 4 * whole.tiles and parts.k_blocks * 4 == whole.k_blocks
    assert parts.useful_area == whole.useful_area and parts.busy_us < whole.busy_us


def test_waves_count_whole_clusters():
    kernel = next(k for k in all_kernels() if k.name == "bf16_bf16_f32_tn_128x128x64_c2x1_s6_pingpong_tma")
    assert predict(problem(129, 128, 64), kernel, H200, load_model()).tiles == 2
    assert predict(problem(257, 128, 64), kernel, H200, load_model()).tiles == 4


def test_the_walk_keeps_the_smaller_operand():
    wide = make_plan(problem(1024, 65536, 4096), Request("pingpong"), all_kernels(), H200).chosen.walk
    tall = make_plan(problem(65536, 1024, 4096), Request("pingpong"), all_kernels(), H200).chosen.walk
    assert wide.raster in RASTERS and wide.group in GROUPS
    unavoidable = 2 * (1024 * 4096 + 65536 * 4096 + 1024 * 65536)
    assert wide.hbm_bytes == tall.hbm_bytes == unavoidable


def test_fp32_output_is_predicted_slower():
    kernel = next(k for k in all_kernels() if k.name == "bf16_bf16_f32_tn_128x256x64_c1x1_s4_cooperative_tma")
    half = predict(problem(4096, 4096, 512), kernel, H200, load_model())
    full = predict(problem(4096, 4096, 512, output="f32"), kernel, H200, load_model())
    assert full.us > half.us


def test_types_are_ranked_by_what_the_tensor_core_does_with_them():
    def us(types: str, output: str, fast: bool = False) -> float:
        asked = Problem(8192, 8192, 8192, types, output, ("k",), ("k",), fast_accum=fast)
        return make_plan(asked, MODEL_ALONE, all_kernels(), H200).chosen.us

    bf16, tf32, fast, promoted = us("bf16", "bf16"), us("tf32", "f32"), us("e4m3", "bf16", True), us("e4m3", "bf16")
    assert 1.8 * bf16 < tf32 < 2.3 * bf16
    assert 0.45 * bf16 < fast < promoted < 0.7 * bf16
    assert 0.45 * bf16 < us("s8", "s32") < 0.7 * bf16
    mixed = us("e4m3_e5m2", "bf16")
    assert promoted <= mixed == us("e5m2_e4m3", "bf16")


def test_promotion_costs_least_where_sets_alternate_and_most_where_a_warpgroup_is_alone():
    model = load_model()
    asked = Problem(4096, 4096, 4096, "e4m3", "bf16", ("k",), ("k",))
    waits: dict[str, list[float]] = {}
    for k in all_kernels():
        if k.input == "e4m3" and k.promote_k:
            way = "alternating" if k.alternates else "shared" if k.schedule is Schedule.COOPERATIVE else "alone"
            wait = Estimate(asked, k, H200, model).promotion_cycles * k.promote_k / (k.tile[0] * k.tile[1] * k.tile[2])
            waits.setdefault(way, []).append(wait)
    assert {"128x128", "64x128"} <= {"x".join(map(str, k.tile[:2])) for k in all_kernels() if k.promote_k and k.alternates}
    assert max(waits["alternating"]) < min(waits["shared"])
    if "alone" in waits:
        assert max(waits["shared"]) < max(waits["alone"])
    assert Estimate(asked, next(k for k in all_kernels() if not k.promote_k), H200, model).promotion_cycles == 0


def test_the_model_says_where_its_constants_come_from():
    model = load_model()
    assert "H200" in model["card"] and len(model["date"]) == 10 and model["source"]


def test_the_library_has_the_last_word():
    first = make_plan(problem(4096, 4096, 4096), MODEL_ALONE, all_kernels(), H200)
    refuse = lambda p: "no luck" if p.kernel == first.kernel else ""
    second = make_plan(problem(4096, 4096, 4096), MODEL_ALONE, all_kernels(), H200, refuse)
    assert second.kernel == first.alternatives[0].kernel and "no luck" in second.rejected
    with pytest.raises(NotImplementedError, match="no luck"):
        make_plan(problem(8, 8, 8), Request("tma"), all_kernels(), H200, lambda p: "no luck")


def test_explain_prints_kernel_reason_candidates_and_model():
    text = str(explain_problem(problem(4096, 4096, 4096), MODEL_ALONE, H200))
    for word in (
        "4096 x 4096 x 4096",
        "132 SMs",
        "kernel  bf16",
        "waves",
        "candidates",
        "not considered",
        "model",
        "x  ",
    ):
        assert word in text


def test_what_is_packed_may_lie_either_way():
    def chosen(m, n, k, b_majors=("mn", "k")):
        asked = Problem(m, n, k, "bf16", "bf16", ("k",), b_majors, packs=(False, True), workspace_bytes=2 * n * k)
        return make_plan(asked, MODEL_ALONE, all_kernels(), H200).chosen

    large = chosen(4097, 4097, 4096)
    assert large.kernel.layout == "tn", "a product long enough pays for rows that become columns"
    assert Recipe.of(large).b_inner == -2
    assert chosen(128, 8193, 4096).kernel.layout == "tt"
    across, along = (dataclasses.replace(large.estimate, kernel=kernel).packing_us for kernel in (large.kernel, chosen(128, 8193, 4096).kernel))
    assert 20 < along < across < 50


@pytest.mark.parametrize(("a_majors", "b_majors", "layouts"), [
    (("k", "mn"), ("k", "mn"), {"tn"}),
    (("mn", "k"), ("k", "mn"), {"nn", "tn"}),
    (("mn", "k"), ("mn", "k"), {"nt", "tn", "nn", "tt"}),
])  # fmt: skip
def test_what_is_packed_and_lies_along_k_stays_so(a_majors, b_majors, layouts):
    """It may still be turned for a kernel that is named."""
    asked = Problem(301, 257, 77, "bf16", "bf16", a_majors, b_majors, packs=(True, True), workspace_bytes=1 << 20)
    plan = make_plan(asked, MODEL_ALONE, all_kernels(), H200)
    ours = {p.kernel.layout for p in (plan.chosen, *plan.alternatives) if not p.problem.swapped}
    assert ours == layouts
    named = make_plan(asked, Request(config="bf16_bf16_f32_nt_64x64x64_c1x1_s5_multistage_direct"), all_kernels(), H200)
    assert named.kernel.layout == "nt"


def test_packing_is_no_part_of_what_crowding_costs():
    """Of kernels whose CTAs share an SM, in a chain of static weights."""
    model = load_model()
    plain = Problem(16384, 1024, 4096, "bf16", "bf16", ("k",), ("k",))
    packed = dataclasses.replace(plain, packs=(True, False), workspace_bytes=2 * 16384 * 4096)
    kernel = next(k for k in all_kernels() if k.input == "bf16" and k.layout == "tn" and k.schedule == "warp_specialized" and k.output == "row_major")
    gains = [static_gain_us(predict(problem, kernel, H200, model), H200, model) for problem in (plain, packed)]
    assert gains[0] < 0 and gains[1] == pytest.approx(gains[0])
