"""Columns of text that keep their width on any terminal and in a pipe."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two spaces apart; numbers (cells of digits, and their header) to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [all(row[i].replace(".", "").isdigit() or row[i] == "-" for row in rows) for i in range(len(header))]
    lines = []
    for row in cells:
        aligned = (c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric))
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)
