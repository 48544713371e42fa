"""The way into `torch.ops.hopper_gemm`, for calls around which torch has work to do: gradients, a trace, a mode,
autocast, vmap, a tensor subclass. `ops.matmul` comes here only then.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from . import _extension, autograd
from .config import Config
from .errors import AutogradError, sentence
from .schedule import Schedule
from .sharding import register_sharding_rules

DEFAULTS: dict[str, Any] = {
    "out_dtype": None,
    "schedule": "auto",
    "config": None,
    "accumulate": None,
    "precision": None,
    "alpha": 1.0,
    "beta": 0.0,
    "activation": None,
    "use_fast_accum": False,
    "batch_invariant": False,
    "deterministic": False,
    "static_b": False,
}
_is_recorded = _extension.load().is_recorded
_ACCUMULATORS = {torch.float32: "fp32", torch.float16: "fp16"}


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {name: value for name, value in options.items() if value is not None and value != DEFAULTS[name]}


def through_dispatcher(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    operands: tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None] = (None, None, None),
    **options: Any,
) -> torch.Tensor:
    """`torch.ops.hopper_gemm.matmul` or `matmul_out`, with the options as its schema takes them.

    Calls that only have to be recorded for a backward, most of a training step's, take a shorter way to the same node.

    Args:
        operands: bias, c and residual.

    Raises:
        AutogradError: `out` is given and a tensor requires grad, as torch's own out= refuses.
    """
    if type(b) not in (torch.Tensor, torch.nn.Parameter):
        options.pop("static_b", None)  # the product may be of a tensor that a subclass makes just before: gathered, unpacked
    if not torch.compiler.is_dynamo_compiling():
        if out is None and _is_recorded(a, b, *operands):
            return autograd.recorded((a, b, *operands), given(options))
        if "torch.distributed.tensor" in sys.modules:  # there may be DTensors among the operands
            register_sharding_rules()
    keywords = _as_schema(options)
    if out is None:
        return torch.ops.hopper_gemm.matmul(a, b, *operands, **keywords)
    bias, c, residual = operands
    check_out_needs_no_grad(a=a, b=b, bias=bias, c=c, residual=residual, out=out)
    torch.ops.hopper_gemm.matmul_out(a, b, out, *operands, **keywords)
    return out


def check_out_needs_no_grad(**tensors: torch.Tensor | None) -> None:
    """Refuses to write a result cut off from the graph, or without its tangent, into `out`.

    Raises:
        AutogradError: a tensor carries a forward-mode tangent, or requires grad in grad mode.
    """
    dual = [name for name, tensor in tensors.items() if tensor is not None and autograd.carries_tangent(tensor)]
    if dual:
        raise AutogradError(
            sentence(
                "a product written to out= has no forward-mode derivative",
                got=f"a dual tensor as {' and '.join(dual)}",
                fix="leave out= away",
            )
        )
    needing = [name for name, tensor in tensors.items() if tensor is not None and tensor.requires_grad]
    if needing and torch.is_grad_enabled():
        raise AutogradError(
            sentence(
                "a product written to out= has no backward, and the result will not be cut off from the graph silently",
                got=f"requires_grad=True on {' and '.join(needing)} in grad mode",
                fix="leave out= away, or call it under torch.no_grad()",
            )
        )


def _as_schema(options: dict[str, Any]) -> dict[str, Any]:
    """Enumerations, configs and dtypes as the strings of the operator's schema."""
    keywords = given(options)
    if isinstance(keywords.get("schedule"), Schedule):
        keywords["schedule"] = keywords["schedule"].value
    if isinstance(keywords.get("config"), Config):
        keywords["config"] = str(keywords["config"])
    if isinstance(keywords.get("accumulate"), torch.dtype):
        keywords["accumulate"] = _ACCUMULATORS.get(keywords["accumulate"], str(keywords["accumulate"]))
    return keywords
