"""Cases of the kind import-env: importing needs no GPU, no driver and no order; another GPU is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import environment

import hopper_gemm

PACKAGE = Path(hopper_gemm.__file__).parent


def run(code: str, **changes: str) -> str:
    plain = environment("cuda", CUDA_VISIBLE_DEVICES="", **changes)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=plain, timeout=120)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout


def test_c149_import_without_a_gpu():
    code = (
        "import hopper_gemm, torch\n"
        "assert not torch.cuda.is_initialized()\n"
        "print(hopper_gemm.__version__)\n"
        "a = torch.ones(4, 4, dtype=torch.bfloat16)\n"
        "for f in (hopper_gemm.matmul, torch.ops.hopper_gemm.matmul):\n"
        "    try: f(a, a)\n"
        "    except RuntimeError as error: assert 'CUDA' in str(error) and 'CPU' in str(error), error\n"
        "    else: raise SystemExit('accepted CPU tensors')\n"
    )
    assert run(code).strip() == hopper_gemm.__version__


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (10, 0), (12, 0)])
def test_c151_a_gpu_that_is_not_hopper(capability, monkeypatch):
    """The driver's answer stands in for such a GPU: the library asks it, not torch."""
    from hopper_gemm import device

    major, minor = capability
    reason = f"other GPU has compute capability {major}.{minor}"
    monkeypatch.setattr(device, "device_info", lambda index: {"available": False, "reason": reason})
    device.card_of.cache_clear()
    try:
        assert not hopper_gemm.is_available()
        with pytest.raises(hopper_gemm.errors.DeviceError) as caught:
            device.card_of(0)
    finally:
        device.card_of.cache_clear()
    text = str(caught.value)
    assert all(word in text for word in ("Hopper", "sm_90", "9.0", f"{major}.{minor}")), text


def test_c152_imported_before_torch():
    run("import hopper_gemm\nimport torch\nassert callable(hopper_gemm.matmul)\n")


def test_c153_no_hard_link_to_the_driver():
    libraries = list(PACKAGE.rglob("*.so*"))
    assert libraries
    for library in libraries:
        needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        assert "libcuda.so" not in needed and "libcudart" not in needed, library
        symbols = subprocess.run(["readelf", "-Ws", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
        wanted = [line for line in symbols.splitlines() if " UND " in line and "cuTensorMapEncode" in line]
        assert wanted == [], library
