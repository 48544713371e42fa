"""Cases of the kind build: without a GPU, whatever the user's architecture list, without ninja, from a source package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.processes import environment
from test_build_cpp import tool

ROOT = Path(__file__).resolve().parents[2]
ONE_KERNEL = "bf16_*_tn_64x128x64_c1x1_s7_tma_tma"

pytestmark = pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="not in the source tree")


def run(*command: str | Path, folder: Path = ROOT, **changes: str) -> tuple[int, str]:
    plain = environment("cuda", CUDA_VISIBLE_DEVICES="", HOPPER_GEMM_KERNELS=ONE_KERNEL, **changes)
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder, env=plain)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc on PATH")
@pytest.mark.parametrize("architectures", [None, "9.0", "8.0;9.0;12.0"])
def test_c143_c144_sm_90a_without_a_gpu_whatever_the_architecture_list(architectures, tmp_path):
    """What would be compiled; that the library then holds sm_90a alone is tools/check_sass.py's finding."""
    cmake, ninja = tool("cmake"), tool("ninja")
    changes = {} if architectures is None else {"TORCH_CUDA_ARCH_LIST": architectures}
    plain = environment("cuda", CUDA_VISIBLE_DEVICES="", **changes)
    options = [f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython_EXECUTABLE={sys.executable}", "-DHG_PYTHON=ON", "-DHG_CUDA=ON"]
    subprocess.run(
        [cmake, "-S", ROOT, "-B", tmp_path, "-G", "Ninja", f"-DHG_KERNELS={ONE_KERNEL}", *options],
        check=True, capture_output=True, env=plain,
    )  # fmt: skip
    commands = subprocess.run([ninja, "-C", tmp_path, "-t", "commands"], capture_output=True, text=True, check=True).stdout
    compilations = [line for line in commands.splitlines() if "-x cu" in line and " -c " in line]
    assert compilations
    for line in compilations:
        assert set(re.findall(r"(?:compute|sm)_\d+[a-z]?\b", line)) == {"compute_90a", "sm_90a"}, line
        assert not re.search(r"code=\[?[\w,]*compute_", line), line  # machine code only, no PTX


def test_c145_without_ninja_it_is_named(tmp_path):
    hidden = tmp_path / "hidden" / "ninja"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('no ninja')")
    folders = [f for f in os.environ["PATH"].split(os.pathsep) if not (Path(f) / "ninja").exists()]
    status, text = run(
        "setup.py", "-q", "build_ext", "--build-temp", tmp_path, "--build-lib", tmp_path,
        PATH=os.pathsep.join(folders), PYTHONPATH=str(hidden.parent), HG_BUILD_DIR=str(tmp_path / "cmake"),
    )  # fmt: skip
    assert status != 0 and "ninja was not found" in text and "pip install ninja" in text, text[-2000:]


@pytest.mark.slow
def test_c147_a_source_package_alone_is_enough(tmp_path):
    status, text = run("setup.py", "-q", "egg_info", "-e", tmp_path, "sdist", "-d", tmp_path)
    assert status == 0, text[-3000:]
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    status, text = run(
        "setup.py", "-q", "build", "-b", tmp_path / "b", "--build-lib", tmp_path / "site",
        folder=source, HG_BUILD_DIR=str(tmp_path / "cmake"), HG_CMAKE_ARGS="-DHG_CUDA=OFF",
    )  # fmt: skip
    assert status == 0, text[-3000:]
    code = (
        "import torch, hopper_gemm as h\n"
        "a = torch.ones(64, 64, dtype=torch.bfloat16)\n"
        "with h.emulator(): y = h.matmul(a, a.t())\n"
        "assert bool((y == 64).all()); print(h.__file__)\n"
    )
    status, text = run("-c", code, folder=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert status == 0 and str(tmp_path / "site") in text, text[-2000:]
