"""What to measure: suites of shapes in data files, and shapes given by hand.

A suite is a JSON file in suites/: {"about": text, "shapes": [[m, n, k], ...], "layouts": [...], "dtypes": [...]}.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import OptionError, did_you_mean, sentence

LAYOUTS = ("tn", "tt", "nn", "nt")
DTYPES = ("bf16", "fp16")
_FOLDER = Path(__file__).with_name("suites")


@dataclass(frozen=True)
class Case:
    """One problem of a benchmark. Layout letters: A (t: K-major), B (n: K-major)."""

    m: int
    n: int
    k: int
    dtype: str = "bf16"
    layout: str = "tn"

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


def parse_shapes(text: str) -> list[tuple[int, int, int]]:
    """Shapes from "4096x4096x4096,8192" (a single number is a cube).

    Raises:
        OptionError: not such a list.
    """
    shapes = []
    for word in text.replace(";", ",").split(","):
        parts = word.strip().lower().split("x")
        if not all(part.isdigit() and int(part) > 0 for part in parts) or len(parts) not in (1, 3):
            raise OptionError(sentence("not a shape", got=repr(word), expected="MxNxK, or one number for a cube"))
        numbers = [int(part) for part in parts] * (3 // len(parts))
        shapes.append((numbers[0], numbers[1], numbers[2]))
    return shapes
