"""What is asked for: reads the arguments of a product and refuses, with a sentence, what no kernel computes.

Nothing here allocates, launches or writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from .errors import (
    ArgumentError,
    AutogradError,
    DeviceError,
    DTypeError,
    OptionError,
    OverlapError,
    ShapeError,
    sentence,
)
from .operands import Matrix, may_share_memory, misaligned_pointer, operand_majors, output_is_row_major

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


def check_tensors(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    """Checks what does not depend on how the tensors lie in memory.

    Raises:
        ArgumentError, ShapeError, DTypeError, DeviceError.
    """
    _check_kinds(a, b, out)
    _check_dtypes(a, b)
    _check_devices(a, b, out)
    _check_shapes(a, b, out)


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
    output = _output_dtype(a, out, out_dtype)
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


def check_memory(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    """Checks what depends on addresses: 16-byte aligned inputs, and an out of its own.

    Raises:
        AlignmentError, OverlapError.
    """
    for name, tensor in (("a", a), ("b", b)):
        address = tensor.data_ptr()
        if address % 16 and tensor.numel():
            raise misaligned_pointer(name, address, int(tensor.storage_offset()), tensor.element_size())
        if out is None or not tensor.numel():
            continue
        if may_share_memory(matrix_of("out", out), out.data_ptr(), matrix_of(name, tensor), address):
            raise OverlapError(
                sentence(
                    f"out and {name} overlap in memory: tiles of out would be written while {name} is still read",
                    got=f"out of shape {tuple(out.shape)} and {name} of shape {tuple(tensor.shape)} on the same memory",
                    expected="out to be memory of its own",
                    fix=f"leave out= away, or pass {name}.clone()",
                )
            )


def check_grad(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    """Refuses to drop a graph silently: there is no backward yet.

    Raises:
        AutogradError: grad mode is on and a tensor requires grad.
    """
    if not torch.is_grad_enabled():
        return
    names = [n for n, t in (("a", a), ("b", b), ("out", out)) if t is not None and t.requires_grad]
    if names:
        raise AutogradError(
            sentence(
                "hopper_gemm.matmul has no backward yet, and will not return a result cut off from the graph",
                got=f"requires_grad=True on {' and '.join(names)} in grad mode",
                fix=f"call it under torch.no_grad() or pass {names[0]}.detach(); for training use torch.matmul",
            )
        )


def _check_kinds(a: object, b: object, out: object) -> None:
    for name, tensor in (("a", a), ("b", b), ("out", out)):
        if tensor is None and name == "out":
            continue
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(
                sentence(f"{name} is not a tensor", got=type(tensor).__name__, expected="a 2-D torch.Tensor on a GPU")
            )
        if tensor.layout != torch.strided:
            raise ArgumentError(
                sentence(f"{name} is not a dense tensor", got=str(tensor.layout), fix=f"to make one: {name}.to_dense()")
            )
    assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    for name, tensor in (("a", a), ("b", b)):
        if tensor.dim() != 2:
            raise ShapeError(
                sentence(
                    "matmul takes two 2-D matrices",
                    got=f"{name} with {tensor.dim()} dimensions, shape {tuple(tensor.shape)}",
                    expected="a of shape (M, K) and b of shape (K, N)",
                    fix="fold batch dimensions into M with reshape, or add one with unsqueeze",
                )
            )


def _check_dtypes(a: torch.Tensor, b: torch.Tensor) -> None:
    if a.dtype == b.dtype and a.dtype in INPUT_NAMES:
        return
    if a.dtype != b.dtype:
        what, fix = "a and b differ in dtype", "convert one of them with .to()"
    else:
        what, fix = f"no kernel for dtype {a.dtype}", "convert with .to(torch.bfloat16), which rounds"
    raise DTypeError(
        sentence(
            what,
            got=f"a {a.dtype} and b {b.dtype}",
            expected="both torch.bfloat16 or both torch.float16, the supported dtypes",
            fix=fix,
        )
    )


def _check_devices(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    devices = {"a": a.device, "b": b.device} | ({"out": out.device} if out is not None else {})
    if len(set(devices.values())) > 1:
        raise DeviceError(
            sentence(
                "the tensors are on different devices",
                got=", ".join(f"{name} on {device}" for name, device in devices.items()),
                expected="all on one CUDA device",
                fix=f"move them with .to('{next((d for d in devices.values() if d.type == 'cuda'), 'cuda')}')",
            )
        )
    if a.device.type not in ("cuda", "cpu"):
        raise DeviceError(
            sentence("no kernels for this device", got=str(a.device), expected="CUDA tensors on a Hopper GPU (sm_90)")
        )


def _check_shapes(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None) -> None:
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        raise ShapeError(
            sentence(
                "the inner sizes differ",
                got=f"a of shape {(m, k)} and b of shape {(k_of_b, n)}: K is {k} in a, {k_of_b} in b",
                expected="a of shape (M, K) and b of shape (K, N)",
                fix="if b is stored (N, K), pass b.t(): it is read in place" if k == n else "",
            )
        )
    if out is not None and tuple(out.shape) != (m, n):
        raise ShapeError(
            sentence(
                "out has the wrong shape",
                got=f"shape {tuple(out.shape)}",
                expected=f"shape {(m, n)}; out is never resized",
            )
        )


def _output_dtype(a: torch.Tensor, out: torch.Tensor | None, out_dtype: object) -> torch.dtype:
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
