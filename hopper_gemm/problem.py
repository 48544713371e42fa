"""What is asked for: reads the arguments of a product and refuses, with a sentence, what no kernel computes.

Nothing here allocates, launches or writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from .errors import (
    ArgumentError,
    DTypeError,
    OptionError,
    sentence,
)
from .operands import Matrix, operand_majors, output_is_row_major

INPUT_NAMES = {torch.bfloat16: "bf16", torch.float16: "f16"}
OUTPUT_NAMES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}
DTYPES = {name: dtype for dtype, name in OUTPUT_NAMES.items()}
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

    `a_majors` and `b_majors` list how each operand can be read ("k", "mn"), best first. If `swapped`, the kernel computes
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

    def for_output(self, order: str) -> Problem:
        """The same product for a kernel that writes "row_major" or "column_major": the operands change places if needed."""
        if self.row_major == (order == "row_major"):
            return self
        return replace(
            self,
            m=self.n,
            n=self.m,
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
        out_bytes = 4 if self.output == "f32" else 2
        return 2 * (self.m * self.k + self.k * self.n) + out_bytes * self.m * self.n

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
) -> Problem:
    """Describes the product of checked tensors (`check_tensors`), refusing what no kernel can address.

    Args:
        asked: the schedule or config the caller named, for the texts.

    Raises:
        ArgumentError, DTypeError, OptionError, StrideError, AlignmentError, OverlapError.
    """
    output = output_dtype(a, out, out_dtype)
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
    input_name, output_name = INPUT_NAMES[a.dtype], OUTPUT_NAMES[output]
    if row_major:
        return Problem(m, n, k, input_name, output_name, a_majors, b_majors, accumulator)
    return Problem(n, m, k, input_name, output_name, b_majors, a_majors, accumulator, swapped=True)


def matrix_of(name: str, tensor: torch.Tensor) -> Matrix:
    rows, columns = tensor.shape
    return Matrix(name, (rows, columns), (tensor.stride(0), tensor.stride(1)), tensor.element_size())


def output_dtype(a: torch.Tensor, out: torch.Tensor | None, out_dtype: object) -> torch.dtype:
    """The dtype of the result.

    Raises:
        ArgumentError, DTypeError.
    """
    expected = "torch.bfloat16, torch.float16 or torch.float32"
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
    dtype = out.dtype if out is not None else out_dtype if out_dtype is not None else a.dtype
    if dtype not in OUTPUT_NAMES:
        name = "out has a dtype" if out is not None else "out_dtype is one"
        raise DTypeError(sentence(f"{name} no kernel writes", got=f"dtype {dtype}", expected=expected))
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
