"""The ptxas gate: what it lets pass, what stops a build, and the exceptions list."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GATE = ROOT / "tools" / "ptxas_gate.py"
spec = importlib.util.spec_from_file_location("ptxas_gate", GATE)
gate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate)

KERNEL = "_ZN11hopper_gemm11gemm_kernelINS_8compiled9my_kernelEEEvNS_10GemmParamsE"
CLEAN = f"""ptxas info    : Compiling entry function '{KERNEL}' for 'sm_90a'
ptxas info    : Function properties for {KERNEL}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers
"""
SPILL = CLEAN.replace("0 bytes spill stores", "24 bytes spill stores")
STACK = CLEAN.replace("0 bytes stack frame", "8 bytes stack frame")
SERIALISED = (
    CLEAN
    + "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... "
    + f"in the function '{KERNEL}'\n"
)


def test_a_clean_report_passes():
    assert gate.findings(CLEAN, []) == []


@pytest.mark.parametrize("report", [SPILL, STACK, SERIALISED])
def test_what_costs_speed_is_found_with_its_kernel(report):
    found = gate.findings(report, [])
    assert [kernel for kernel, _ in found] == ["my_kernel"]


def test_an_exception_needs_a_reason_and_covers_its_kernel_alone():
    allowed = gate.read_exceptions("# comment\nmy_* | spill stores | the epilogue spills once, measured free\n")
    assert gate.findings(SPILL, allowed) == []
    assert gate.findings(SERIALISED, allowed)
    assert gate.findings(SPILL.replace("9my_kernel", "9no_kernel"), allowed)
    with pytest.raises(ValueError, match="reason"):
        gate.read_exceptions("my_* | spill stores |\n")


def run_gate(tmp_path, report, status=0):
    """A stand-in compiler that writes its object and prints `report`."""
    compiler = tmp_path / "compiler.py"
    compiler.write_text(
        "import sys\n"
        "open(sys.argv[sys.argv.index('-o') + 1], 'w').write('object')\n"
        f"sys.stderr.write({report!r})\nsys.exit({status})\n"
    )
    target = tmp_path / "kernel.o"
    done = subprocess.run(
        [sys.executable, GATE, sys.executable, compiler, "-c", "kernel.cu", "-o", target], capture_output=True, text=True
    )
    return done, target


def test_the_launcher_keeps_the_report_and_hides_what_is_well(tmp_path):
    done, target = run_gate(tmp_path, CLEAN + "kernel.cu(3): warning: unused\n")
    assert done.returncode == 0 and target.exists()
    assert Path(f"{target}.ptxas").read_text().startswith("ptxas info")
    assert done.stderr == "kernel.cu(3): warning: unused\n"


def test_the_launcher_deletes_the_object_and_fails(tmp_path):
    done, target = run_gate(tmp_path, SPILL)
    assert done.returncode == 1 and not target.exists()
    assert "my_kernel" in done.stderr and "24 bytes spill stores" in done.stderr


def test_a_failing_compiler_fails_with_its_own_words(tmp_path):
    done, _ = run_gate(tmp_path, "kernel.cu(1): error: no\n", status=2)
    assert done.returncode == 2 and "error: no" in done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_real_spills_stop_a_real_compilation(tmp_path):
    source = tmp_path / "spills.cu"
    source.write_text(
        "__global__ void spills(float* x) { float v[64];\n"
        "#pragma unroll\nfor (int i = 0; i < 64; ++i) v[i] = x[i * 32 + threadIdx.x];\n"
        "__syncthreads();\n"
        "#pragma unroll\nfor (int i = 0; i < 64; ++i) x[i * 32 + threadIdx.x] = v[i] * v[63 - i]; }\n"
    )
    target = tmp_path / "spills.o"
    command = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-Xptxas=-v", "-c", source, "-o", target]
    limited = subprocess.run([sys.executable, GATE, *command, "-maxrregcount=24"], capture_output=True, text=True, env=os.environ)
    assert limited.returncode == 1 and "spill" in limited.stderr and not target.exists()
    free = subprocess.run([sys.executable, GATE, *command], capture_output=True, text=True)
    assert free.returncode == 0 and target.exists(), free.stderr
