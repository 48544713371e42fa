"""What the commands print with: one console, and tables that keep their width in a pipe and on a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

console = Console(highlight=False, soft_wrap=True)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], to: Console = console) -> None:
    """Columns two spaces apart; numbers (cells of digits or "-") and their header to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, name in enumerate(header):
        numeric = all(row[i].replace(".", "").isdigit() or row[i] == "-" for row in rows)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    wide = Console(file=to.file, force_terminal=to.is_terminal, width=10_000)  # a console cuts at its width, whatever is asked
    wide.width = Measurement.get(wide, wide.options, table).maximum
    wide.print(table)
