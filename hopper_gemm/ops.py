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
from .lowering import result_shape
from .operands import span_elements
from .plan import Plan, Request, make_plan
from .precision import switch as fp32_switch
from .problem import DTYPES, Problem, read_problem
from .recipe import Recipe
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
    slices: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    swapped: bool
    a_bytes: int
    b_bytes: int
    out_bytes: int


_launches: dict[tuple[Any, ...], _Launch] = {}  # of products whose operands lie as a kernel reads them
_recipes: dict[tuple[Any, ...], Recipe] = {}  # of those that are packed or copied
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
    """Matrix product by this library's Hopper kernels, with torch.matmul's rules for vectors and batches.

    Operands may lie in memory in any way: contiguous, transposed and sliced ones are read in place, others (rows that are
    not multiples of 16 bytes apart, both strides over 1, expanded) are packed first. A batch is one launch. Runs on
    the current stream of the device of `a`. The same inputs give the same bits. Differentiable, and known to
    torch.compile, vmap and autocast, as `torch.ops.hopper_gemm.matmul`.

    Args:
        a: (..., M, K) or (K,), on a Hopper GPU (or on the CPU, inside `hopper_gemm.emulator()`): bf16, fp16, float32, fp8
            (float8_e4m3fn, float8_e5m2), int8 or uint8.
        b: (..., K, N) or (K,), of the same dtype and device; fp8 types may be mixed, and int8 with uint8. `prepack(b)` packs
            once what would be packed by every call.
        out: (..., M, N) tensor to write, of any strides, sharing no memory with `a` and `b`: bf16, fp16, fp32 or fp8
            (saturating), int32 for integers.
        out_dtype: dtype of the result if `out` is not given; by default that of `a`, bf16 for fp8, int32 for integers.
        schedule: "auto", a `Schedule`, its short name ("pingpong") or CUTLASS's name of it.
        config: a kernel's name, a glob over names, or a `Config`, to choose the kernel by hand.
        accumulate: "fp16" sums fp16 inputs in fp16 (less exact); otherwise sums are fp32 (int32 for integers).
        precision: "tf32" multiplies float32 inputs in tf32; None if torch's switches (allow_tf32, fp32_precision) say so.
        use_fast_accum: leaves fp8 sums in the tensor core, which keeps 13 bits below the largest term; otherwise they move
            to fp32 every 128 of K. As torch._scaled_mm.
        deterministic: the kernel does not depend on what `tune` found here. (Every call repeats its bits anyhow.)

    Returns:
        `out`, or a new contiguous tensor of shape (..., M, N).

    Raises:
        ValueError: as ShapeError, OverlapError, OptionError, ScheduleError, ConfigError.
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
        return _first_call(
            key, a, b, out, out_dtype, schedule, config, accumulate, precision, use_fast_accum, deterministic, unknown
        )
    if out is None:
        out = _empty(launch.shape, dtype=launch.dtype, device=a.device)
        _gemm(launch.kernel, a, b, out, launch.raster, launch.group, 0, launch.swapped, launch.slices)
        return out
    address = out.data_ptr()
    if (address < a_address + launch.a_bytes and a_address < address + launch.out_bytes) or (
        address < b_address + launch.b_bytes and b_address < address + launch.out_bytes
    ):
        check_memory(a, b, out)
    _gemm(launch.kernel, a, b, out, launch.raster, launch.group, 0, launch.swapped, launch.slices)
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
    """Validates, plans, runs; on a GPU also remembers the launch, or what else is to be done."""
    _check_keywords(unknown)
    request = Request(schedule, config, tuned=not deterministic)
    parse_schedule(schedule)
    check_tensors(a, b, out)
    machine = require_emulator() if a.device.type == "cpu" else card_of(a.get_device())
    problem = read_problem(a, b, out, out_dtype, accumulate, precision=precision, fast_accum=bool(use_fast_accum))
    check_memory(a, b, out)
    shape = result_shape(a, b)
    given = out is not None
    if out is None:
        out = torch.empty(shape, dtype=DTYPES[problem.output], device=a.device)
    if problem.is_empty:
        return out.zero_() if problem.k == 0 else out
    recipe = _recipe_for(key and (*key, *problem.packs, problem.swapped), problem, request, (a, b, out), machine)
    if isinstance(machine, Emulator):
        recipe.run(a, b, out, lambda *tensors: run_emulated(machine, recipe.prediction, *tensors), machine)
    else:
        if recipe.is_plain and key:
            _remember(key, recipe, shape, a, b, out)
        recipe.run(a, b, out, lambda *tensors: _launch(recipe.prediction, *tensors))
    if given:
        _mark_written(out)
    return out


def _recipe_for(
    key: tuple[Any, ...], problem: Problem, request: Request, operands: tuple[torch.Tensor, ...], machine: Emulator | Card
) -> Recipe:
    """What to do, on a GPU planned once for all calls that agree in `key`: it also says what has to be packed."""
    recipe = _recipes.get(key)
    if recipe is None:
        recipe = Recipe.of(plan_for(problem, request, operands, machine).chosen)
        if key and not recipe.is_plain and not isinstance(machine, Emulator):
            if len(_recipes) >= _MAX_CACHED:
                _recipes.clear()
            _recipes[key] = recipe
    return recipe


def plan_for(problem: Problem, request: Request, operands: tuple[torch.Tensor, ...], machine: Emulator | Card) -> Plan:
    """The plan for a problem on a GPU, or on the emulator."""
    if isinstance(machine, Emulator):
        built, card = [k for k in all_kernels() if k.emulated], Card("emulator", machine.sm_count)
    else:
        built, card = [k for k in all_kernels() if k.compiled], machine

    return make_plan(problem, request, built, card, lambda prediction: refusal(prediction, *operands))


def refusal(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> str:
    """The library's last word on a planned kernel: why it cannot run on these tensors, or an empty text."""
    given = Recipe.of(prediction).stand_ins(a, b, out)
    return str(_C.problem_error(prediction.kernel.id, *given, prediction.problem.swapped))


def launch(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """Runs a planned kernel on operands it was planned for, packed first if they must be, on the current stream."""
    Recipe.of(prediction).run(a, b, out, lambda *tensors: _launch(prediction, *tensors))


def _launch(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    walk = prediction.walk
    _gemm(prediction.kernel.id, a, b, out, walk.raster_index, walk.group, 0, prediction.problem.swapped, walk.slices)


def remember_launch(
    launches: Any, prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, written: torch.Tensor
) -> None:
    """Puts a planned launch into a memory of launches (`_C.Launches`): `out` as the caller gives it, `written` as it lies."""
    walk, kernel = prediction.walk, prediction.kernel
    launches.remember(a, b, out, written, kernel.id, walk.raster_index, walk.group, 0, prediction.problem.swapped, walk.slices)


def forget_launches() -> None:
    """Every problem is planned anew: a tuned table has changed."""
    _launches.clear()
    _recipes.clear()


def _remember(
    key: tuple[Any, ...], recipe: Recipe, shape: tuple[int, ...], a: torch.Tensor, b: torch.Tensor, out: torch.Tensor
) -> None:
    if len(_launches) >= _MAX_CACHED:
        _launches.clear()
    sizes = (span_elements(t.shape, t.stride()) * t.element_size() for t in (a, b, out))
    chosen = recipe.prediction
    _launches[key] = _Launch(
        chosen.kernel.id,
        chosen.walk.raster_index,
        chosen.walk.group,
        chosen.walk.slices,
        shape,
        out.dtype,
        chosen.problem.swapped,
        *sizes,
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
