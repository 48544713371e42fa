"""Guard bands: an output inside a larger poisoned buffer, nothing of which may change."""

from __future__ import annotations

import torch

_POISON = -7.0


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
        pitch = (columns + 7) // 8 * 8 + 16 if aligned else columns + 9 + columns % 2
        first = 8 if aligned else 3
        window = (slice(2, rows + 2), slice(first, first + columns))
        self.buffer = torch.full((rows + 4, pitch), _POISON, dtype=dtype, device=device)
        self.view = self.buffer[window].t() if column_major else self.buffer[window]
        self._inside = torch.zeros_like(self.buffer, dtype=torch.bool)
        self._inside[window] = True
        self.view.fill_(float("nan"))

    def damage(self) -> str:
        """Empty if everything around the output is as it was."""
        changed = (self.buffer != _POISON) & ~self._inside
        if not changed.any():
            return ""
        row, column = (int(i) for i in changed.nonzero()[0])
        return f"{int(changed.sum())} elements outside out were written, first at buffer [{row}, {column}]"
