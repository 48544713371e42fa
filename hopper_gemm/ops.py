"""`matmul`: the eager entry point. A product seen before is launched from C++; a new one is read, planned and kept."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from . import _extension, autograd, known
from .checks import check_memory, check_tensors
from .choices import Choices, check_keywords
from .config import Config
from .device import card_of
from .dispatcher import given as given_options
from .dispatcher import through_dispatcher
from .emulation import Emulator, require_emulator, run_emulated
from .epilogue import Epilogue
from .known import repeated
from .lowering import result_shape
from .plan import Plan, Request, make_plan
from .precision import switch as fp32_switch
from .problem import DTYPES, Problem, read_problem
from .recipe import Recipe, mark_written
from .registry import all_kernels
from .schedule import Schedule, parse_schedule
from .selector import Card, Prediction

_MAX_CACHED = 4096

_recipes: dict[tuple[Any, ...], Recipe] = {}  # for products that are packed or copied and for addresses that need a look
_C = _extension.load()
_gemm = _C.gemm
_float32 = torch.float32
_is_plain = _C.is_plain
_is_compiling = torch.compiler.is_dynamo_compiling
_ALPHA, _BETA = 1.0, 0.0  # compared by identity: one question for all options of an epilogue


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
    batch_invariant: bool = False,
    static_b: bool = False,
    alpha: float = _ALPHA,
    beta: float = _BETA,
    c: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    residual: torch.Tensor | None = None,
    **unknown: NoReturn,
) -> torch.Tensor:
    """activation(alpha * (a @ b) + beta * c + bias) + residual by this library's Hopper kernels, in fp32 before one rounding.

    Without options the matrix product, with torch.matmul's rules for vectors and batches.
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
        precision: "tf32" multiplies float32 inputs in tf32, "fp32" keeps their bits (3xTF32); None: as torch's switches
            (allow_tf32, fp32_precision) say.
        use_fast_accum: leaves fp8 sums in the tensor core, which keeps 13 bits below the largest term; otherwise they move
            to fp32 every 128 of K. As torch._scaled_mm.
        deterministic: the kernel does not depend on what `tune` found here. (Every call repeats its bits anyhow.)
        batch_invariant: the bits of a row do not depend on the other rows or how many there are: one kernel for all M. A
            column-major `out` of one row cannot be told from a row-major one, so one row alone may have other bits there.
            That kernel may be another for an `a` that has to be packed (its address off 16 bytes, say) than for one that
            is read in place.
        static_b: a promise that no work which may still be running on this stream writes `b`: weights. The kernel may then
            load it before the kernel before has ended. If the promise is broken, the result is wrong.
        alpha, beta: Python numbers. With beta = 0 `c` is not read, so that a NaN in it does not matter.
        c, residual: bf16, fp16 or fp32 tensors that broadcast to the result, of any strides. Either may be `out` itself,
            which is then updated in place.
        bias: (N,) or (1, N) for one value a column, (M, 1) for one a row.
        activation: None, "relu", "gelu" (exact, with erf), "gelu_tanh", "silu" or "sigmoid".

    Returns:
        `out`, or a new contiguous tensor of shape (..., M, N).

    Raises:
        ValueError: as ShapeError, OverlapError, OptionError, ScheduleError, ConfigError.
        TypeError: as DTypeError, ArgumentError.
        RuntimeError: as DeviceError.
        NotImplementedError: as UnsupportedProblemError, AutogradError. All of them before anything is launched or written.
    """
    given = (out_dtype, schedule, config, accumulate, precision, use_fast_accum, deterministic, batch_invariant, static_b)  # Choices
    if not unknown:
        result = repeated(given, a, b, out, alpha, beta, c, bias, activation, residual)
        if result is not None:
            return result
    check_keywords(unknown, matmul)
    is_plain = c is bias is activation is residual is None and alpha is _ALPHA and beta is _BETA
    return long_way(None if is_plain else Epilogue(alpha, beta, c, bias, activation, residual), a, b, out, Choices(*given))


def _key(
    a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, choices: Choices, epilogue: Epilogue | None = None
) -> tuple[Any, ...]:
    """What a plan depends on; empty if there is no telling."""
    try:
        key: tuple[Any, ...] = (
            a.shape, a.stride(), b.shape, b.stride(), a.dtype, b.dtype, a.get_device(), b.get_device(),
            epilogue and epilogue.key(), choices if a.dtype is not _float32 else (*choices, fp32_switch()),
        )  # fmt: skip
        if out is not None:
            key += (out.shape, out.stride(), out.dtype, out.get_device())
        hash(key)
    except (AttributeError, TypeError, RuntimeError):  # no strides, unhashable: the checks say what is wrong
        return ()
    return key


def long_way(
    epilogue: Epilogue | None, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, choices: Choices
) -> torch.Tensor:
    """A product that was not seen before, or around which torch has work to do."""
    if _is_compiling() or not _is_plain(a, b, out, *(epilogue.tensors if epilogue else ())):
        operands, values = epilogue.for_dispatcher() if epilogue else ((None, None, None), {})
        return through_dispatcher(a, b, out, operands, **choices._asdict(), **values)
    return _first_call(_key(a, b, out, choices, epilogue), a, b, out, choices, epilogue)


def _first_call(
    key: tuple[Any, ...],
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    choices: Choices,
    epilogue: Epilogue | None = None,
) -> torch.Tensor:
    """Validates, plans, runs; on a GPU also remembers the launch, or what else is to be done."""
    if key and a.layout is b.layout is torch.strided:
        key = (*key, a.data_ptr() & 15, b.data_ptr() & 15)  # says, with the strides, what has to be packed
        recipe = _recipes.get(key)
        if recipe is not None and epilogue is None:
            return _run(recipe, key, a, b, out, choices)
    out_dtype, schedule, config, accumulate, precision, use_fast_accum, deterministic, batch_invariant, static_b = choices
    request = Request(schedule, config, not deterministic, bool(batch_invariant), bool(static_b))
    parse_schedule(schedule)
    check_tensors(a, b, out)
    machine = require_emulator() if a.device.type == "cpu" else card_of(a.get_device())
    shape, regular, options = result_shape(a, b), epilogue, None
    if epilogue is not None:
        epilogue.check(shape, a.device)
        epilogue.check_memory(out)
        regular = epilogue.regular(shape, machine if isinstance(machine, Emulator) else None)
        options = regular.as_kernel_takes_it()
    problem = read_problem(
        a, b, out, out_dtype, accumulate, precision=precision, fast_accum=bool(use_fast_accum), options=options
    )
    check_memory(a, b, out)
    given = out is not None
    if out is None:
        out = torch.empty(shape, dtype=DTYPES[problem.output], device=a.device)
    if out.numel() == 0:
        return out
    recipe = _recipe_for(key, problem, request, (a, b, out), machine, options)
    if isinstance(machine, Emulator):
        recipe.run(a, b, out, lambda x, y, z: run_emulated(machine, recipe.prediction, x, y, z, options, recipe.static_b), machine)
    else:
        if regular is epilogue:
            _remember(recipe, key, a, b, out if given else None, out, choices, epilogue, options)
        recipe.run(a, b, out, lambda x, y, z: _launch(recipe, x, y, z, options))
    if given:
        mark_written(out)
    return out


def _run(
    recipe: Recipe, key: tuple[Any, ...], a: torch.Tensor, b: torch.Tensor, out: torch.Tensor | None, choices: Choices
) -> torch.Tensor:
    """A product planned before: only what depends on addresses is looked at again."""
    check_memory(a, b, out)
    dtype = DTYPES[recipe.prediction.problem.output]
    result = torch.empty(result_shape(a, b), dtype=dtype, device=a.device) if out is None else out
    _remember(recipe, key, a, b, out, result, choices)
    recipe.run(a, b, result, lambda *tensors: _launch(recipe, *tensors))
    if out is not None:
        mark_written(out)
    return result


def _remember(
    recipe: Recipe,
    key: tuple[Any, ...],
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    written: torch.Tensor,
    choices: Choices,
    epilogue: Epilogue | None = None,
    options: Any = None,
) -> None:
    """One launch on the caller's own tensors is all that calls like this one need from now on."""
    if recipe.is_plain and key:
        backward = autograd.of_call(given_options(choices._asdict()), a, b, epilogue)
        known.remember(key[9], recipe, a, b, out, written, options, backward)


