"""The options by which bench and tune are told what to measure, and the cases they stand for."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bench.suites import DTYPES, Case, cases_of, load_model_layers, load_suite, model_names, parse_extents, parse_shapes, suite_names
from ..errors import OptionError, sentence

WHAT = "What to measure (one of --suite, --shapes, --model)"
RANGES = "an extent can be a range: 512:8192 (doubling), 1024:4096:512, 1:64:*4"

Suite = Annotated[str | None, typer.Option(help=f"A list of shapes: {', '.join(suite_names())}. \\[default: smoke]", rich_help_panel=WHAT)]
Shapes = Annotated[str | None, typer.Option(help=f"MxNxK,... or one number for a cube; {RANGES}.", rich_help_panel=WHAT)]
Model = Annotated[str | None, typer.Option(help=f"The layers of {', '.join(model_names())}.", rich_help_panel=WHAT)]
Tokens = Annotated[str, typer.Option(help="With --model: the values of M; ranges as in --shapes.", rich_help_panel=WHAT)]
Layouts = Annotated[str | None, typer.Option(help="Of tn, tt, nn, nt, separated by commas.", rich_help_panel=WHAT)]
Dtypes = Annotated[str | None, typer.Option(help=f"Of {', '.join(DTYPES)}, separated by commas.", rich_help_panel=WHAT)]
TOKENS = "1,16,128,4096"


def words(text: str | None) -> list[str] | None:
    """What commas separate; None if nothing was given."""
    return [word.strip() for word in text.split(",")] if text else None


def cases_asked_for(
    suite: str | None, shapes: str | None, model: str | None, tokens: str, layouts: str | None, dtypes: str | None
) -> list[Case]:
    """The cases of the one list that was named; of the suite smoke if none was.

    Raises:
        OptionError: two lists, or a name or shape that does not exist.
    """
    given = [name for name, value in (("--suite", suite), ("--shapes", shapes), ("--model", model)) if value]
    if len(given) > 1:
        raise OptionError(sentence("more than one list of shapes", got=" and ".join(given), expected="one of them"))
    if shapes:
        return cases_of(parse_shapes(shapes), words(layouts) or ["tn"], words(dtypes) or ["bf16"])
    if model:
        counts = [count for word in tokens.split(",") for count in parse_extents(word)]
        return load_model_layers(model, counts, words(layouts), words(dtypes))
    return load_suite(suite or "smoke", words(layouts), words(dtypes))
