"""Builds and runs the C++ tests: the emulator itself, the schedules in it, the instruction contract by both compilers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "tests"
PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "cpp").glob("emulator_*.cpp"))


def tool(name):
    """cmake or ninja of this environment first: PATH may have an older one."""
    try:
        module = __import__(name)
        return os.path.join(getattr(module, "CMAKE_BIN_DIR", None) or module.BIN_DIR, name)
    except ImportError:
        return shutil.which(name)


@pytest.fixture(scope="module")
def built():
    cmake, ninja = tool("cmake"), tool("ninja")
    if not cmake or not ninja:
        pytest.skip("needs cmake and ninja")
    configure = [cmake, "-S", ROOT, "-B", FOLDER, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([*configure, "-DHG_KERNELS=bf16_*_tn_*_tma_tma"], check=True, capture_output=True)
    done = subprocess.run([cmake, "--build", FOLDER, "--target", "cpp_tests"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(built, program):
    done = subprocess.run([FOLDER / "tests" / program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
