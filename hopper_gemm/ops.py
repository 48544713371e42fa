"""`matmul`: the eager entry point. A seen problem costs one dictionary lookup; a new one is read, planned and kept."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import torch

from . import _extension
from .checks import check_memory, check_tensors
from .config import Config
from .device import card_of
from .dispatcher import through_dispatcher
from .emulation import Emulator, require_emulator, run_emulated
from .errors import did_you_mean, sentence
from .operands import span_elements
from .plan import Plan, Request, make_plan
from .precision import switch as fp32_switch
from .problem import DTYPES, Problem, matrix_of, read_problem
from .registry import all_kernels
from .schedule import Schedule, parse_schedule
from .selector import Card, Prediction

_KEYWORDS = ("out", "out_dtype", "schedule", "config", "accumulate", "precision", "use_fast_accum", "deterministic")
_MAX_CACHED = 4096


class _Launch(NamedTuple):
    """What a repeated call needs: everything that depends on shapes and strides, not on addresses."""

    kernel: int
    raster: int
    group: int
    shape: tuple[int, int]
    dtype: torch.dtype
    swapped: bool
    a_bytes: int
    b_bytes: int
    out_bytes: int


_launches: dict[tuple[Any, ...], _Launch] = {}
_C = _extension.load()
_gemm = _C.gemm
_empty = torch.empty
_float32 = torch.float32
_is_plain = _C.is_plain
_is_compiling = torch.compiler.is_dynamo_compiling


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    out: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    schedule: str | Schedule = "auto",
    config: str | Config | None = None,
    accumulate: str | None = None,
    precision: str | None = None,
    use_fast_accum: bool = False,
    deterministic: bool = False,
    **unknown: NoReturn,
) -> torch.Tensor:
    """Matrix product of two 2-D tensors by one of this library's Hopper kernels.

    Every layout runs in place: contiguous, transposed and sliced operands, row-major and column-major `out`. Runs on
    the current stream of the device of `a`. The same inputs give the same bits. Differentiable, and known to
    torch.compile, vmap and autocast, as `torch.ops.hopper_gemm.matmul`.

    Args:
        a: (M, K), on a Hopper GPU (or on the CPU, inside `hopper_gemm.emulator()`): bf16, fp16, float32, fp8
            (float8_e4m3fn, float8_e5m2), int8 or uint8.
        b: (K, N), of the same dtype and device; fp8 types may be mixed, and int8 with uint8.
        out: (M, N) tensor to write, sharing no memory with `a` and `b`: bf16, fp16, fp32 or fp8 (saturating), int32 for
            integers.
        out_dtype: dtype of the result if `out` is not given; by default that of `a`, bf16 for fp8, int32 for integers.
        schedule: "auto", a `Schedule`, its short name ("pingpong") or CUTLASS's name of it.
        config: a kernel's name, a glob over names, or a `Config`, to choose the kernel by hand.
        accumulate: "fp16" sums fp16 inputs in fp16 (less exact); otherwise sums are fp32 (int32 for integers).
        precision: "tf32" multiplies float32 inputs in tf32; None if torch's switches (allow_tf32, fp32_precision) say so.
        use_fast_accum: leaves fp8 sums in the tensor core, which keeps 13 bits below the largest term; otherwise they move
            to fp32 every 128 of K. As torch._scaled_mm.
        deterministic: the kernel does not depend on what `tune` found here. (Every call repeats its bits anyhow.)

    Returns:
        `out`, or a new contiguous tensor of shape (M, N).

    Raises:
        ValueError: as ShapeError, StrideError, AlignmentError, OverlapError, OptionError, ScheduleError, ConfigError.
        TypeError: as DTypeError, ArgumentError.
        RuntimeError: as DeviceError, PrecisionError.
        NotImplementedError: as UnsupportedProblemError, AutogradError. All of them before anything is launched or written.
    """
    if _is_compiling() or not _is_plain(a, b, out):
        _check_keywords(unknown)
        return through_dispatcher(
            a, b, out, out_dtype=out_dtype, schedule=schedule, config=config, accumulate=accumulate,
            precision=precision, use_fast_accum=use_fast_accum, deterministic=deterministic,
        )  # fmt: skip
    try:
        key: tuple[Any, ...] = (
            a.shape, a.stride(), b.shape, b.stride(), a.dtype, b.dtype, a.get_device(), b.get_device(),
            schedule, config, accumulate, out_dtype, precision, use_fast_accum, deterministic,
        )  # fmt: skip
        if a.dtype is _float32:
            key += (fp32_switch(),)
        if out is not None:
            key += (out.shape, out.stride(), out.dtype, out.get_device())
        launch = _launches.get(key)
    except (AttributeError, TypeError, RuntimeError):  # no strides, unhashable: the slow path says what is wrong
        key, launch = (), None
    if launch is None or unknown:
        return _first_call(
            key, a, b, out, out_dtype, schedule, config, accumulate, precision, use_fast_accum, deterministic, unknown
        )
    a_address, b_address = a.data_ptr(), b.data_ptr()
    if (a_address | b_address) & 15 or not (a_address and b_address):
        check_memory(a, b, out)
    if out is None:
        out = _empty(launch.shape, dtype=launch.dtype, device=a.device)
        _gemm(launch.kernel, a, b, out, launch.raster, launch.group, 0, launch.swapped)
        return out
    address = out.data_ptr()
    if (address < a_address + launch.a_bytes and a_address < address + launch.out_bytes) or (
        address < b_address + launch.b_bytes and b_address < address + launch.out_bytes
    ):
        check_memory(a, b, out)
    _gemm(launch.kernel, a, b, out, launch.raster, launch.group, 0, launch.swapped)
    _mark_written(out)
    return out


def _first_call(
    key: tuple[Any, ...],
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    out_dtype: torch.dtype | None,
    schedule: str | Schedule,
    config: str | Config | None,
    accumulate: str | None,
    precision: str | None,
    use_fast_accum: bool,
    deterministic: bool,
    unknown: dict[str, Any],
) -> torch.Tensor:
    """Validates, plans, runs; on a GPU also remembers the launch."""
    _check_keywords(unknown)
    request = Request(schedule, config, tuned=not deterministic)
    parse_schedule(schedule)
    check_tensors(a, b, out)
    machine = require_emulator() if a.device.type == "cpu" else card_of(a.get_device())
    problem = read_problem(
        a, b, out, out_dtype, accumulate, str(request), precision=precision, fast_accum=bool(use_fast_accum)
    )
    check_memory(a, b, out)
    shape = (problem.n, problem.m) if problem.swapped else (problem.m, problem.n)
    given = out is not None
    if out is None:
        out = torch.empty(shape, dtype=DTYPES[problem.output], device=a.device)
    if 0 in (problem.m, problem.n, problem.k):
        return out.zero_() if problem.k == 0 else out
    plan = plan_for(problem, request, (a, b, out), machine)
    problem = plan.chosen.problem
    if isinstance(machine, Emulator):
        walk = (plan.chosen.walk.raster_index, plan.chosen.walk.group)
        run_emulated(machine, problem, plan.kernel, walk, a, b, out)
    else:
        if key:
            _remember(key, plan, problem, shape, a, b, out)
        launch(plan.chosen, a, b, out)
    if given:
        _mark_written(out)
    return out


def plan_for(problem: Problem, request: Request, operands: tuple[torch.Tensor, ...], machine: Emulator | Card) -> Plan:
    """The plan for a problem on a GPU, or on the emulator."""
    if isinstance(machine, Emulator):
        built, card = [k for k in all_kernels() if k.emulated], Card("emulator", machine.sm_count)
    else:
        built, card = [k for k in all_kernels() if k.compiled], machine

    return make_plan(problem, request, built, card, lambda prediction: refusal(prediction, *operands))


def refusal(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> str:
    """The library's last word on a planned kernel: why it cannot run on these tensors, or an empty text."""
    return str(_C.problem_error(prediction.kernel.id, a, b, out, prediction.problem.swapped))


