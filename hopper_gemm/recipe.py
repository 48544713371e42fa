"""How one product is carried out: what is packed, which kernel runs, what is copied. Independent of addresses, so that a
repeated call need not be planned again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from .emulation import Emulator
from .manifest import majors
from .packing import LEFT, RIGHT, Copies, aligned_like, packed, run_copies
from .selector import Prediction

Launch = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]  # a, b, out: the product's own kernel


class Recipe(NamedTuple):
    """`a_inner`, `b_inner`: the contiguous dimension (-1 or -2) of a packed copy, 0 for an operand read in place.

    `static_b`: the kernel may be told that nothing still writes its b. Never of a packed b, which this call itself writes
    just before the kernel reads it.
    """

    prediction: Prediction
    a_inner: int
    b_inner: int
    static_b: bool = False

    @staticmethod
    def of(prediction: Prediction, static_b: bool = False) -> Recipe:
        problem = prediction.problem
        kernel_majors, packs = majors(prediction.kernel.layout), problem.packs
        if problem.swapped:
            kernel_majors, packs = kernel_majors[::-1], packs[::-1]
        a_inner = 0 if not packs[0] else -1 if kernel_majors[0] == "k" else -2
        b_inner = 0 if not packs[1] else -2 if kernel_majors[1] == "k" else -1
        return Recipe(prediction, a_inner, b_inner, static_b and not b_inner)

    @property
    def copies_out(self) -> bool:
        return self.prediction.problem.copies_out

    @property
    def is_plain(self) -> bool:
        """Whether it is one launch on the caller's own tensors."""
        return not (self.a_inner or self.b_inner or self.copies_out)

    def run(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, launch: Launch, emulator: Emulator | None = None
    ) -> None:
        copies: Copies = []
        a, b = self._packed(a, b, out, copies)
        run_copies(copies, emulator)
        if not self.copies_out:
            return launch(a, b, out)
        result, _ = aligned_like(out, -1)
        launch(a, b, result)
        run_copies([(result, out, 0, 0)], emulator)

    def stand_ins(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Tensors without memory that lie as those the kernel will be given."""
        if self.is_plain:
            return a, b, out
        a, b, out = (torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in (a, b, out))
        a, b = self._packed(a, b, out, [])
        return a, b, aligned_like(out, -1)[0] if self.copies_out else out

    def _packed(
        self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, copies: Copies
    ) -> tuple[torch.Tensor, torch.Tensor]:
        split = self.prediction.problem.split
        batch = out.shape[: out.dim() - (a.dim() > 1) - (b.dim() > 1)]
        if self.a_inner:
            a = packed(a, self.a_inner, batch, copies, LEFT if split else 0)
        if self.b_inner:
            b = packed(b, self.b_inner, batch, copies, RIGHT if split else 0)
        return a, b


def mark_written(out: torch.Tensor) -> None:
    """Tells autograd that `out` changed in place, as torch's own out= does."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
