"""`torch.ops.hopper_gemm.matmul` and `matmul_out`: schemas and the kernels that torch's dispatcher asks for.

One function per dispatch key: CUDA and CPU (the emulator), fake, autograd, autocast, vmap. Sharding is in sharding.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .autograd import below_autograd
from .batching import batched_matmul
from .checks import check_tensors
from .config import Config
from .dispatcher import check_out_needs_no_grad, given
from .epilogue import Epilogue
from .lowering import result_shape
from .ops import matmul
from .problem import output_dtype

_OPERANDS = "Tensor? bias=None, Tensor? c=None, Tensor? residual=None"
_OPTIONS = (
    'ScalarType? out_dtype=None, str schedule="auto", str? config=None, str? accumulate=None, str? precision=None, '
    "float alpha=1.0, float beta=0.0, str? activation=None, bool use_fast_accum=False, bool batch_invariant=False, "
    "bool deterministic=False, bool static_b=False"
)
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)

library = torch.library.Library("hopper_gemm", "DEF")
library.define(f"matmul(Tensor a, Tensor b, {_OPERANDS}, *, {_OPTIONS}) -> Tensor", tags=_TAGS)
library.define(f"matmul_out(Tensor a, Tensor b, Tensor(a!) out, {_OPERANDS}, *, {_OPTIONS}) -> ()", tags=_TAGS)


# --- on a GPU, and on the CPU inside hopper_gemm.emulator()


def _run(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    bias: torch.Tensor | None,
    c: torch.Tensor | None,
    residual: torch.Tensor | None,
    options: dict[str, Any],
) -> torch.Tensor:
    keywords = given(options)
    if keywords.get("config", "").startswith("Config("):
        keywords["config"] = Config.parse(keywords["config"])
    tensors = {"out": out, "bias": bias, "c": c, "residual": residual}
    keywords |= {name: _own(tensor) for name, tensor in tensors.items() if tensor is not None}
    return matmul(_own(a), _own(b), **keywords)


def _own(tensor: torch.Tensor) -> torch.Tensor:
    """Without a subclass that has had its say: `matmul` would ask it again."""
    return tensor if type(tensor) in (torch.Tensor, torch.nn.Parameter) else tensor.as_subclass(torch.Tensor)


def _matmul(a, b, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    return _run(a, b, None, bias, c, residual, options)


def _matmul_out(a, b, out, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    _run(a, b, out, bias, c, residual, options)


# --- without memory: shapes and refusals only


def _fake_matmul(a, b, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    return a.new_empty(_checked_shape(a, b, None, bias, c, residual, options), dtype=output_dtype(a, None, options.get("out_dtype")))


def _fake_matmul_out(a, b, out, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    _checked_shape(a, b, out, bias, c, residual, options)
    output_dtype(a, out, options.get("out_dtype"))


def _checked_shape(a, b, out, bias, c, residual, options):  # type: ignore[no-untyped-def]
    """The shape of the result, after the refusals that need no memory."""
    check_tensors(a, b, out)
    shape = result_shape(a, b)
    values = options.get("alpha", 1.0), options.get("beta", 0.0), c, bias, options.get("activation"), residual
    Epilogue(*values).check(shape, a.device)
    return shape


# --- autograd


def _autograd_matmul(keyset, a, b, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    return below_autograd(keyset, (a, b, bias, c, residual), options)


def _autograd_matmul_out(keyset, a, b, out, bias=None, c=None, residual=None, **options):  # type: ignore[no-untyped-def]
    check_out_needs_no_grad(a=a, b=b, bias=bias, c=c, residual=residual, out=out)
    with torch._C._AutoDispatchBelowAutograd():
        op = torch.ops.hopper_gemm.matmul_out.default
        op.redispatch(keyset & torch._C._after_autograd_keyset, a, b, out, bias, c, residual, **options)


# --- autocast: the two factors in the region's dtype, as torch's own products; what is added stays as exact as it came


def _autocast(device: str, key: torch._C.DispatchKey, op: Any) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(key)

    def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        eligible = tensor.device.type == device and tensor.dtype in (torch.float32, torch.float16, torch.bfloat16)
        return tensor.to(dtype) if eligible else tensor

    def kernel(a, b, *rest, **options):  # type: ignore[no-untyped-def]
        dtype = torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            own = cast(b, dtype)
            if own is not b:  # a copy made just now: what the caller promised of b does not hold for it
                options.pop("static_b", None)
            return op(cast(a, dtype), own, *rest, **options)

    return kernel


def _register(name: str, kernel: Callable[..., Any], fake: Callable[..., Any], autograd: Callable[..., Any]) -> None:
    op = getattr(torch.ops.hopper_gemm, name).default
    for key in ("CUDA", "CPU"):
        library.impl(name, kernel, key)
    torch.library.register_fake(f"hopper_gemm::{name}", fake, lib=library)
    library.impl(name, autograd, "Autograd", with_keyset=True)
    for device, autocast in (("cuda", torch._C.DispatchKey.AutocastCUDA), ("cpu", torch._C.DispatchKey.AutocastCPU)):
        library.impl(name, _autocast(device, autocast, op), autocast.name)


_register("matmul", _matmul, _fake_matmul, _autograd_matmul)
_register("matmul_out", _matmul_out, _fake_matmul_out, _autograd_matmul_out)
torch.library.register_vmap("hopper_gemm::matmul", batched_matmul, lib=library)
