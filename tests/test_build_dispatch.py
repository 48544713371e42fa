"""The launch path's host side through `_C`: config and problem errors with their numbers, plans, majors, build info."""

import pytest
import torch

import hopper_gemm  # noqa: F401  (loads the extension's dependencies)
from hopper_gemm import _C, manifest

BF16 = torch.bfloat16


def config(**changes):
    (row,) = manifest.kernel("cooperative", 128, 256, 4, inputs=("bf16",), layouts=("tn",))
    return manifest.as_dict(row) | changes


NARROW = {"a_type": "e4m3", "b_type": "e4m3", "tile_k": 128}
PROMOTED = NARROW | {"promote_k": 128, "mmas_in_flight": 0}
INTEGERS = {"a_type": "s8", "b_type": "u8", "accumulator": "s32", "tile_k": 128, "tile_n": 128, "store": "direct"}
TF32 = {"a_type": "tf32", "b_type": "tf32", "tile_k": 32}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ()),
        ({"stages": 5}, ("5 stages x 49152 bytes", "232448", "at most 4 stages")),
        ({"a_type": "f32", "b_type": "f32"}, ("types f32 and f32", "bf16, f16 or tf32")),
        ({"a_type": "f16"}, ("types f16 and bf16", "any two of e4m3 and e5m2")),
        ({"a_type": "e4m3", "b_type": "s8"}, ("types e4m3 and s8",)),
        (NARROW | {"a_major": "mn"}, ("MN-major A of type e4m3", "transpose")),
        (NARROW | {"b_type": "e5m2", "b_major": "mn"}, ("MN-major B of type e4m3", "K-major alone")),
        (NARROW, ()),
        (NARROW | {"tile_k": 640}, ("tile_k 640", "multiple of 32", "at most 512")),
        (NARROW | {"promote_k": 128}, ("promote_k 128 with mmas_in_flight 1",)),
        (PROMOTED, ()),
        (PROMOTED | {"tile_m": 256, "stages": 3}, ("accumulators, twice for promotion, take 512 registers",)),
        (PROMOTED | {"tile_n": 216}, ("tile_n 216", "above 208, in two halves, in steps of 16")),
        (PROMOTED | {"tile_n": 224}, ()),
        (PROMOTED | {"tile_m": 192, "consumers": 3}, ("and half of them again for promotion take 192 registers",)),
        (PROMOTED | {"tile_n": 128}, ()),
        (PROMOTED | {"tile_n": 192, "cluster_m": 2}, ()),
        (PROMOTED | {"tile_n": 128, "promote_k": 96}, ("promote_k 96", "divides tile_k 128")),
        (PROMOTED | {"tile_n": 128, "a_type": "bf16", "b_type": "bf16"}, ("promote_k 128 with bf16", "only fp8 and tf32")),
        (TF32 | {"promote_k": 32, "mmas_in_flight": 0, "tile_n": 128}, ()),
        (TF32 | {"promote_k": 12, "mmas_in_flight": 0, "tile_n": 128}, ("promote_k 12", "multiple of 8")),
        (INTEGERS, ()),
        (INTEGERS | {"accumulator": "f32"}, ("types s8 and u8 with accumulator f32",)),
        (INTEGERS | {"tile_n": 72}, ("tile_n 72", "above 32 in steps of 16")),
        (INTEGERS | {"tile_n": 24}, ()),
        (TF32, ()),
        (TF32 | {"tile_k": 36}, ("tile_k 36", "multiple of 8", "span of 32")),
        ({"accumulator": "f16"}, ("accumulator f16", "f16 also in f16")),
        ({"tile_m": 96}, ("tile_m 96", "64 rows")),
        ({"tile_n": 260}, ("tile_n 260", "8 to 256")),
        ({"tile_k": 40}, ("tile_k 40", "multiple of 16")),
        ({"b_major": "mn", "tile_n": 200}, ("tile_n 200", "128 bytes", "smaller span")),
        ({"consumers": 1}, ("1 consumer", "2 to 4")),
        ({"schedule": "pingpong", "consumers": 3}, ("3 consumer", "exactly 2")),
        ({"cluster_m": 3}, ("cluster 3x1", "2x2")),
        ({"cluster_m": 4, "tile_n": 136}, ("136 box rows over 4 CTAs", "groups of 8 rows")),
        ({"schedule": "multistage", "cluster_m": 2, "store": "direct"}, ("multistage takes 1x1", "multicast")),
        ({"schedule": "multistage", "store": "direct", "stages": 2}, ("2 stages", "at least 3")),
        ({"stages": 1}, ("1 stages", "2 to 32")),
        ({"tile_m": 256, "tile_n": 256, "stages": 3}, ("256 registers + 24", "smaller tile")),
        ({"tile_m": 192, "consumers": 3}, ("N = 256", "128 accumulator registers", "512 threads")),
        ({"mmas_in_flight": 2}, ("mmas_in_flight 2", "0 or 1")),
    ],
)
def test_config_errors_say_got_limit_and_cure(changes, words):
    text = _C.config_error(config(**changes))
    assert bool(text) == bool(words), text
    for word in words:
        assert word in text


