"""The cases run on the emulator and, marked gpu, on a Hopper GPU; a case too large for the emulator on the GPU alone."""

from __future__ import annotations

import pytest

import hopper_gemm


@pytest.fixture(params=[pytest.param("cpu", id="emulator"), pytest.param("cuda", marks=pytest.mark.gpu, id="gpu")])
def device(request):
    if request.param == "cuda":
        yield "cuda"
        return
    with hopper_gemm.emulator():
        yield "cpu"
