"""The GPU's Python path on a computer without one: CPU tensors, kernels that count as compiled, torch's own product.

Only for testing what happens before and around a launch; the kernels themselves run on the emulator or a GPU.
"""

from __future__ import annotations

import dataclasses

import pytest

from hopper_gemm import known, ops, packing, registry
from hopper_gemm.selector import Card


class PretendGpu:
    """Replaces the launch and the device queries of `hopper_gemm.ops`; counts launches and plans."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launches: list[str] = []
        self.static: list[bool] = []  # what each launch was told of b
        self.copies: list[int] = []  # how many each launch made
        self.plans = 0
        self.kernels = tuple(dataclasses.replace(k, compiled=True) for k in registry.all_kernels())
        make_plan = ops.make_plan

        def counted(*args):
            self.plans += 1
            return make_plan(*args)

        monkeypatch.setattr(known, "calls", {})
        monkeypatch.setattr(known, "_memories", {})
        monkeypatch.setattr(ops, "_recipes", {})
        monkeypatch.setattr(known, "new_memory", lambda: ops._C.Launches(self.gemm))
        monkeypatch.setattr(packing, "_copy", self.copy)
        monkeypatch.setattr(ops, "_gemm", self.gemm)
        monkeypatch.setattr(ops, "make_plan", counted)
        monkeypatch.setattr(ops, "require_emulator", lambda: Card())
        monkeypatch.setattr(ops, "all_kernels", lambda: self.kernels)

    def gemm(
        self, kernel: int, a, b, out, raster: int, group: int, max_ctas: int, exchanged: bool, slices: int = 1, options=None,
        static_b: bool = False,
    ) -> None:  # fmt: skip
        """Stands in for `_C.gemm`, checking what it is given as the binding would."""
        refusal = ops._C.problem_error(kernel, a, b, out, exchanged, options)
        assert refusal == "", refusal
        assert raster in (0, 1, 2) and group >= 1 and max_ctas == 0
        self.launches.append(self.kernels[kernel].name)
        self.static.append(static_b)
        if options is None:
            out.copy_((a.double() @ b.double()).to(out.dtype))
        else:
            ops._C.gemm_emulated(kernel, a, b, out, raster, group, exchanged=exchanged, slices=slices, epilogue=options)

    def copy(self, copies) -> None:
        """Stands in for `_C.copy`."""
        self.copies.append(len(copies))
        packing._copy_emulated(copies)


@pytest.fixture
def pretend_gpu(monkeypatch: pytest.MonkeyPatch) -> PretendGpu:
    return PretendGpu(monkeypatch)
