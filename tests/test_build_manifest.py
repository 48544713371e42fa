"""The manifest and the generator: names, limits, subsets, and files that change only when their kernels do."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = ROOT / "csrc" / "instantiations" / "generate.py"


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


manifest = load(GENERATOR, "generate_under_test").load_manifest(ROOT / "hopper_gemm" / "manifest.py")


def generate(folder, *arguments):
    command = [sys.executable, str(GENERATOR), "--out", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_names_are_unique_and_say_the_config():
    rows = manifest.selected("default,ablation,candidates")
    assert len(rows) <= len(manifest.DEFAULT) + len(manifest.ABLATION) + len(manifest.CANDIDATES)
    pattern = re.compile(
        r"(bf16|f16|tf32|e4m3|e5m2|s8|u8)_(bf16|f16|tf32|e4m3|e5m2|s8|u8)_(f32|f16|s32)_[tn]{2}_\d+x\d+x\d+_c\dx\d_s\d+"
        r"_\w+_(direct|tma)(_w\d)?(_sw\d+x\d+)?(_p\d+)?(_mma0)?(_k\d+)?(_column)?(_unfused)?"
    )
    for name, row in rows.items():
        assert pattern.fullmatch(name), name
        assert name.startswith(f"{row.a_type}_{row.b_type}_{row.accumulator}_")
        assert f"_{manifest.layout(row)}_{row.tile_m}x{row.tile_n}x{row.tile_k}_" in name


def test_the_default_build_is_bounded_and_complete():
    assert len(manifest.DEFAULT) <= 240
    chosen = [row for row in manifest.DEFAULT if row.automatic]
    found = {(row.schedule, row.input, manifest.layout(row)) for row in chosen}
    assert found >= {(s, t, x) for s in manifest.SCHEDULES for t in ("bf16", "f16") for x in manifest.LAYOUTS}
    assert found >= {(s, t, "tn") for s in manifest.SCHEDULES for t in ("tf32", "e4m3", "s8")}
    pairs = {f"{a}_{b}" for types in (("e4m3", "e5m2"), ("s8", "u8")) for a in types for b in types}
    assert {f"{row.a_type}_{row.b_type}" for row in chosen} == pairs | {"bf16_bf16", "f16_f16", "tf32_tf32"}
    assert all(row.accumulator != "f16" for row in chosen), "fp16 accumulation is never chosen automatically"


def test_the_kernels_of_the_table_of_schedules_are_built():
    rows = json.loads((ROOT / "benchmarks" / "results" / "schedules.json").read_text())["rows"]
    named = {row["kernel"] for row in rows if row.get("kernel")}
    assert len(named) > 5 and named <= set(manifest.selected("default"))


def test_fp8_and_tf32_have_kernels_that_promote_and_others():
    for pair in ("e4m3", "e5m2", "e4m3_e5m2", "e5m2_e4m3", "tf32"):
        k = 32 if pair == "tf32" else 128
        assert {row.promote_k for row in manifest.DEFAULT if row.input == pair} == {0, k}
    assert not any(row.promote_k for row in manifest.DEFAULT if not row.a_type.startswith(("e", "tf32")))
    for pair in ("e4m3", "tf32"):
        promoted = {row.schedule for row in manifest.DEFAULT if row.input == pair and row.promote_k}
        assert promoted == set(manifest.SCHEDULES), "the default accumulation must not rule a schedule out"


def test_types_decide_what_a_row_leaves_open():
    (row,) = manifest.kernel("pingpong", 64, 128, 8, inputs=("e4m3_e5m2",), layouts=("tn",), promote_k=128)
    assert (row.a_type, row.b_type, row.input, row.tile_k, row.a_swizzle) == ("e4m3", "e5m2", "e4m3_e5m2", 128, 128)
    assert row.mmas_in_flight == 0, "promoted sums are read after every stage"
    assert manifest.name(row) == "e4m3_e5m2_f32_tn_64x128x128_c1x1_s8_pingpong_tma_p128"
    (row,) = manifest.kernel("tma", 64, 128, 7, inputs=("s8",), layouts=("tn",))
    assert (row.accumulator, row.store, row.tile_k) == ("s32", "direct", 128)
    (row,) = manifest.kernel("tma", 64, 128, 7, inputs=("tf32",), layouts=("tn",))
    assert (row.accumulator, row.store, row.tile_k, row.a_swizzle) == ("f32", "tma", 32, 128)


def test_layout_letters_are_blas():
    assert manifest.majors("tn") == ("k", "k")  # a @ w.t()
    assert manifest.majors("tt") == ("k", "mn")  # contiguous a @ b
    assert manifest.majors("nt") == ("mn", "mn")


@pytest.mark.parametrize(("elements", "span"), [(64, 128), (96, 64), (176, 32), (200, 16), (8, 16), (256, 128)])
def test_default_swizzle_divides_the_contiguous_extent(elements, span):
    assert manifest.default_swizzle(elements) == span


def test_suffixes_appear_only_for_what_differs():
    (row,) = manifest.kernel("cooperative", 128, 256, 4, inputs=("bf16",), layouts=("tn",))
    (other,) = manifest.kernel(
        "cooperative", 128, 256, 4, inputs=("bf16",), layouts=("tn",), swizzles=(32, 32), mmas_in_flight=0
    )
    assert manifest.name(row) == "bf16_bf16_f32_tn_128x256x64_c1x1_s4_cooperative_tma"
    assert manifest.name(other) == manifest.name(row) + "_sw32x32_mma0"


def test_a_subset_by_globs_and_environment(monkeypatch):
    tma = manifest.selected(kernels="*_tma_tma")
    assert tma and all(row.schedule == "tma" for row in tma.values())
    monkeypatch.setenv("HOPPER_GEMM_KERNELS", "bf16_*_pingpong_*, bf16_*_multistage_*")
    assert {row.schedule for row in manifest.selected().values()} == {"pingpong", "multistage"}
    with pytest.raises(ValueError, match="unknown manifest 'nightly'"):
        manifest.selected("nightly")


def test_the_generator_rewrites_only_what_changed_and_deletes_the_rest(tmp_path):
    both = ("--cuda", "--emulator")
    assert generate(tmp_path, *both, "--kernels=bf16_*_tma_tma").returncode == 0
    first = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert generate(tmp_path, *both, "--kernels=bf16_*_tma_tma").returncode == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == first
    # One more schedule: the old kernel files stay as they are.
    assert generate(tmp_path, *both, "--kernels=bf16_*_tma_tma,bf16_*_pingpong_*").returncode == 0
    kernels = [path for path in first if path.parent.name in ("cuda", "emulated")]
    assert kernels and all(path.stat().st_mtime_ns == first[path] for path in kernels)
    assert generate(tmp_path, *both, "--kernels=bf16_*_pingpong_*").returncode == 0
    assert not any(path.exists() for path in kernels)


def test_generated_files_hold_at_most_four_kernels_of_one_schedule(tmp_path):
    assert generate(tmp_path, "--cuda", "--emulator", "--manifests=default,ablation").returncode == 0
    names = []
    for path in tmp_path.glob("cuda/*.cu"):
        found = re.findall(r"^struct (\w+) \{", path.read_text(), re.MULTILINE)
        schedules = {re.search("|".join(sorted(manifest.SCHEDULES, key=len, reverse=True)), n).group() for n in found}
        assert 1 <= len(found) <= 4 and len(schedules) == 1
        names += found
    assert sorted(names) == sorted(manifest.selected("default,ablation"))
    assert len(list(tmp_path.glob("emulated/*.cpp"))) == len(list(tmp_path.glob("cuda/*.cu")))


def test_no_kernel_of_that_name_is_an_error_with_the_glob(tmp_path):
    done = generate(tmp_path, "--emulator", "--kernels=fp4_*")
    assert done.returncode == 2 and "no kernel is called 'fp4_*'" in done.stderr
