"""The options of an epilogue: what is added to a product and applied to it before the one rounding, read and refused.

    out = round((activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias) + residual) * scale_result)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from . import _extension
from .checks import extent_of
from .emulation import Emulator
from .errors import ArgumentError, AutogradError, DeviceError, DTypeError, OptionError, OverlapError, ShapeError, did_you_mean, sentence
from .operands import may_share_memory
from .packing import run_copies

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid")
ADDEND_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
_ADDENDS = ("c", "bias", "residual")
_SCALES = ("scale_a", "scale_b", "scale_result")
_Epilogue = _extension.load().Epilogue


class Epilogue(NamedTuple):
    """The options as given. A product without any has no `Epilogue` at all."""

    alpha: float = 1.0
    beta: float = 0.0
    c: torch.Tensor | None = None
    bias: torch.Tensor | None = None
    activation: str | None = None
    residual: torch.Tensor | None = None
    scale_a: torch.Tensor | None = None
    scale_b: torch.Tensor | None = None
    scale_result: torch.Tensor | None = None

    @property
    def tensors(self) -> tuple[torch.Tensor | None, ...]:
        return self.c, self.bias, self.residual, self.scale_a, self.scale_b, self.scale_result

    @property
    def is_scaled(self) -> bool:
        return any(getattr(self, name) is not None for name in _SCALES)

    def key(self) -> tuple[Any, ...]:
        """What `check` depends on, for a cache: everything but values and addresses."""
        layouts = (None if t is None else (t.shape, t.dtype, t.device) for t in self.tensors)
        return type(self.alpha), type(self.beta), self.beta == 0, self.activation, *layouts

    def for_dispatcher(
        self,
    ) -> tuple[tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None], dict[str, Any]]:
        """bias, c and residual, and the options that are no tensors, as the operator's schema has them.

        Raises:
            AutogradError: a scale is given, which the operator does not take.
        """
        _check_numbers(self)
        if self.is_scaled:
            raise AutogradError(
                sentence(
                    "scaled_matmul is no operator of torch's dispatcher: it has no derivative and is not traced",
                    got="tensors that require grad, or a trace, a mode, vmap or autocast around the call",
                    fix="call it under torch.no_grad() and outside of torch.compile",
                )
            )
        operands = (self.bias, self.c, self.residual)
        return operands, {"alpha": float(self.alpha), "beta": float(self.beta), "activation": self.activation}

    def check(self, shape: Sequence[int], device: torch.device) -> None:
        """Refuses what cannot be added to an output of this shape, or applied to it.

        Raises:
            ArgumentError, OptionError, DTypeError, DeviceError, ShapeError.
        """
        _check_numbers(self)
        check_activation(self.activation)
        for name in (*_ADDENDS, *_SCALES):
            tensor = getattr(self, name)
            if tensor is not None:
                _check_tensor(name, tensor, device)
                (_check_scale if name in _SCALES else _check_addend)(name, tensor, shape)

    def check_memory(self, out: torch.Tensor | None) -> None:
        """Refuses tensors without memory, and an `out` that shares its memory with one, but for an addend that is `out`.

        Raises:
            ArgumentError, OverlapError.
        """
        for name in (*_ADDENDS, *_SCALES):
            tensor = getattr(self, name)
            if tensor is None or tensor.numel() == 0 or (name == "c" and self.beta == 0):
                continue
            if tensor.data_ptr() == 0:
                raise ArgumentError(
                    sentence(
                        f"{name} has no memory of its own",
                        got=f"{type(tensor).__name__} with data_ptr() 0",
                        fix="pass the tensor a wrapper holds",
                    )
                )
            if out is None or not out.numel() or not may_share_memory(extent_of(out), extent_of(tensor)):
                continue
            own = (tensor.shape, tensor.stride(), tensor.dtype) == (out.shape, out.stride(), out.dtype)
            if not (name in ("c", "residual") and own and tensor.data_ptr() == out.data_ptr()):
                raise _overlap(name, tensor, out)

    def regular(self, shape: Sequence[int], emulator: Emulator | None = None) -> Epilogue:
        """With addends whose batch dimensions lie at one stride, as a launch needs: itself, or with copies of the others."""
        if len(shape) < 4:
            return self
        c, bias, residual = (_regular(getattr(self, name), shape, emulator) for name in _ADDENDS)
        if c is self.c and bias is self.bias and residual is self.residual:
            return self
        return self._replace(c=c, bias=bias, residual=residual)

    def as_kernel_takes_it(self) -> Any:
        """The extension's `Epilogue`."""
        return _Epilogue(
            self.alpha, self.beta, self.c, self.bias, self.activation or "none", self.residual,
            self.scale_a, self.scale_b, self.scale_result,
        )  # fmt: skip