@pytest.mark.parametrize(("changes", "word"), [({"schedule": "fast"}, "pingpong"), ({"a_swizzle": 48}, "128"), ({"store": 3}, "cast")])
def test_a_config_that_is_none_is_refused(changes, word):
    with pytest.raises((ValueError, RuntimeError), match=word):
        _C.config_error(config(**changes))
    with pytest.raises(ValueError, match="needs the field 'stages'"):
        _C.config_error({k: v for k, v in config().items() if k != "stages"})


def first(schedule, layout="tn", **fields):
    majors = dict(zip(("a_major", "b_major"), manifest.majors(layout)))
    wanted = {"schedule": schedule, "a_type": "bf16", "accumulator": "f32", **majors, **fields}
    found = [r for r in _C.kernels() if all(r[key] == value for key, value in wanted.items())]
    if not found:
        pytest.skip(f"this build has no kernel with {wanted}")
    return found[0]


def tn(m, n, k, out=BF16):
    return torch.zeros(m, k, dtype=BF16), torch.zeros(n, k, dtype=BF16).t(), torch.zeros(m, n, dtype=out)


@pytest.mark.parametrize("schedule", manifest.SCHEDULES)
def test_problem_errors_name_the_16_byte_rule(schedule):
    kernel = first(schedule)["id"]
    assert _C.problem_error(kernel, *tn(64, 64, 64)) == ""
    a, b, out = tn(64, 64, 68)
    assert all(w in _C.problem_error(kernel, a, b, out) for w in ("stride of 68", "136 bytes", "multiple of 16", "pad K to 72"))
    a, b, out = tn(64, 64, 64)
    shifted = torch.zeros(64 * 64 + 1, dtype=BF16)[1:].view(64, 64)
    assert "starts 2 bytes after" in _C.problem_error(kernel, shifted, b, out)
    assert "the kernel takes bf16 and bf16" in _C.problem_error(kernel, a.half(), b.half(), out)
    assert "another layout" in _C.problem_error(kernel, torch.zeros(64, 64, dtype=BF16).t(), b, out)


def test_the_stride_of_a_size_1_dimension_is_ignored():
    kernel = first("tma")["id"]
    a = torch.zeros(64, dtype=BF16).as_strided((1, 64), (3, 1))
    b = torch.zeros(64, dtype=BF16).as_strided((64, 1), (1, 5))
    out = torch.zeros(1, dtype=BF16).as_strided((1, 1), (7, 9))
    assert _C.problem_error(kernel, a, b, out) == ""


def test_k_equal_to_1_may_be_read_either_way():
    a, b, out = torch.zeros(64, 1, dtype=BF16), torch.zeros(1, 64, dtype=BF16), torch.zeros(64, 64, dtype=BF16)
    assert "multiple of 16" in _C.problem_error(first("tma", "tt")["id"], a, b, out)  # K-major A: rows of 2 bytes
    assert _C.problem_error(first("tma", "nt")["id"], a, b, out) == ""