def launch(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """Runs a planned kernel on operands it was planned for, on the current stream."""
    walk = prediction.walk
    _gemm(prediction.kernel.id, a, b, out, walk.raster_index, walk.group, 0, prediction.problem.swapped)


def forget_launches() -> None:
    """Every problem is planned anew: a tuned table has changed."""
    _launches.clear()


def _remember(
    key: tuple[Any, ...],
    plan: Plan,
    problem: Problem,
    shape: tuple[int, int],
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
) -> None:
    if len(_launches) >= _MAX_CACHED:
        _launches.clear()
    sizes = (span_elements(matrix_of("", t)) * t.element_size() for t in (a, b, out))
    walk = plan.chosen.walk
    _launches[key] = _Launch(
        plan.kernel.id, walk.raster_index, walk.group, shape, DTYPES[problem.output], problem.swapped, *sizes
    )


def _mark_written(out: torch.Tensor) -> None:
    """Tells autograd that `out` changed in place, as torch's own out= does."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)


def _check_keywords(unknown: dict[str, Any]) -> None:
    if unknown:
        name = next(iter(unknown))
        raise TypeError(
            sentence(
                f"matmul got an unexpected keyword argument {name!r}",
                expected=f"one of {', '.join(_KEYWORDS)}",
                fix=did_you_mean(name, _KEYWORDS),
            )
        )