def _check_numbers(epilogue: Epilogue) -> None:
    for name in ("alpha", "beta"):
        value = getattr(epilogue, name)
        if isinstance(value, torch.Tensor) or not isinstance(value, (int, float)):
            raise ArgumentError(
                sentence(
                    f"{name} is not a number",
                    got=type(value).__name__,
                    expected="a Python int or float",
                    fix="to scale by a tensor on the device use scaled_matmul" if name == "alpha" else "",
                )
            )
    if epilogue.beta != 0 and epilogue.c is None:
        raise OptionError(
            sentence("beta has nothing to multiply", got=f"beta={epilogue.beta} and no c", fix="pass c, the tensor to add")
        )


def check_activation(activation: object) -> None:
    if activation is None or (isinstance(activation, str) and activation in ACTIVATIONS):
        return
    raise OptionError(
        sentence(
            "unknown activation",
            got=repr(activation),
            expected=f"None or one of {', '.join(map(repr, ACTIVATIONS))}",
            fix=did_you_mean(activation, ACTIVATIONS) if isinstance(activation, str) else "",
        )
    )


def _check_tensor(name: str, tensor: object, device: torch.device) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise ArgumentError(sentence(f"{name} is not a tensor", got=type(tensor).__name__, expected="a torch.Tensor"))
    if tensor.layout != torch.strided:
        raise ArgumentError(
            sentence(f"{name} is not a dense tensor", got=str(tensor.layout), fix=f"to make one: {name}.to_dense()")
        )
    wanted = (torch.float32,) if name in _SCALES else ADDEND_DTYPES
    if tensor.dtype not in wanted:
        raise DTypeError(
            sentence(
                f"{name} has a dtype kernels do not read there",
                got=f"dtype {tensor.dtype}",
                expected=" or ".join(map(str, wanted)),
                fix=f"convert it: {name}.to(torch.float32)",
            )
        )
    if tensor.device != device:
        raise DeviceError(
            sentence(
                f"{name} is on another device than a",
                got=f"{name} on {tensor.device}, a on {device}",
                expected="all tensors on one device",
                fix=f"move it: {name}.to('{device}')",
            )
        )


def _check_addend(name: str, tensor: torch.Tensor, shape: Sequence[int]) -> None:
    sizes = tuple(tensor.shape)
    if len(sizes) <= len(shape) and all(size in (1, whole) for size, whole in zip(reversed(sizes), reversed(shape))):
        return
    m, n = (1, 1, *shape)[-2:]
    per_row = sizes == (m,) and name == "bias"
    raise ShapeError(
        sentence(
            f"{name} does not broadcast to the output",
            got=f"{name} of shape {sizes}, the output is {tuple(shape)}",
            expected=f"({n},) or (1, {n}) per column, ({m}, 1) per row"
            if name == "bias"
            else f"{tuple(shape)}, ({m}, 1), (1, {n}), ({n},) or one element",
            fix="for one value a row pass bias[:, None]" if per_row else "",
        )
    )


def _regular(addend: torch.Tensor | None, shape: Sequence[int], emulator: Emulator | None) -> torch.Tensor | None:
    if addend is None:
        return None
    whole = addend.expand(*shape)
    batch = [(size, stride) for size, stride in zip(whole.shape[:-2], whole.stride()[:-2]) if size > 1]
    if all(outer[1] == inner[0] * inner[1] for outer, inner in zip(batch, batch[1:])):
        return addend
    copied = torch.empty(*shape, dtype=addend.dtype, device=addend.device)
    run_copies([(whole, copied, shape[-1], 0)], emulator)
    return copied


def _check_scale(name: str, tensor: torch.Tensor, shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise ShapeError(sentence("scales are for the product of two matrices", got=f"an output of shape {tuple(shape)}"))
    m, n = shape
    per = {"scale_a": (m, 1), "scale_b": (1, n), "scale_result": None}[name]
    if tensor.numel() == 1 or (per is not None and tuple(tensor.shape) == per):
        return
    transposed = per is not None and tensor.numel() == math.prod(per)
    raise ShapeError(
        sentence(
            f"{name} has a shape that no kernel scales by",
            got=f"{name} of shape {tuple(tensor.shape)}, the output is {tuple(shape)}",
            expected="one element" + ("" if per is None else f" or {per}, one for each {'row of a' if per[1] == 1 else 'column of b'}"),
            fix=f"pass {name}.reshape{per}" if transposed else "",
        )
    )


def _overlap(name: str, tensor: torch.Tensor, out: torch.Tensor) -> OverlapError:
    may_be_out = name in ("c", "residual")
    return OverlapError(
        sentence(
            f"out and {name} overlap in memory: elements of out would be written while {name} is still read",
            got=f"out of shape {tuple(out.shape)} with strides {tuple(out.stride())} and {name} of shape "
            f"{tuple(tensor.shape)} with strides {tuple(tensor.stride())} on the same memory",
            expected=f"memory of its own{', or ' + name + ' to be out itself' if may_be_out else ''}",
            fix=f"leave out= away, or pass {name}.clone()",
        )
    )
