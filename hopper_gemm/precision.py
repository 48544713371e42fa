"""What float32 inputs are multiplied as: `precision=`, or torch's own switches if it is not given.

The tensor cores read float32 as tf32 (10 of 23 mantissa bits), rounded to nearest even on the way in. That is opt-in, as it
is in torch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .errors import OptionError, PrecisionError, sentence

PRECISIONS = (None, "tf32", "fp32")

# "tf32", "ieee" or "none" (nothing was set: exact). `allow_tf32` and `set_float32_matmul_precision` set it too; reading
# `allow_tf32` instead raises once the new switch was used (torch 2.13).
switch: Callable[[], str] = lambda: torch.backends.cuda.matmul.fp32_precision  # noqa: E731


def check_precision(precision: object, dtype: torch.dtype) -> None:
    """Refuses what float32 inputs cannot be multiplied as; other inputs have nothing to choose.

    Raises:
        OptionError: not a precision.
        PrecisionError: exact float32 products, which no kernel computes.
    """
    if precision not in PRECISIONS:
        raise OptionError(sentence("unknown precision", got=repr(precision), expected="None, 'tf32' or 'fp32'"))
    if dtype != torch.float32 or precision == "tf32" or (precision is None and switch() == "tf32"):
        return
    asked = f"precision={precision!r}" if precision else f"torch.backends.cuda.matmul.fp32_precision = {switch()!r}"
    raise PrecisionError(
        sentence(
            "float32 inputs are multiplied in tf32 (10 mantissa bits), which was not allowed",
            got=f"float32 inputs with {asked}",
            expected="precision='tf32', torch.backends.cuda.matmul.fp32_precision = 'tf32' "
            "or torch.backends.cuda.matmul.allow_tf32 = True",
            fix="allow it in one of these ways, or convert the inputs to bfloat16 or float16",
        )
    )
