"""Inputs in rotation over more than the L2, preallocated outputs, and the products of a case on them."""

from __future__ import annotations

from typing import Any

import torch

from .. import _extension
from ..explanation import explain
from ..ops import matmul
from ..plan import Plan
from ..registry import Kernel
from ..walk import Walk
from . import measure
from .arithmetic import ARITHMETIC
from .suites import Case


class Operands:
    """`count` sets of random inputs and outputs; a call takes the number of one."""

    def __init__(self, case: Case, seed: int, device: str = "cuda", count: int | None = None) -> None:
        self.arithmetic = ARITHMETIC[case.dtype]
        self.options = self.arithmetic.options | {"deterministic": True}  # the selector's choice, not a tuned table's
        self.count = count or measure.input_sets(self.arithmetic.input.itemsize * (case.m * case.k + case.k * case.n))
        generator = torch.Generator(device).manual_seed(seed)

        def matrix(outer: int, k_major: bool) -> torch.Tensor:
            """(outer, K)."""
            stored = self.arithmetic.normal((outer, case.k) if k_major else (case.k, outer), generator)
            return stored if k_major else stored.t()

        self.a = [matrix(case.m, case.layout[0] == "t") for _ in range(self.count)]
        self.b = [matrix(case.n, case.layout[1] == "n").t() for _ in range(self.count)]
        self.out = measure.rotated_outputs(self.count, (case.m, case.n), self.arithmetic.output, device)

    def torch_call(self, i: int) -> None:
        self.arithmetic.torch_product(self.a[i], self.b[i], self.out[i])

    def plan(self, **choices: Any) -> Plan:
        """What `matmul` with a schedule or a config would run.

        Raises:
            HopperGemmError: it refuses.
        """
        return explain(self.a[0], self.b[0], out=self.out[0], **self.options, **choices).plan

    def call(self, **choices: Any) -> measure.Call:
        """`matmul` with a schedule or a config."""
        options = self.options | choices

        def call(i: int) -> None:
            matmul(self.a[i], self.b[i], out=self.out[i], **options)

        return call

    def kernel_call(self, kernel: Kernel, walk: Walk) -> measure.Call:
        """One kernel with a walk that need not be the selector's."""
        gemm = _extension.load().gemm
        exchanged = kernel.exchanges

        def call(i: int) -> None:
            gemm(kernel.id, self.a[i], self.b[i], self.out[i], walk.raster_index, walk.group, 0, exchanged, walk.slices)

        return call

    def agrees(self, call: measure.Call, tolerance: float = 2e-2) -> bool:
        """Whether a call gives torch's result, but for rounding."""
        self.torch_call(0)
        expected = self.out[0].double()
        self.out[0].fill_(-77)
        call(0)
        difference = (self.out[0].double() - expected).norm()
        return bool(difference <= tolerance * expected.norm())
