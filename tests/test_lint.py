"""The layering rules hold in the repository, and each of them can fail."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("lint", ROOT / "tools" / "lint.py")
lint = importlib.util.module_from_spec(spec)
sys.modules["lint"] = lint
spec.loader.exec_module(lint)


def test_the_repository_is_clean():
    found = [f"{relative}:{line}: {text}" for relative, path in lint.sources() for line, text in lint.check(relative, path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("include/hopper_gemm/mainloop/x.h", 'asm volatile("nanosleep;");'),
        ("include/hopper_gemm/kernel/x.h", "int i = threadIdx.x;"),
        ("include/hopper_gemm/kernel/x.h", "__shared__ int x;"),
        ("include/hopper_gemm/kernel/x.h", "__syncthreads();"),
        ("include/hopper_gemm/kernel/x.h", "v = __shfl_sync(~0u, v, 0);"),
        ("include/hopper_gemm/kernel/x.h", "#include <cuda_bf16.h>"),
        ("include/hopper_gemm/kernel/x.h", "cudaStream_t stream;"),
        ("include/hopper_gemm/kernel/x.h", "CUtensorMap map;"),
        ("include/hopper_gemm/kernel/x.h", "#if defined(HG_EMULATE)"),
        ("include/hopper_gemm/kernel/x.h", "assert(k > 0);"),
        ("include/hopper_gemm/scheduler/x.h", "constexpr int sms = 132;"),
        ("include/hopper_gemm/kernel/x.h", '#include "hopper_gemm/arch/ptx/tma.h"'),
        ("include/hopper_gemm/kernel/x.h", '#include "hopper_gemm/arch/emu/tma.h"'),
        ("include/hopper_gemm/core/x.h", "at::Tensor t;"),
        ("csrc/dispatch/x.cpp", "#include <torch/library.h>"),
        ("csrc/dispatch/launch.cpp", "#include <cuda_runtime.h>"),
        ("csrc/dispatch/x.cpp", 'asm("nop");'),
        ("csrc/bindings/x.cpp", "cudaGetDevice(&device);"),
    ],
)
def test_each_rule_can_fail(path, line):
    assert lint.check(path, f"// Purpose.\n{line}\n"), line
    assert lint.check(path, f"// Purpose.\n// {line}\n") == [], "comments may speak of anything"


def test_the_seam_may_do_what_others_may_not():
    assert lint.check("include/hopper_gemm/arch/ptx/x.h", '// Purpose.\nasm volatile("x" ::"r"(threadIdx.x));\n') == []
    assert lint.check("csrc/dispatch/gpu_device.cpp", "// Purpose.\n#include <cuda_runtime_api.h>\n") == []


def test_long_files_and_missing_purposes():
    assert lint.check("include/x.h", "// Purpose.\n" + "\n" * 301)
    assert lint.check("include/x.h", "#pragma once\n")
    assert lint.check("hopper_gemm/x.py", "import os\n")
