"""What is asked for: reads the arguments of a product and refuses, with a sentence, what no kernel computes.

Nothing here allocates, launches or writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from . import manifest
from .errors import ArgumentError, DTypeError, OptionError, sentence
from .lowering import Matrices, matrices_of, result_shape
from .operands import Matrix, aligned_row_bytes, check_no_self_overlap, operand_majors, output_is_row_major, packed_majors
from .precision import is_exact

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

    `input` names the types of A and B: "bf16", or "e4m3_e5m2" if they differ. `a_majors` and `b_majors` list how each
    operand can be read ("k", "mn"), best first. If `swapped`, the kernel computes the caller's out.t() = b.t() @ a.t(): A is
    then the caller's b.t(). `output` is the dtype, `row_major` how the kernel's out is stored.

    There may be several products of these extents, one after the other in memory (`batches`). What no kernel reads or
    writes in place goes through a workspace: `packs` says which of A and B, `copies_out` whether the result.
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
    batches: int = 1
    packs: tuple[bool, bool] = (False, False)
    copies_out: bool = False
    workspace_bytes: int = 0
    split: bool = False  # float32 operands as two tf32 parts each (3xTF32): k is that of the three segments

    @property
    def a_type(self) -> str:
        return str(manifest.pair_types(self.input)[0])

    @property
    def element_bytes(self) -> int:
        """Of an element of A and of B."""
        return int(manifest.ELEMENT_BYTES[self.a_type])

    @property
    def in_place(self) -> Problem:
        """The product that is left once everything is copied that has to be: of aligned operands, to an aligned result."""
        a_majors, b_majors = (
            ways[:1] if packs else ways for ways, packs in zip((self.a_majors, self.b_majors), self.packs)
        )
        return replace(self, a_majors=a_majors, b_majors=b_majors, packs=(False, False), copies_out=False, workspace_bytes=0)

    @property
    def promotes(self) -> bool:
        """Whether sums are to leave the tensor core every `promotion_k` of K: those of fp8 unless fast ones are allowed, and
        those of 3xTF32. Shorter sums have nothing to promote."""
        is_fp8 = self.element_bytes == 1 and self.a_type.startswith("e")
        return (self.split or (is_fp8 and not self.fast_accum)) and self.k > manifest.promotion_k(self.a_type)

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
            packs=self.packs[::-1],
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
        return 2 * self.m * self.n * self.k * self.batches

    @property
    def is_empty(self) -> bool:
        return 0 in (self.batches, self.m, self.n, self.k)

    @property
    def bytes(self) -> int:
        return self.element_bytes * (self.m * self.k + self.k * self.n) + self.output_bytes * self.m * self.n

    def describe(self) -> str:
        layout, batches = self.layouts[0], f"{self.batches} products of " if self.batches != 1 else ""
        return f"{batches}{self.m} x {self.n} x {self.k}, {'3x' if self.split else ''}{self.input} -> {self.output}, layout {layout}"


def read_problem(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    out_dtype: torch.dtype | None,
    accumulate: object,
    *,
    precision: object = None,
    fast_accum: bool = False,
    options: object = None,
) -> Problem:
    """Describes the product of checked tensors (`check_tensors`).

    Args:
        precision: what float32 inputs are multiplied as (precision.py).
        fast_accum: fp8 sums need not be promoted.
        options: the extension's `Epilogue`, whose addends may keep a batch from becoming one product.

    Raises:
        ArgumentError, DTypeError, OptionError, OverlapError.
    """
    output = output_dtype(a, out, out_dtype)
    exact = is_exact(precision, a.dtype)
    accumulator = _accumulator(a, accumulate)
    like = torch.empty(result_shape(a, b), dtype=output, device="meta") if out is None else out
    if out is not None:
        check_no_self_overlap(out.shape, out.stride())
    types = manifest.pair_name(INPUT_NAMES[a.dtype], INPUT_NAMES[b.dtype])
    problem = _problem_of(matrices_of(a, b, like, options), types, OUTPUT_NAMES[output], accumulator, exact)
    return replace(problem, fast_accum=fast_accum)


def _problem_of(
    matrices: Matrices, input_name: str, output_name: str, accumulator: str | None, split: bool
) -> Problem:
    """How kernels can read the operands and write the output: in place where they can, else through a workspace."""
    m, n, k = matrices.m, matrices.n, matrices.k
    if 0 in (matrices.batches, m, n):
        return Problem(m, n, k, input_name, output_name, ("k",), ("k",), accumulator, batches=matrices.batches)
    row_major = output_is_row_major(matrices.out)
    split = split and k > 0
    a_majors, b_majors = (operand_majors(matrices.a, 1), operand_majors(matrices.b, 0)) if k else (("k",), ("k",))
    if split:
        a_majors, b_majors = (), ()
    packs = (not a_majors, not b_majors)
    workspace = [x for x, used in zip((matrices.a, matrices.b, matrices.out), (*packs, row_major is None)) if used]
    problem = Problem(
        m, n, k, input_name, output_name,
        a_majors or packed_majors(matrices.a, 1), b_majors or packed_majors(matrices.b, 0), accumulator,
        row_major=row_major is not False, batches=matrices.batches, packs=packs, copies_out=row_major is None,
        workspace_bytes=sum(_workspace_bytes(x, matrices.batches) for x in workspace), split=split,
    )  # fmt: skip
    if split:  # three segments of K, each of whole 16 bytes
        problem = replace(problem, k=3 * aligned_row_bytes(k, 4) // 4, workspace_bytes=3 * problem.workspace_bytes)
    return problem if problem.row_major else problem.for_output("row_major")


def _workspace_bytes(matrix: Matrix, batches: int) -> int:
    """Of an aligned copy: rows of whole 16 bytes."""
    rows, columns = matrix.shape
    return rows * aligned_row_bytes(columns, matrix.element_bytes) * (1 if matrix.batch == 0 else batches)


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