def _recipe_for(
    key: tuple[Any, ...],
    problem: Problem,
    request: Request,
    operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    machine: Emulator | Card,
    options: Any,
) -> Recipe:
    """What to do, on a GPU planned once for all calls that agree in `key`: it also says what has to be packed."""
    recipe = _recipes.get(key)
    if recipe is None:
        recipe = Recipe.of(plan_for(problem, request, operands, machine, options).chosen, request.static_b)
        if key and not isinstance(machine, Emulator):
            if len(_recipes) >= _MAX_CACHED:
                _recipes.clear()
            _recipes[key] = recipe
    return recipe


def plan_for(
    problem: Problem,
    request: Request,
    operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    machine: Emulator | Card,
    options: Any = None,
) -> Plan:
    """The plan for a problem on a GPU, or on the emulator. `options`: the extension's `Epilogue`, if there is one."""
    if isinstance(machine, Emulator):
        built, card = [k for k in all_kernels() if k.emulated], Card("emulator", machine.sm_count)
    else:
        built, card = [k for k in all_kernels() if k.compiled], machine

    return make_plan(problem, request, built, card, lambda prediction: refusal(prediction, *operands, options))


def refusal(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, options: Any = None) -> str:
    """The library's last word on a planned kernel: why it cannot run on these tensors, or an empty text."""
    given = Recipe.of(prediction).stand_ins(a, b, out)
    return str(_C.problem_error(prediction.kernel.id, *given, prediction.problem.swapped, options))


def launch(prediction: Prediction, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    """Runs a planned kernel on operands it was planned for, packed first if they must be, on the current stream."""
    recipe = Recipe.of(prediction)
    recipe.run(a, b, out, lambda *tensors: _launch(recipe, *tensors))


def _launch(recipe: Recipe, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, options: Any = None) -> None:
    chosen, walk = recipe.prediction, recipe.prediction.walk
    _gemm(
        chosen.kernel.id, a, b, out, walk.raster_index, walk.group, 0, chosen.problem.swapped, walk.slices, options,
        recipe.static_b,
    )  # fmt: skip


def forget_launches() -> None:
    """Every problem is planned anew: a tuned table has changed."""
    known.forget()
    _recipes.clear()
