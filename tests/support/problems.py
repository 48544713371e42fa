"""One product as a user may ask for it, as plain values: its repr replays it. A `Trial` says what is wrong with the result."""

from __future__ import annotations

from dataclasses import dataclass

import torch

import hopper_gemm
from hopper_gemm import errors
from hopper_gemm.problem import INPUT_NAMES
from hopper_gemm.registry import Kernel

from .memory import Layout, Placed, changed, whole_storage
from .reference import Reference, same_bits

DTYPES = {
    "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2, "s8": torch.int8, "u8": torch.uint8, "s32": torch.int32,
}  # fmt: skip
FP8 = ("e4m3", "e5m2")
INT8 = ("s8", "u8")
_NAMES = {INPUT_NAMES[dtype]: name for name, dtype in DTYPES.items() if dtype in INPUT_NAMES}  # by those kernels have


@dataclass(frozen=True)
class Term:
    """A tensor of the epilogue: `of` is "full", "row" (1, N), "vector" (N,), "column" (M, 1) or "one" (1, 1)."""

    of: str
    dtype: str = "fp32"
    layout: Layout = Layout()

    __repr__ = changed

    def shape(self, full: tuple[int, ...]) -> tuple[int, ...]:
        m, n = full[-2:]
        return {"full": full, "row": (1, n), "vector": (n,), "column": (m, 1), "one": (1, 1)}[self.of]


@dataclass(frozen=True)
class Product:
    """Sizes, types, memory, epilogue and choices of one call. `out` None: the result is a new tensor."""

    m: int
    n: int
    k: int
    a_dtype: str = "bf16"
    b_dtype: str = "bf16"
    out_dtype: str | None = None
    a: Layout = Layout()
    b: Layout = Layout()
    out: Layout | None = None
    a_batch: tuple[int, ...] = ()
    b_batch: tuple[int, ...] = ()
    schedule: str = "auto"
    config: str = ""  # a kernel's name
    accumulate: str | None = None
    integers: bool = False
    alpha: float = 1.0
    beta: float = 0.0
    c: Term | None = None
    bias: Term | None = None
    activation: str | None = None
    residual: Term | None = None
    precision: str | None = None
    use_fast_accum: bool = False
    batch_invariant: bool = False
    static_b: bool = False
    scale_a: str = ""  # "", "tensor" or "rows"
    scale_b: str = ""  # "", "tensor" or "columns"
    scale_result: str = ""  # "" or "tensor"
    seed: int = 0

    __repr__ = changed

    @property
    def out_shape(self) -> tuple[int, ...]:
        return (*torch.broadcast_shapes(self.a_batch, self.b_batch), self.m, self.n)

    @property
    def exact(self) -> bool:
        """Whether the one right answer is the exact one, rounded once."""
        return self.integers and self.activation in (None, "relu")


def for_kernel(kernel: Kernel, m: int, n: int, k: int, *, column_major: bool = False, **fields: object) -> Product:
    """A product for a kernel named by config=, its operands lying as that kernel reads them.

    A kernel with column-major output writes such an `out` (of more than one column: one is taken for row-major), or a
    row-major one with its operands exchanged.
    """
    letters = kernel.layout if column_major else kernel.operand_layout
    names = [_NAMES[name] for name in (kernel.a_type, kernel.b_type)]
    a_dtype, b_dtype = names[::-1] if kernel.exchanges and not column_major else names
    told: dict[str, object] = {"config": kernel.name, "use_fast_accum": a_dtype in FP8 and kernel.promote_k == 0}
    if a_dtype == "fp32":
        told["precision"] = "tf32"
    if kernel.accumulator == "f16":
        told["accumulate"] = "fp16"
    lies = {"a": Layout(letters[0] == "t", whole=16), "b": Layout(letters[1] == "t", whole=16), "out": Layout(not column_major)}
    return Product(m, n, k, a_dtype, b_dtype, **(told | lies | fields))


