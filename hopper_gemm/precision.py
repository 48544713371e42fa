"""What float32 inputs are multiplied as: `precision=`, or torch's own switches if it is not given.

The tensor cores read float32 as tf32 (10 of 23 mantissa bits), rounded to nearest even on the way in. That is opt-in, as it
is in torch. Otherwise each number is packed as the sum of two tf32 numbers, and three of the four products of those are
summed (3xTF32): an error of the size of fp32's own, for three times the work and a pass over the operands.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .errors import OptionError, sentence

PRECISIONS = (None, "tf32", "fp32")

# "tf32", "ieee" or "none" (nothing was set: exact). `allow_tf32` and `set_float32_matmul_precision` set it too; reading
# `allow_tf32` instead raises once the new switch was used (torch 2.13).
switch: Callable[[], str] = lambda: torch.backends.cuda.matmul.fp32_precision  # noqa: E731


def is_exact(precision: object, dtype: torch.dtype) -> bool:
    """Whether float32 inputs keep all their bits (3xTF32) instead of being rounded to tf32.

    Raises:
        OptionError: not a precision.
    """
    if precision not in PRECISIONS:
        raise OptionError(sentence("unknown precision", got=repr(precision), expected="None, 'tf32' or 'fp32'"))
    return dtype == torch.float32 and precision != "tf32" and (precision == "fp32" or switch() != "tf32")
