"""The command tune: fills the table of this GPU, shape by shape."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bench.suites import model_names, suite_names
from .measuring import WHAT, _cases, _words
from .output import console


def tune(
    suite: Annotated[str | None, typer.Option(help=f"A list of shapes: {', '.join(suite_names())}. \\[default: smoke]", rich_help_panel=WHAT)] = None,
    shapes: Annotated[str | None, typer.Option(help="MxNxK,...; ranges as in bench.", rich_help_panel=WHAT)] = None,
    model: Annotated[str | None, typer.Option(help=f"The layers of {', '.join(model_names())}.", rich_help_panel=WHAT)] = None,
    tokens: Annotated[str, typer.Option(help="With --model: the values of M; ranges as in --shapes.", rich_help_panel=WHAT)] = "1,16,128,4096",
    layouts: Annotated[str | None, typer.Option(help="Of tn, tt, nn, nt, separated by commas.", rich_help_panel=WHAT)] = None,
    dtype: Annotated[str | None, typer.Option(help="Of bf16, fp16, separated by commas.", rich_help_panel=WHAT)] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="For each shape.")] = 4.0,
) -> None:
    """Time the kernels for some shapes and remember the fastest: matmul runs it from now on, on GPUs of this model."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ..device import card_of
    from ..tuned import table_of
    from ..tuner import tune_cases

    card = card_of(0)  # the refusal comes before the first line
    cases = _cases(suite, shapes, model, tokens, _words(layouts), _words(dtype))
    columns = (SpinnerColumn(), TextColumn("{task.completed}/{task.total} {task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        for found in tune_cases(cases, seconds=seconds, note=lambda text: progress.update(task, description=text)):
            progress.advance(task)
            progress.console.print(str(found), markup=False)
    table = table_of(card)
    console.print(f"{len(table.choices)} problems in {table.path}")
