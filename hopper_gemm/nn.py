"""`Linear`: a torch.nn.Linear whose product, bias and activation are one kernel of this library."""

from __future__ import annotations

from typing import Any

import torch

from .epilogue import check_activation
from .main_grad import linear_into_main_grad
from .products import linear


class Linear(torch.nn.Linear):
    """Takes the place of torch.nn.Linear: the same arguments, parameters, state dict, initial values and text.

    >>> layer = hopper_gemm.nn.Linear(4096, 1024, activation="silu", device="cuda", dtype=torch.bfloat16)

    Args:
        activation: applied inside the kernel: "relu", "gelu", "gelu_tanh", "silu", "sigmoid" or None.
        static_weight: also an attribute, as for a layer that `patch` has made: `static_b` of `matmul` in the forward. No work
            that may still be running on the stream writes the weight, as in inference.

    Attributes:
        accumulate_main_grad: if True and the weight has a float32 `main_grad`, as in Megatron's training loops, the backward
            adds the weight's gradient to it, in fp32 and inside the kernel, and leaves `weight.grad` None.
    """

    activation: str | None = None  # on the class: a torch.nn.Linear becomes a Linear by changing its class (`patch`)
    static_weight: bool = False
    accumulate_main_grad: bool = False

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *args: Any,
        activation: str | None = None,
        static_weight: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_features, out_features, bias, *args, **kwargs)
        self.static_weight = static_weight
        if activation is not None:
            check_activation(activation)
            self.activation = activation

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        main_grad = getattr(self.weight, "main_grad", None) if self.accumulate_main_grad else None
        if main_grad is None:
            return linear(
                input, self.weight, self.bias, activation=self.activation, static_weight=self.static_weight
            )
        return linear_into_main_grad(input, self.weight, self.bias, main_grad, activation=self.activation)

    def extra_repr(self) -> str:
        suffix = f", activation={self.activation!r}" if self.activation is not None else ""
        return super().extra_repr() + suffix
