"""The command tune: fills the table of this GPU, shape by shape."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import console
from .shapes import TOKENS, Dtypes, Layouts, Model, Shapes, Suite, Tokens, cases_asked_for


def tune(
    suite: Suite = None,
    shapes: Shapes = None,
    model: Model = None,
    tokens: Tokens = TOKENS,
    layouts: Layouts = None,
    dtype: Dtypes = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="For each shape.")] = 4.0,
) -> None:
    """Time the kernels for some shapes and remember the fastest: matmul runs it from now on, on GPUs of this model."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ..device import card_of
    from ..tuned import table_of
    from ..tuner import tune_cases

    card = card_of(0)  # the refusal comes before the first line
    cases = cases_asked_for(suite, shapes, model, tokens, layouts, dtype)
    columns = (SpinnerColumn(), TextColumn("{task.completed}/{task.total} {task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        for found in tune_cases(cases, seconds=seconds, note=lambda text: progress.update(task, description=text)):
            progress.advance(task)
            progress.console.print(str(found), markup=False)
    table = table_of(card)
    console.print(f"{len(table.choices)} problems in {table.path}")
