"""The benchmark on a computer without a GPU: products on the CPU, pretended times."""

from __future__ import annotations

import types

import pytest

from hopper_gemm import _extension, explanation, registry
from hopper_gemm.bench import runner
from hopper_gemm.selector import Card

from .pretend_gpu import PretendGpu
from .pretend_time import pretend_time


class Library(PretendGpu):
    """Launches that compute on the CPU, but for kernels whose name holds `broken` or `wrong`."""

    broken: str = "-"
    wrong: str = "-"

    def gemm(self, kernel, a, b, out, *rest):
        name = self.kernels[kernel].name
        if self.broken in name:
            raise RuntimeError("it broke")
        out.copy_(a.double() @ b.double())
        if self.wrong in name:
            out[0] = 100


@pytest.fixture
def library(monkeypatch):
    library = Library(monkeypatch)
    real = _extension.load()
    extension = types.SimpleNamespace(**{name: getattr(real, name) for name in dir(real) if name[:2] != "__"})
    extension.gemm = library.gemm
    monkeypatch.setattr(_extension, "load", lambda: extension)
    for module in (registry, explanation):
        monkeypatch.setattr(module, "all_kernels", lambda: library.kernels)
    monkeypatch.setattr(runner, "card_of", lambda index: Card())
    pretend_time(monkeypatch)
    real_operands = runner.Operands
    monkeypatch.setattr(runner, "Operands", lambda case, seed: real_operands(case, seed, device="cpu"))
    return library
