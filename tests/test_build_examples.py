"""The examples compile against the built package as a user's project would, and run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from test_build_cpp import tool

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "hopper_gemm" / "lib" / "cmake" / "hopper_gemm"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    cmake, ninja = tool("cmake"), tool("ninja")
    if not cmake or not ninja or not CONFIG.exists():
        pytest.skip("needs cmake, ninja and a build in place")
    path = tmp_path_factory.mktemp("examples")
    own = "ON" if shutil.which("nvcc") else "OFF"
    command = [cmake, "-S", ROOT / "examples", "-B", path, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    done = subprocess.run([*command, f"-Dhopper_gemm_DIR={CONFIG}", f"-DOWN_KERNEL={own}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([cmake, "--build", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def run(program):
    return subprocess.run([program], capture_output=True, text=True, timeout=120)


def test_cpp_without_torch(folder):
    done = run(folder / "cpp_standalone")
    assert done.returncode == 0 and "largest error 0" in done.stdout, done.stdout + done.stderr


def test_a_kernel_of_ones_own(folder):
    if not (folder / "own_kernel").exists():
        pytest.skip("needs nvcc")
    done = run(folder / "own_kernel")
    assert done.returncode == 0 and "own_kernel:" in done.stdout, done.stdout + done.stderr
