"""cuBLASLt as a peer: the fastest algorithm of its heuristic's list, timed here for every problem.

Bound by ctypes to the library that torch has loaded, so nothing is compiled and no header is needed; the interface is
C and its enumerations are append-only. Numbers are those of cublasLt.h and library_types.h.
"""

from __future__ import annotations

import ctypes
import functools
import random
from collections.abc import Iterator
from ctypes import byref, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from . import measure

if TYPE_CHECKING:
    from .runner import Operands

LISTED = 16  # algorithms asked for
WORKSPACE_BYTES = 64 << 20
_DATA_TYPES = {torch.float32: 0, torch.float16: 2, torch.int8: 3, torch.int32: 10, torch.bfloat16: 14, torch.float8_e4m3fn: 28}
_COMPUTE_32F, _COMPUTE_32F_TF32, _COMPUTE_32I = 68, 77, 72
_TRANSPOSE_A, _TRANSPOSE_B, _FAST_ACCUM = 3, 4, 25  # cublasLtMatmulDescAttributes_t
_MAX_WORKSPACE = 1  # cublasLtMatmulPreferenceAttributes_t


class _Algorithm(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algo", c_uint64 * 8),
        ("workspace_bytes", c_size_t),
        ("state", c_int32),
        ("waves", c_float),
        ("reserved", c_int32 * 4),
    ]


@functools.cache
def _library() -> ctypes.CDLL:
    """libcublasLt of torch's CUDA.

    Raises:
        ImportError: it is not there.
    """
    major = (torch.version.cuda or "").split(".")[0]
    if not major:
        raise ImportError("this torch is built without CUDA")
    name = f"libcublasLt.so.{major}"
    wheels = sorted(Path(torch.__file__).parents[1].glob(f"nvidia/*/lib/{name}"))
    for path in (name, *map(str, wheels)):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise ImportError(f"{name} was not found")


def _ask(function: str, *arguments: Any) -> None:
    status = getattr(_library(), function)(*arguments)
    if status:
        raise RuntimeError(f"{function} returned status {status}")


def _made(function: str, *arguments: Any) -> c_void_p:
    """A handle or descriptor; lives as long as the process."""
    handle = c_void_p()
    _ask(function, byref(handle), *arguments)
    return handle


@functools.cache
def _handle() -> c_void_p:
    return _made("cublasLtCreate")


@functools.cache
def _workspace(device: int) -> torch.Tensor:
    return torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=f"cuda:{device}")


def _columns(tensor: torch.Tensor) -> tuple[int, int, int, bool]:
    """A matrix as cuBLAS reads it, column by column: rows, columns, leading dimension, and whether that transposes it."""
    rows, columns = tensor.shape
    if tensor.stride(0) == 1 and (tensor.stride(1) >= rows or columns == 1):
        return rows, columns, max(tensor.stride(1), rows), False
    if tensor.stride(1) == 1 or columns == 1:
        return columns, rows, max(tensor.stride(0), columns), True
    raise ValueError("a matrix without a contiguous dimension")


class Product:
    """out = a @ b of one shape and layout; in cuBLAS's terms out.t() = b.t() @ a.t(), column by column."""

    def __init__(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, fast_accum: bool) -> None:
        if a.dtype not in _DATA_TYPES or out.dtype not in _DATA_TYPES:
            raise ValueError(f"cuBLASLt is not asked for {a.dtype} -> {out.dtype} here")
        integers = a.dtype == torch.int8
        compute = _COMPUTE_32I if integers else _COMPUTE_32F_TF32 if a.dtype == torch.float32 else _COMPUTE_32F
        scale = _DATA_TYPES[torch.int32 if integers else torch.float32]
        self.description = _made("cublasLtMatmulDescCreate", c_int32(compute), c_int32(scale))
        self.layouts = []
        for attribute, tensor in ((_TRANSPOSE_A, b.t()), (_TRANSPOSE_B, a.t()), (None, out.t())):
            rows, columns, leading, transposed = _columns(tensor)
            if attribute is not None:
                self._set(attribute, c_int32(int(transposed)))
            elif transposed:
                raise ValueError("out is not row-major")
            layout = (c_int32(_DATA_TYPES[tensor.dtype]), c_uint64(rows), c_uint64(columns), c_int64(leading))
            self.layouts.append(_made("cublasLtMatrixLayoutCreate", *layout))
        if fast_accum:
            self._set(_FAST_ACCUM, ctypes.c_int8(1))
        number = c_int32 if integers else c_float
        self.one, self.zero = number(1), number(0)
        self.workspace = _workspace(a.device.index or 0)

    def _set(self, attribute: int, value: Any) -> None:
        _ask("cublasLtMatmulDescSetAttribute", self.description, c_int32(attribute), byref(value), c_size_t(ctypes.sizeof(value)))

    def algorithms(self) -> list[_Algorithm]:
        """The heuristic's list, best guess first."""
        preference = _made("cublasLtMatmulPreferenceCreate")
        limit = c_uint64(WORKSPACE_BYTES)
        _ask("cublasLtMatmulPreferenceSetAttribute", preference, c_int32(_MAX_WORKSPACE), byref(limit), c_size_t(8))
        found = (_Algorithm * LISTED)()
        count = c_int32()
        b, a, out = self.layouts
        _ask(
            "cublasLtMatmulAlgoGetHeuristic", _handle(), self.description, b, a, out, out, preference, c_int32(LISTED), found,
            byref(count),
        )  # fmt: skip
        return [algorithm for algorithm in found[: count.value] if algorithm.state == 0]

    def run(self, algorithm: _Algorithm, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
        b_layout, a_layout, out_layout = self.layouts
        _ask(
            "cublasLtMatmul", _handle(), self.description, byref(self.one), c_void_p(b.data_ptr()), b_layout,
            c_void_p(a.data_ptr()), a_layout, byref(self.zero), c_void_p(out.data_ptr()), out_layout, c_void_p(out.data_ptr()),
            out_layout, byref(algorithm, 0), c_void_p(self.workspace.data_ptr()), c_size_t(WORKSPACE_BYTES),
            c_void_p(torch.cuda.current_stream().cuda_stream),
        )  # fmt: skip


def best_call(operands: Operands, fast_accum: bool = False) -> measure.Call:
    """The fastest algorithm of the list for these operands, by three short interleaved rounds.

    Raises:
        ImportError, ValueError, RuntimeError: no library, or nothing in its list runs the problem.
    """
    product = Product(operands.a[0], operands.b[0], operands.out[0], fast_accum)
    calls = dict(_calls(product, operands))
    failures: list[str] = []
    candidates = measure.capture(calls, operands.count, lambda name, error: failures.append(str(error)))
    if not candidates:
        raise ValueError(f"none of the {len(calls)} algorithms of its heuristic runs this problem {failures[:1]}")
    times = measure.time_interleaved(candidates, 3, order=random.Random(0), shortened=0.15)
    return calls[min(times, key=lambda name: times[name].us)]


def _calls(product: Product, operands: Operands) -> Iterator[tuple[str, measure.Call]]:
    for position, algorithm in enumerate(product.algorithms()):

        def call(i: int, algorithm: _Algorithm = algorithm) -> None:
            product.run(algorithm, operands.a[i], operands.b[i], operands.out[i])

        yield f"algorithm {position}", call
