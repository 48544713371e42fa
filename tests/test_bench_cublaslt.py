"""What cuBLASLt is told about a product, checked by reading the described matrices back; no library is needed."""

from __future__ import annotations

import ctypes
import types

import pytest
import torch

from hopper_gemm.bench import cublaslt, peers
from hopper_gemm.bench.suites import Case


class Library:
    """Stands in for libcublasLt: keeps what descriptors and layouts were made with."""

    def __init__(self, algorithms: int = 3) -> None:
        self.layouts: list[tuple[int, int, int, int]] = []
        self.attributes: dict[int, int] = {}
        self.compute: tuple[int, int] | None = None
        self.count = algorithms
        self.products: list[int] = []

    def ask(self, function: str, *arguments) -> None:
        if function == "cublasLtMatrixLayoutCreate":
            self.layouts.append(tuple(a.value for a in arguments[1:]))
        elif function == "cublasLtMatmulDescCreate":
            self.compute = tuple(a.value for a in arguments[1:])
        elif function == "cublasLtMatmulDescSetAttribute":
            self.attributes[arguments[1].value] = arguments[2]._obj.value
        elif function == "cublasLtMatmulAlgoGetHeuristic":
            for i in range(self.count):
                arguments[8][i].state = 0 if i != 1 else 15
                arguments[8][i].algo[0] = i
            arguments[9]._obj.value = self.count
        elif function == "cublasLtMatmul":
            self.products.append(arguments[12]._obj.algo[0])


@pytest.fixture
def library(monkeypatch) -> Library:
    library = Library()
    monkeypatch.setattr(cublaslt, "_ask", library.ask)
    monkeypatch.setattr(cublaslt, "_handle", lambda: ctypes.c_void_p(1))
    monkeypatch.setattr(cublaslt, "_workspace", lambda device: torch.empty(16))
    return library


def operand(outer: int, k: int, k_major: bool) -> torch.Tensor:
    return torch.randn(outer, k) if k_major else torch.randn(k, outer).t()


def read_back(tensor: torch.Tensor, layout: tuple[int, int, int, int], transposed: int) -> torch.Tensor:
    """The matrix that column-by-column storage of this layout is, in the memory of `tensor`."""
    _, rows, columns, leading = layout
    stored = torch.as_strided(tensor, (rows, columns), (1, leading))
    return stored.t() if transposed else stored


@pytest.mark.parametrize("layout", ["tn", "tt", "nn", "nt"])
@pytest.mark.parametrize("m, n, k", [(16, 24, 40), (1, 24, 40), (16, 1, 8), (16, 24, 1)])
def test_the_described_matrices_are_those_of_the_product(library, layout, m, n, k):
    a, b = operand(m, k, layout[0] == "t").bfloat16(), operand(n, k, layout[1] == "n").t().bfloat16()
    out = torch.empty(m, n).bfloat16()
    cublaslt.Product(a, b, out, fast_accum=False)
    first, second, third = library.layouts
    assert torch.equal(read_back(b, first, library.attributes[cublaslt._TRANSPOSE_A]), b.t())
    assert torch.equal(read_back(a, second, library.attributes[cublaslt._TRANSPOSE_B]), a.t())
    assert third == (14, n, m, n) and library.compute == (68, 0)


@pytest.mark.parametrize(
    "kind, output, compute", [(torch.float16, torch.float16, (68, 0)), (torch.float32, torch.float32, (77, 0)), (torch.int8, torch.int32, (72, 10))]
)
def test_types(library, kind, output, compute):
    a, b = torch.zeros(16, 32).to(kind), torch.zeros(16, 32).to(kind).t()
    product = cublaslt.Product(a, b, torch.zeros(16, 16).to(output), fast_accum=kind == torch.float16)
    assert library.compute == compute and library.attributes.get(25, 0) == (1 if kind == torch.float16 else 0)
    assert type(product.one) is (ctypes.c_int32 if kind == torch.int8 else ctypes.c_float)
    with pytest.raises(ValueError, match="float64"):
        cublaslt.Product(a.double(), b.double(), a.double(), fast_accum=False)


def test_every_algorithm_of_the_list_is_run(library, monkeypatch):
    a, b = torch.zeros(16, 32).bfloat16(), torch.zeros(16, 32).bfloat16().t()
    product = cublaslt.Product(a, b, torch.zeros(16, 16).bfloat16(), fast_accum=False)
    found = product.algorithms()
    assert [x.algo[0] for x in found] == [0, 2] and ctypes.sizeof(cublaslt._Algorithm) == 96
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: types.SimpleNamespace(cuda_stream=7))
    for algorithm in found:
        product.run(algorithm, a, b, torch.zeros(16, 16).bfloat16())
    assert library.products == [0, 2]


def test_without_cuda_or_alignment_the_peer_says_so():
    with pytest.raises(ValueError, match="multiples of 8"):
        peers.peer_call("cublaslt", Case(64, 63, 64), None)
    if torch.version.cuda is None:
        with pytest.raises(ImportError, match="without CUDA"):
            cublaslt._library()