def arguments(product: Product, device: str) -> tuple[torch.Tensor, torch.Tensor, dict[str, object]]:
    """a, b and the keywords that change the value, with fresh data between poison."""
    generator = torch.Generator(device).manual_seed(product.seed)

    def data(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        if product.integers:
            low, high = (-2, 3) if dtype != "u8" else (0, 5)
            return torch.randint(low, high, shape, generator=generator, device=device)
        if dtype in INT8:
            low = 0 if dtype == "u8" else -128
            return torch.randint(low, low + 256, shape, generator=generator, device=device)
        normal = torch.randn(shape, generator=generator, device=device)
        if dtype == "fp32":  # no ties between two tf32 values: which one they go to is not promised
            normal = (normal.view(torch.int32) | 1).view(torch.float32)
        return normal

    def placed(shape: tuple[int, ...], dtype: str, layout: Layout) -> torch.Tensor:
        kind = DTYPES[dtype]
        if len(shape) == 1:
            return Placed((1, *shape), kind, device, layout).put(data((1, *shape), dtype))[0]
        return Placed(shape, kind, device, layout).put(data(shape, dtype))

    a = placed((*product.a_batch, product.m, product.k), product.a_dtype, product.a)
    b = placed((*product.b_batch, product.k, product.n), product.b_dtype, product.b)
    values: dict[str, object] = {}
    for name in ("c", "bias", "residual"):
        term = getattr(product, name)
        if term is not None:
            values[name] = placed(term.shape(product.out_shape), term.dtype, term.layout)
    if product.c is not None and product.beta == 0:
        values["c"].fill_(float("nan"))
    for name in ("alpha", "beta", "activation", "precision", "use_fast_accum", "accumulate"):
        if getattr(product, name) != getattr(Product, name):
            values[name] = getattr(product, name)
    for name, size in (("scale_a", (product.m, 1)), ("scale_b", (1, product.n)), ("scale_result", ())):
        kind = getattr(product, name)
        if kind:
            shape = (1, 1) if kind == "tensor" else size
            scale = 2.0 ** torch.randint(-2, 2, shape, generator=generator, device=device)
            scale = scale if product.integers else scale * (1 + torch.rand(shape, generator=generator, device=device))
            values[name] = Placed(shape, torch.float32, device).put(scale)
            if kind == "tensor":
                values[name] = values[name].reshape(())
    return a, b, values


def call(product: Product, a: torch.Tensor, b: torch.Tensor, values: dict[str, object], out: Placed | None) -> torch.Tensor:
    """The call itself, and that an `out` given is the tensor returned."""
    choices: dict[str, object] = dict(values)
    if product.schedule != "auto":
        choices["schedule"] = product.schedule
    if product.config:
        choices["config"] = product.config
    for name in ("batch_invariant", "static_b"):
        if getattr(product, name):
            choices[name] = True
    if out is not None:
        choices["out"] = out.view
    elif product.out_dtype is not None:
        choices["out_dtype"] = DTYPES[product.out_dtype]
    scales = [choices.pop(name) for name in ("scale_a", "scale_b") if name in choices]
    y = hopper_gemm.scaled_matmul(a, b, *scales, **choices) if scales else hopper_gemm.matmul(a, b, **choices)
    if out is not None and y is not out.view:
        raise AssertionError("the result is not the out that was given")
    return y


class Trial:
    """A product's tensors, its call and what is wrong with the result, apart: several may be under way at once."""

    def __init__(self, product: Product, device: str) -> None:
        self.product, self._device = product, device
        self.a, self.b, self.values = arguments(product, device)
        tensors = {name: value for name, value in self.values.items() if isinstance(value, torch.Tensor)}
        self._inputs = {"a": self.a, "b": self.b} | tensors
        self._before = {name: whole_storage(tensor).clone() for name, tensor in self._inputs.items()}
        self._out = self._new_out()
        if product.static_b and device == "cuda":
            torch.cuda.synchronize()  # it promises that nothing under way writes b

    def _new_out(self) -> Placed | None:
        product = self.product
        if product.out is None:
            return None
        return Placed(product.out_shape, DTYPES[product.out_dtype or product.a_dtype], self._device, product.out)

    def call(self) -> None:
        """Raises: UnsupportedProblemError, if the schedule or kernel named cannot do this problem."""
        self._y = call(self.product, self.a, self.b, self.values, self._out)

    def wrong(self, *, twice: bool = False) -> str:
        """What is wrong with the result of `call`; empty if nothing. `twice`: a second run must give the same bits."""
        product, y = self.product, self._y
        reference = Reference(self.a, self.b, **self.values)
        exact = product.exact and reference.sums_integers_exactly and y.shape == reference.exact.shape
        wrong = reference.inexact_integers(y) if exact else reference.problem_with(y)
        wrong = wrong or (self._out.damage() if self._out is not None else "")
        if not wrong and twice and not same_bits(y, call(product, self.a, self.b, self.values, self._new_out())):
            wrong = "two runs differ"
        for name, tensor in self._inputs.items() if not wrong else ():
            if not torch.equal(whole_storage(tensor), self._before[name]):
                wrong = f"{name} or the memory around it was written"
        return wrong


def run(product: Product, device: str, *, twice: bool = False) -> str:
    """What is wrong with the product's result; empty if nothing. Raises as `Trial.call`."""
    trial = Trial(product, device)
    try:
        trial.call()
    except errors.UnsupportedProblemError as error:
        if product.schedule == "auto" and not product.config:
            return f"refused although no schedule was named: {error}"
        raise
    return trial.wrong(twice=twice)
