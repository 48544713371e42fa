"""Building without nvcc, what an installed package and an sdist hold, and that it works from another folder."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from test_build_cpp import tool

ROOT = Path(__file__).resolve().parents[1]


def without_nvcc(**changes):
    """This environment without a way to nvcc."""
    folders = [f for f in os.environ["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(f, "nvcc"))]
    hidden = ("CUDACXX", "CUDA_HOME", "CUDA_PATH")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    return environment | {"PATH": os.pathsep.join(folders)} | changes


def configure(folder, *arguments, **changes):
    cmake, ninja = tool("cmake"), tool("ninja")
    if not cmake or not ninja:
        pytest.skip("needs cmake and ninja")
    command = [cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython_EXECUTABLE={sys.executable}"]
    command += ["-DHG_CUDA_ROOT=/nonexistent", "-DHG_KERNELS=bf16_*_tn_*_tma_tma", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=without_nvcc(**changes))
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def has_nvcc_wheels():
    return any((Path(place) / "nvidia" / "cu13" / "bin" / "nvcc").exists() for place in sys.path)


@pytest.mark.skipif(has_nvcc_wheels(), reason="nvcc comes from wheels here")
def test_without_nvcc_the_build_says_emulator_only(tmp_path):
    status, text = configure(tmp_path)
    assert status == 0 and "nvcc was not found" in text and "emulator only" in text
    assert not list(tmp_path.glob("generated/cuda/*"))


@pytest.mark.skipif(has_nvcc_wheels(), reason="nvcc comes from wheels here")
def test_insisting_on_cuda_without_nvcc_fails_with_the_cure(tmp_path):
    status, text = configure(tmp_path, "-DHG_CUDA=ON")
    assert status != 0 and "HG_CUDA=ON but nvcc was not found" in text and "CUDACXX" in text


def test_a_broken_nvcc_is_loud(tmp_path):
    status, text = configure(tmp_path, CUDACXX="/nonexistent/nvcc")
    assert status != 0 and "/nonexistent/nvcc" in text


def test_a_wrong_option_is_named(tmp_path):
    status, text = configure(tmp_path, "-DHG_CUDA=maybe")
    assert status != 0 and "HG_CUDA=maybe" in text


def test_an_installed_package_works_from_another_folder(tmp_path):
    target = tmp_path / "site"
    environment = without_nvcc(
        HG_CMAKE_ARGS="-DHG_CUDA=OFF", HG_BUILD_DIR=str(tmp_path / "build"), HOPPER_GEMM_KERNELS="bf16_*_tn_64x128x64_*_tma_tma"
    )
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index", "--target", target, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    package = target / "hopper_gemm"
    for name in (
        "lib/libhopper_gemm.so",
        "lib/cmake/hopper_gemm/hopper_gemm-config.cmake",
        "include/hopper_gemm.h",
        "include/hopper_gemm/kernel/gemm.h",
        "manifest.py",
        "bench/suites/smoke.json",
        "py.typed",
    ):
        assert (package / name).exists(), name
    code = (
        "import torch, hopper_gemm as h; print(h.__file__)\n"
        "a = torch.randn(72, 40).bfloat16(); b = torch.randn(24, 40).bfloat16().t()\n"
        "with h.emulator(): c = h.matmul(a, b)\n"
        "assert (c.double() - a.double() @ b.double()).abs().max() < 0.2\n"
        "assert not any(k.compiled for k in h.kernels())\n"
        "try: h.matmul(a, b)\n"
        "except RuntimeError as error: print(error)\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHONPATH": str(target)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0 and str(package) in done.stdout, done.stdout + done.stderr
    assert "emulator" in done.stdout.splitlines()[1]


def test_an_sdist_holds_all_that_a_build_needs(tmp_path):
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", tmp_path, "sdist", "-d", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames() if "/" in name}
    needed = ["CMakeLists.txt", "setup.py", "hopper_gemm/manifest.py", "tools/ptxas_gate.py", "include/hopper_gemm.h"]
    needed += ["csrc/instantiations/generate.py", "cmake/library.cmake", "csrc/emulator/emulator.h", "csrc/bindings/module.cpp"]
    assert [name for name in needed if name not in names] == []
    assert not [name for name in names if name.endswith(".so") or name.startswith("hopper_gemm/lib")]
