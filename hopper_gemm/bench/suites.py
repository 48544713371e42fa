"""What to measure: suites of shapes in data files, the layers of known models, and shapes given by hand.

A suite is a JSON file in suites/: {"about": text, "shapes": [[m, n, k], ...], "layouts": [...], "dtypes": [...]}.
A model is an entry of models.json: the (N, K) of its matrices, to be multiplied by some number of tokens M.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ..errors import OptionError, did_you_mean, sentence
from ..problem import Problem, read_problem
from .arithmetic import ARITHMETIC

LAYOUTS = ("tn", "tt", "nn", "nt")
DTYPES = tuple(ARITHMETIC)
_FOLDER = Path(__file__).with_name("suites")


@dataclass(frozen=True)
class Case:
    """One problem of a benchmark. Layout letters: A (t: K-major), B (n: K-major)."""

    m: int
    n: int
    k: int
    dtype: str = "bf16"
    layout: str = "tn"
    label: str = field(default="", compare=False)  # the layer of a model

    def problem(self) -> Problem:
        """As the selector sees it: of contiguous operands, with what has to be packed."""
        kind = ARITHMETIC[self.dtype]

        def operand(outer: int, k_major: bool) -> torch.Tensor:
            """(outer, K), without memory."""
            stored = (outer, self.k) if k_major else (self.k, outer)
            tensor = torch.empty(stored, dtype=kind.input, device="meta")
            return tensor if k_major else tensor.t()

        a, b = operand(self.m, self.layout[0] == "t"), operand(self.n, self.layout[1] == "n").t()
        fast = bool(kind.options.get("use_fast_accum", False))
        return read_problem(a, b, None, kind.output, None, precision=kind.options.get("precision"), fast_accum=fast)

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k} {self.dtype} {self.layout}"


def suite_names() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_suite(name: str, layouts: Sequence[str] | None = None, dtypes: Sequence[str] | None = None) -> list[Case]:
    """The cases of a suite, its layouts and dtypes replaced by the given ones.

    Raises:
        OptionError: no such suite, layout or dtype.
    """
    if name not in suite_names():
        raise OptionError(
            sentence(
                f"unknown suite {name!r}",
                expected=f"one of {', '.join(suite_names())}",
                fix=did_you_mean(name, suite_names()),
            )
        )
    suite = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return cases_of([tuple(shape) for shape in suite["shapes"]], layouts or suite["layouts"], dtypes or suite["dtypes"])


def cases_of(shapes: Sequence[tuple[int, ...]], layouts: Sequence[str], dtypes: Sequence[str]) -> list[Case]:
    """All combinations, layout by layout within a shape."""
    for what, given, known in (("layout", layouts, LAYOUTS), ("dtype", dtypes, DTYPES)):
        for value in given:
            if value not in known:
                raise OptionError(sentence(f"unknown {what} {value!r}", expected=f"one of {', '.join(known)}"))
    return [Case(m, n, k, dtype, layout) for dtype in dtypes for m, n, k in shapes for layout in layouts]


def model_names() -> list[str]:
    return sorted(_models())


def load_model_layers(
    name: str, tokens: Sequence[int], layouts: Sequence[str] | None = None, dtypes: Sequence[str] | None = None
) -> list[Case]:
    """The products of a model's layers for some numbers of tokens (rows of A).

    Raises:
        OptionError: no such model, layout or dtype.
    """
    known = _models()
    if name not in known:
        raise OptionError(
            sentence(f"unknown model {name!r}", expected=f"one of {', '.join(sorted(known))}", fix=did_you_mean(name, known))
        )
    layers = known[name]["layers"].items()
    return [
        replace(case, label=layer)
        for m, (layer, (n, k)) in itertools.product(tokens, layers)
        for case in cases_of([(m, n, k)], layouts or ["tn"], dtypes or ["bf16"])
    ]


def _models() -> dict[str, Any]:
    models: dict[str, Any] = json.loads(Path(__file__).with_name("models.json").read_text(encoding="utf-8"))
    return models


_EXTENT = re.compile(r"(\d+)(?::(\d+)(?::(\*?)(\d+))?)?")


def parse_extents(text: str) -> list[int]:
    """"4096", "1024:4096" (a doubling range), "1024:4096:512" (a step) or "1:4096:*4" (a factor), ends included.

    Raises:
        OptionError: not that.
    """
    match = _EXTENT.fullmatch(text.strip())
    first, last, times, by = match.groups() if match else ("0", None, None, None)
    low, high = int(first), int(last or first)
    multiplied = bool(times) or by is None
    step = int(by) if by else 2
    if not 0 < low <= high or step < (2 if multiplied else 1):
        raise OptionError(
            sentence("not a size or a range", got=repr(text), expected="a number, first:last, first:last:step or first:last:*factor")
        )
    values = [low]
    while (following := values[-1] * step if multiplied else values[-1] + step) <= high:
        values.append(following)
    return values


def parse_shapes(text: str) -> list[tuple[int, int, int]]:
    """Shapes from "4096x4096x4096,8192" (a single number is a cube); each extent can be a range.

    Raises:
        OptionError: not such a list.
    """
    shapes: list[tuple[int, int, int]] = []
    for word in text.replace(";", ",").split(","):
        parts = word.strip().lower().split("x")
        if len(parts) not in (1, 3):
            raise OptionError(sentence("not a shape", got=repr(word), expected="MxNxK, or one number for a cube"))
        try:
            ranges = [parse_extents(part) for part in parts]
        except OptionError as error:
            raise OptionError(f"not a shape: {word!r}. {error}") from None
        shapes += [(n, n, n) for n in ranges[0]] if len(parts) == 1 else list(itertools.product(*ranges))  # type: ignore[arg-type]
    return shapes
