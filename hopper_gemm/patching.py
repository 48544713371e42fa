"""`patch`: every torch.nn.Linear of a model that a kernel of this library can run becomes a `hopper_gemm.nn.Linear`."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from .errors import ArgumentError, sentence
from .nn import Linear

DTYPES = (torch.bfloat16, torch.float16, torch.float32)


@dataclass(frozen=True)
class PatchReport:
    """What `patch` did: names of layers as in `named_modules`, and for every layer left as it was the reason."""

    replaced: tuple[str, ...]
    kept: dict[str, str]
    _modules: tuple[torch.nn.Module, ...] = field(repr=False, default=())

    def undo(self) -> None:
        """Makes the replaced layers torch.nn.Linear again."""
        for module in self._modules:
            if type(module) is Linear:
                module.__class__ = torch.nn.Linear  # type: ignore[assignment]

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} layers run on hopper_gemm, {len(self.kept)} do not"]
        lines += [f"  {name or '(the model itself)'}" for name in self.replaced]
        lines += [f"  {name or '(the model itself)'}: kept, {reason}" for name, reason in self.kept.items()]
        return "\n".join(lines)


def patch(model: torch.nn.Module, *, min_size: int = 1) -> PatchReport:
    """Replaces the torch.nn.Linear layers of a model in place, and says which and why not the others.

    A layer becomes ours by its class alone: it stays the same object with the same parameters (tied ones stay tied), hooks,
    buffers and mode. Subclasses are left alone, since what they changed is not known; torch's own parametrizations make
    such subclasses.

    Args:
        min_size: layers whose weight has fewer elements are left alone.

    >>> print(hopper_gemm.patch(model, min_size=1 << 16))

    Raises:
        ArgumentError: `model` is not a module.
    """
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(sentence("patch takes a torch.nn.Module", got=type(model).__name__))
    replaced: list[tuple[str, torch.nn.Module]] = []
    kept: dict[str, str] = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        reason = _reason_to_keep(module, min_size)
        if reason:
            kept[name] = reason
        else:
            module.__class__ = Linear
            replaced.append((name, module))
    return PatchReport(tuple(name for name, _ in replaced), kept, tuple(module for _, module in replaced))


def _reason_to_keep(module: torch.nn.Linear, min_size: int) -> str:
    if type(module) is Linear:
        return "already a hopper_gemm.nn.Linear"
    if type(module) is not torch.nn.Linear:
        return f"a subclass of torch.nn.Linear ({type(module).__name__})"
    if "forward" in vars(module):
        return "its forward was replaced on the layer itself"
    if module.weight.dtype not in DTYPES:
        return f"weights of {module.weight.dtype}"
    if module.weight.device.type not in ("cuda", "cpu", "meta"):
        return f"weights on {module.weight.device}"
    if module.weight.numel() < min_size:
        return f"{module.weight.numel()} weights, fewer than min_size={min_size}"
    return ""
