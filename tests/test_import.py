"""Importing the package: no GPU, no driver, no order, little time."""

from __future__ import annotations

import os
import subprocess
import sys

import hopper_gemm
from hopper_gemm import errors


def test_import_needs_no_gpu_and_starts_none():
    code = (
        "import hopper_gemm as hg, torch\n"
        "assert not torch.cuda.is_initialized()\n"
        "print(hg.__version__, hg.is_available(), hg.is_available('cpu'))\n"
        "assert not torch.cuda.is_initialized()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment())
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [hopper_gemm.__version__, "False", "False"]


def test_import_before_torch_and_within_its_time():
    code = (
        "import time, sys\n"
        "import torch\n"
        "t = time.perf_counter()\n"
        "import hopper_gemm\n"
        "print(time.perf_counter() - t)\n"
        "assert not {'typer', 'rich', 'matplotlib'} & set(sys.modules)\n"
    )
    seconds = []
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment())
        assert run.returncode == 0, run.stderr
        seconds.append(float(run.stdout))
    assert min(seconds) <= 0.2, f"import hopper_gemm costs {min(seconds):.2f} s over torch's"
    first = subprocess.run([sys.executable, "-c", "import hopper_gemm, torch"], capture_output=True, env=_environment())
    assert first.returncode == 0, first.stderr


def _environment() -> dict[str, str]:
    return {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def test_a_missing_or_foreign_extension_is_explained():
    code = (
        "import sys\n"
        "sys.modules['hopper_gemm._C'] = None\n"
        "try:\n"
        "    import hopper_gemm\n"
        "except ImportError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment())
    assert run.returncode == 0, run.stderr
    for word in (errors.ExtensionError.__name__, "hopper_gemm/_C", "build"):
        assert word in run.stdout, (word, run.stdout)


def test_a_first_product_imports_no_symbolic_algebra():
    """torch.broadcast_shapes imports sympy: 2 s of the first call of a process (H200 machine, 2026-11-30)."""
    program = (
        "import sys, torch, hopper_gemm\n"
        "a = torch.ones(2, 16, 16, dtype=torch.bfloat16)\n"
        "with hopper_gemm.emulator():\n"
        "    hopper_gemm.matmul(a[0], a[1]); hopper_gemm.matmul(a, a); hopper_gemm.matmul(a, a[0])\n"
        "print('sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
