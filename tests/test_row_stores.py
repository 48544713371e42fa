"""16-bit outputs whose rows are not whole 16 bytes, which leave the kernel row by row (epilogue/store_rows.h): every width of a
panel, rows that begin anywhere in a word, and nothing written beside them."""

from __future__ import annotations

import math

import pytest
import torch

import hopper_gemm
from hopper_gemm.registry import Kernel, all_kernels
from support.memory import Layout, Placed

WIDTHS = (1, 2, 3, 5, 31, 63, 64, 65, 127, 130)  # of rows as they are stored
GPU = pytest.param("cuda", marks=pytest.mark.gpu)


def kernels() -> dict[str, Kernel]:
    """One of each width of panel and order of the output, by what it is."""
    found: dict[str, Kernel] = {}
    for kernel in all_kernels():
        if kernel.store == "tma" and kernel.input == "bf16" and kernel.operand_layout == "tn":
            found.setdefault(f"{kernel.output}, {math.gcd(kernel.tile[1], 64)} columns a panel", kernel)
    return found


KERNELS = kernels()


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("which", KERNELS)
def test_rows_that_tma_cannot_store(which, device):
    kernel = KERNELS[which]
    rows = kernel.tile[0] + 5 if kernel.output == "row_major" else kernel.tile[1] + 5
    generator = torch.Generator().manual_seed(0)
    for width in WIDTHS:
        a, b = (torch.randint(-3, 4, (n, 24), generator=generator).to(device, torch.bfloat16) for n in (rows, width))
        exact = (a.double() @ b.double().t()).bfloat16()
        for offset, pad in ((0, 0), (1, 0), (0, 1), (3, 2)):
            out = Placed((rows, width), torch.bfloat16, device, Layout(pad=pad + (width % 8 == 0 and pad + offset == 0), offset=offset))
            if device == "cpu":
                with hopper_gemm.emulator(seed=offset):
                    hopper_gemm.matmul(a, b.t(), out=out.view, config=kernel.name)
            else:
                hopper_gemm.matmul(a, b.t(), out=out.view, config=kernel.name)
            assert torch.equal(out.view, exact), (kernel.name, width, offset, pad)
            assert out.damage() == "", (kernel.name, width, offset, pad)