def test_errors_are_of_torchs_kinds():
    kernel = first("tma")["id"]
    a, b, out = tn(64, 64, 64)
    with pytest.raises(ValueError, match="does not exist"):
        _C.gemm_emulated(10**6, a, b, out)
    with pytest.raises(TypeError, match="inputs are bf16 and f16, the kernel takes bf16 and bf16"):
        _C.gemm_emulated(kernel, a, b.half(), out)
    with pytest.raises(ValueError, match="shapes do not fit"):
        _C.gemm_emulated(kernel, a, b[:, :8], out)
    with pytest.raises(RuntimeError, match="CUDA tensors"):
        _C.gemm(kernel, a, b, out, 0, 8, 0)


@pytest.mark.parametrize("schedule", manifest.SCHEDULES)
def test_plans_cover_the_output_in_whole_clusters(schedule):
    for record in [r for r in _C.kernels() if r["schedule"] == schedule and r["a_major"] == r["b_major"] == "k" and r["a_type"] == "bf16"]:
        exchanged = record["output"] == "column_major"
        for m, n in ((1, 1), (64, 64), (1000, 520)):
            shape = _C.launch_shape(record["id"], *tn(m, n, 64), exchanged=exchanged)
            assert shape["tiles_m"] % record["cluster_m"] == 0 and shape["tiles_n"] % record["cluster_n"] == 0
            rows, columns = (n, m) if exchanged else (m, n)
            assert shape["tiles_m"] * record["tile_m"] >= rows and shape["tiles_n"] * record["tile_n"] >= columns
            assert (shape["tiles_m"] - record["cluster_m"]) * record["tile_m"] < rows
            tiles = shape["tiles_m"] * shape["tiles_n"] * record["cluster_k"]
            assert shape["grid"] <= tiles and shape["grid"] % shape["cluster"] == 0
            assert record["persistent"] or shape["grid"] == tiles
        limited = _C.launch_shape(record["id"], *tn(5000, 5000, 64), max_ctas=1, exchanged=exchanged)
        assert not record["persistent"] or limited["grid"] == limited["cluster"]


def test_the_store_path_follows_the_output():
    kernel = first("tma", store="tma")["id"]

    def store(out, kernel=kernel, dtype=BF16):
        a, b, _ = (x.to(dtype) for x in tn(64, out.shape[1], 64))
        return _C.launch_shape(kernel, a, b, out)["store"]

    assert store(torch.zeros(64, 64, dtype=BF16)) == "tma"
    assert store(torch.zeros(64, 64, dtype=torch.float32)) == "direct"
    assert store(torch.zeros(64, 65, dtype=BF16)) == "rows"
    assert store(torch.zeros(64 * 64 + 1, dtype=BF16)[1:].view(64, 64)) == "rows"
    # no registers for it: four warpgroups of consumers
    four = first("cooperative", a_type="f16", accumulator="f16", consumers=4)["id"]
    assert store(torch.zeros(64, 65, dtype=torch.float16), four, torch.float16) == "direct"
    assert store(torch.zeros(64, 64, dtype=torch.float16), four, torch.float16) == "tma"


def test_empty_products_launch_nothing():
    for schedule in manifest.SCHEDULES:
        kernel = first(schedule)["id"]
        for m, n in ((0, 8), (8, 0)):
            assert _C.launch_shape(kernel, *tn(m, n, 8))["grid"] == 0
            _C.gemm_emulated(kernel, *tn(m, n, 8))
        a, b, out = tn(72, 40, 0)
        out.fill_(1)
        _C.gemm_emulated(kernel, a, b, out)
        assert not out.any(), "K = 0 gives zeros"


def test_build_and_device_info_need_no_gpu():
    info = _C.build_info()
    assert info["torch"].split(".")[:2] == torch.__version__.split(".")[:2]
    device = _C.device_info(0)
    assert device["available"] == (device["reason"] == "")
    assert not _C.device_info(10**6)["available"]
