"""Guard bands: an output inside a larger poisoned buffer, nothing of which may change."""

from __future__ import annotations

import torch

_POISON = 0x35  # of every byte
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


class Guarded:
    """`view` is the output; `damage()` says whether anything around it was written.

    Args:
        aligned: the pitch and start are whole 16 bytes (TMA can store it); otherwise the pitch is odd where it may be.
        column_major: the view's columns are contiguous.
    """

    def __init__(
        self, m: int, n: int, dtype: torch.dtype, device: str, *, aligned: bool = True, column_major: bool = False
    ) -> None:
        rows, columns = (n, m) if column_major else (m, n)
        pitch = (columns + 15) // 16 * 16 + 16 if aligned else columns + 9 + columns % 2
        first = 16 // min(dtype.itemsize, 2) if aligned else 3
        window = (slice(2, rows + 2), slice(first, first + columns))
        bytes_ = torch.full((rows + 4, pitch * dtype.itemsize), _POISON, dtype=torch.uint8, device=device)
        self.buffer = bytes_.view(dtype)
        self.view = self.buffer[window].t() if column_major else self.buffer[window]
        self._bits = bytes_.view(_INTEGERS[dtype.itemsize])
        self._poison = self._bits.flatten()[0].clone() if bytes_.numel() else 0
        self._inside = torch.zeros(self._bits.shape, dtype=torch.bool, device=device)
        self._inside[window] = True
        self.view.fill_(float("nan") if dtype.is_floating_point else -1)

    def damage(self) -> str:
        """Empty if everything around the output is as it was."""
        changed = (self._bits != self._poison) & ~self._inside
        if not changed.any():
            return ""
        row, column = (int(i) for i in changed.nonzero()[0])
        return f"{int(changed.sum())} elements outside out were written, first at buffer [{row}, {column}]"
