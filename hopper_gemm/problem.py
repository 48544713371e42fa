"""What is asked for: reads the arguments of a product and refuses, with a sentence, what no kernel computes.

Nothing here allocates, launches or writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from . import manifest
from .errors import ArgumentError, DTypeError, OptionError, sentence
from .operands import Matrix, operand_majors, output_is_row_major
from .precision import check_precision

_FP8_NAMES = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}
_INTEGER_NAMES = {torch.int8: "s8", torch.uint8: "u8"}
INPUT_NAMES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "tf32", **_FP8_NAMES, **_INTEGER_NAMES}
MIXED_INPUTS = (set(_FP8_NAMES), set(_INTEGER_NAMES))  # types that go together
OUTPUT_NAMES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", **_FP8_NAMES, torch.int32: "s32"}
DTYPES = {name: dtype for dtype, name in OUTPUT_NAMES.items()}
_FLOATS = "torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn or torch.float8_e5m2"
_ACCUMULATORS: dict[object, str | None] = {
    None: None,
    "fp32": "f32",
    "fp16": "f16",
    torch.float32: "f32",
    torch.float16: "f16",
}


@dataclass(frozen=True)
class Problem:
    """One product as a kernel sees it: out (m, n, row-major) = A (m, k) @ B (k, n).

    `input` names the types of A and B: "bf16", or "e4m3_e5m2" if they differ. `a_majors` and `b_majors` list how each operand can be read ("k", "mn"), best first. If `swapped`, the kernel computes
    the caller's out.t() = b.t() @ a.t(): A is then the caller's b.t(). `output` is the dtype, `row_major` how the kernel's
    out is stored.
    """

    m: int
    n: int
    k: int
    input: str
    output: str
    a_majors: tuple[str, ...]
    b_majors: tuple[str, ...]
    accumulate: str | None = None  # None: f32
    swapped: bool = False
    row_major: bool = True
    fast_accum: bool = False  # fp8: sums need not be promoted

    @property
    def a_type(self) -> str:
        return str(manifest.pair_types(self.input)[0])

    @property
    def element_bytes(self) -> int:
        """Of an element of A and of B."""
        return int(manifest.ELEMENT_BYTES[self.a_type])

    @property
    def output_bytes(self) -> int:
        return int(manifest.ELEMENT_BYTES[self.output])

    def for_output(self, order: str) -> Problem:
        """The same product for a kernel that writes "row_major" or "column_major": the operands change places if needed."""
        if self.row_major == (order == "row_major"):
            return self
        return replace(
            self,
            m=self.n,
            n=self.m,
            input=manifest.pair_name(*reversed(manifest.pair_types(self.input))),
            a_majors=self.b_majors,
            b_majors=self.a_majors,
            swapped=not self.swapped,
            row_major=not self.row_major,
        )

    @property
    def layouts(self) -> tuple[str, ...]:
        """Kernel layouts that can read both operands, best first: letters of A (t: K-major) and B (n: K-major)."""
        return tuple(
            ("t" if a == "k" else "n") + ("n" if b == "k" else "t") for a in self.a_majors for b in self.b_majors
        )

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def bytes(self) -> int:
        return self.element_bytes * (self.m * self.k + self.k * self.n) + self.output_bytes * self.m * self.n

    def describe(self) -> str:
        layout = self.layouts[0]
        return f"{self.m} x {self.n} x {self.k}, {self.input} -> {self.output}, layout {layout}"


def read_problem(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    out_dtype: torch.dtype | None,
    accumulate: object,
    asked: str,
    *,
    precision: object = None,
    fast_accum: bool = False,
) -> Problem:
    """Describes the product of checked tensors (`check_tensors`), refusing what no kernel can address.

    Args:
        asked: the schedule or config the caller named, for the texts.
        precision: what float32 inputs are multiplied as (precision.py).
        fast_accum: fp8 sums need not be promoted.

    Raises:
        PrecisionError, ArgumentError, DTypeError, OptionError, StrideError, AlignmentError, OverlapError.
    """
    output = output_dtype(a, out, out_dtype)
    check_precision(precision, a.dtype)
    accumulator = _accumulator(a, accumulate)
    a_matrix, b_matrix = matrix_of("a", a), matrix_of("b", b)
    m, k = a_matrix.shape
    n = b_matrix.shape[1]
    row_major = out is None or 0 in (m, n) or output_is_row_major(matrix_of("out", out))
    a_majors: tuple[str, ...] = ("k",)
    b_majors: tuple[str, ...] = ("k",)
    if 0 not in (m, n, k):
        a_majors = operand_majors(a_matrix, 1, asked)
        b_majors = operand_majors(b_matrix, 0, asked)
    types = manifest.pair_name(INPUT_NAMES[a.dtype], INPUT_NAMES[b.dtype])
    problem = Problem(m, n, k, types, OUTPUT_NAMES[output], a_majors, b_majors, accumulator, fast_accum=fast_accum)
    return problem if row_major else replace(problem.for_output("column_major"), row_major=True)


def matrix_of(name: str, tensor: torch.Tensor) -> Matrix:
    rows, columns = tensor.shape
    return Matrix(name, (rows, columns), (tensor.stride(0), tensor.stride(1)), tensor.element_size())


def default_output(dtype: torch.dtype) -> torch.dtype:
    """The result's dtype for inputs of one: their own, but bf16 for fp8 and int32 for integers."""
    return torch.int32 if dtype in _INTEGER_NAMES else torch.bfloat16 if dtype in _FP8_NAMES else dtype


def output_dtype(a: torch.Tensor, out: torch.Tensor | None, out_dtype: object) -> torch.dtype:
    """The dtype of the result.

    Raises:
        ArgumentError, DTypeError.
    """
    integers = a.dtype in _INTEGER_NAMES
    expected = "torch.int32 for integer inputs" if integers else _FLOATS
    if out_dtype is not None and not isinstance(out_dtype, torch.dtype):
        raise ArgumentError(sentence("out_dtype is not a torch.dtype", got=repr(out_dtype), expected=expected))
    if out is not None and out_dtype is not None and out.dtype != out_dtype:
        raise DTypeError(
            sentence(
                "out and out_dtype disagree",
                got=f"out of dtype {out.dtype}, out_dtype={out_dtype}",
                fix="give one of them",
            )
        )
    dtype = out.dtype if out is not None else out_dtype if out_dtype is not None else default_output(a.dtype)
    if dtype not in OUTPUT_NAMES or integers != (dtype == torch.int32):
        name = "out has a dtype" if out is not None else "out_dtype is one"
        raise DTypeError(
            sentence(f"{name} no kernel writes", got=f"dtype {dtype} for {a.dtype} inputs", expected=expected)
        )
    return dtype


def _accumulator(a: torch.Tensor, accumulate: object) -> str | None:
    if not isinstance(accumulate, (str, torch.dtype, type(None))) or accumulate not in _ACCUMULATORS:
        raise OptionError(
            sentence(
                "unknown accumulate",
                got=repr(accumulate),
                expected="None or 'fp32' (fp32 sums), or 'fp16' (fp16 sums, for fp16 inputs: less exact)",
            )
        )
    name = _ACCUMULATORS[accumulate]
    if name == "f16" and a.dtype != torch.float16:
        raise DTypeError(
            sentence(
                "accumulate='fp16' needs fp16 inputs: the tensor core has no such mode for others",
                got=f"inputs of dtype {a.dtype}",
                expected="torch.float16 inputs",
                fix="leave accumulate away for fp32 sums",
            )
        )
    return name
