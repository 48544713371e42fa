"""Other libraries that a benchmark can time in the same rounds, if they are installed. torch.mm is always there.

A peer is asked for what it can do as its own documentation says; where it cannot, the row is left out with a note.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..errors import OptionError, did_you_mean, sentence
from .suites import Case

if TYPE_CHECKING:
    from .measure import Call
    from .operands import Operands


def peer_names() -> list[str]:
    return list(_PEERS)


def peer_call(name: str, case: Case, operands: Operands) -> Call:
    """The product of a case by another library, into the same outputs.

    Raises:
        ImportError: the library is not installed.
        ValueError: it does not do this case.
    """
    return _PEERS[name](case, operands)


def check_peers(names: Sequence[str]) -> None:
    """Raises OptionError for a name that is none."""
    for name in names:
        if name not in _PEERS:
            known = peer_names()
            raise OptionError(sentence(f"unknown peer {name!r}", expected=f"one of {', '.join(known)}", fix=did_you_mean(name, known)))


def _cublaslt(case: Case, operands: Operands) -> Call:
    from . import cublaslt

    _check_aligned(case)
    return cublaslt.best_call(operands, fast_accum=case.dtype == "fp8_fast")


def _triton(case: Case, operands: Operands) -> Call:
    importlib.import_module("triton")
    _check_aligned(case)
    return importlib.import_module("hopper_gemm.bench.triton_tma").best_call(operands)  # type: ignore[no-any-return]


def _check_aligned(case: Case) -> None:
    """The comparison with the better of these two is about what TMA can read."""
    if any(extent % 8 for extent in (case.n, case.k)):
        raise ValueError("it is compared where N and K are multiples of 8")


def _compiled(backends: str) -> Callable[[Case, Operands], Call]:
    def make(case: Case, operands: Operands) -> Call:
        if case.dtype not in ("bf16", "fp16"):
            raise ValueError("only 16-bit types are asked of it here")
        importlib.import_module("triton")  # torch.compile needs it on a GPU
        options: dict[str, Any] = {"max_autotune": True, "max_autotune_gemm_backends": backends}
        product = torch.compile(lambda a, b, out: torch.mm(a, b, out=out), options=options)

        def call(i: int) -> None:
            product(operands.a[i], operands.b[i], operands.out[i])

        return call

    return make


def _deep_gemm(case: Case, operands: Operands) -> Call:
    deep_gemm = importlib.import_module("deep_gemm")
    if (case.dtype, case.layout) != ("bf16", "tn"):
        raise ValueError("only bf16 tn is asked of it here")

    def call(i: int) -> None:
        deep_gemm.bf16_gemm_nt(operands.a[i], operands.b[i].t(), operands.out[i])

    return call


_PEERS: dict[str, Callable[[Case, Operands], Call]] = {
    "cublaslt": _cublaslt,
    "triton": _triton,
    "compile": _compiled("ATEN,TRITON"),
    "deep_gemm": _deep_gemm,
}
