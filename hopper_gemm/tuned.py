"""Tables of which kernel was measured to be the fastest for which problem. `matmul` asks them before the model.

The user's, which `tune` fills: one JSON file for each GPU and build in the user's cache folder. A file that is damaged, or of
another build or GPU, counts as empty. And the one that ships with the library, measured.json: layers of known models and shapes
of the suites on one GPU, by benchmarks/measure_choices.py.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _extension, cache
from ._version import __version__
from .cost import Card
from .problem import Problem
from .selector import Prediction
from .walk import ORDERS, Walk

FORMAT = 1
_ESTIMATES = ("hbm_bytes",)  # fields of a walk that are no options


class TableWarning(UserWarning):
    """A tuned table that cannot be read or written."""


@dataclass(frozen=True)
class Choice:
    """What was measured for one problem. Times in microseconds, under sustained load."""

    kernel: str
    walk: Mapping[str, Any]
    us: float
    model_kernel: str  # what the model would have run, in the same rounds
    model_us: float
    measured: Mapping[str, float]  # the best time of every kernel that took part
    date: str
    shipped: bool = False  # by the library, not by this user

    @property
    def is_the_models(self) -> bool:
        """Whether the model was right (another walk of its kernel is another choice)."""
        return self.kernel == self.model_kernel and self.us == self.model_us

    @property
    def reason(self) -> str:
        text = f"{'in the shipped table' if self.shipped else 'tuned'}, {self.date}: {self.us:.2f} us measured"
        return text if self.is_the_models else f"{text}, {self.model_us:.2f} us for the model's choice then, {self.model_kernel}"

    def applied_to(self, prediction: Prediction) -> Prediction | None:
        """The prediction with the tuned walk; None if the table names no such walk."""
        options = options_of(prediction.walk)
        if set(options) != set(self.walk) or any(type(options[name]) is not type(self.walk[name]) for name in options):
            return None
        if self.walk["raster"] not in ORDERS or any(v < 1 for v in self.walk.values() if isinstance(v, int)):
            return None
        return dataclasses.replace(prediction, walk=dataclasses.replace(prediction.walk, **self.walk))


def options_of(walk: Walk) -> dict[str, Any]:
    """The fields of a walk that say how to launch."""
    return {f.name: getattr(walk, f.name) for f in dataclasses.fields(walk) if f.name not in _ESTIMATES}


def key_of(problem: Problem, schedule: str) -> str:
    """Everything the choice depends on, as text."""
    values = (getattr(problem, f.name) for f in dataclasses.fields(problem))
    return " ".join([schedule, *("/".join(v) if isinstance(v, tuple) and v and isinstance(v[0], str) else str(v) for v in values)])


@dataclass
class Table:
    """The choices for one GPU and build, and the file they are kept in."""

    card: Card
    path: Path | None  # None: there is no place for one
    choices: dict[str, Choice] = field(default_factory=dict)
    _stamp: tuple[int, ...] | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What has to agree for the times to mean anything."""
        sources = str(_extension.load().build_info()["sources_sha"])
        return {
            "format": FORMAT,
            "library": __version__,
            "sources": sources,
            "gpu": self.card.name,
            "sm_count": self.card.sm_count,
        }

    def refresh(self) -> None:
        """Reads the file if it is another than the one read last."""
        if self.path is None:
            return
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            return  # no table yet: what this process measured still counts
        if stamp != self._stamp:
            self._stamp = stamp
            self.choices |= self._read()

    def record(self, found: Mapping[str, Choice]) -> None:
        """Adds choices, here and in the file, beside those that other processes have written meanwhile."""
        self.choices |= found
        if self.path is None:
            return
        try:
            with cache.locked(self.path):
                self.choices = {**self.choices, **self._read(), **found}
                cache.replace_text(self.path, self._text())
        except OSError as error:
            warnings.warn(f"the tuned table counts for this process only: {error}", TableWarning, stacklevel=3)

    def _text(self) -> str:
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(dataclasses.asdict(c))}" for key, c in sorted(self.choices.items()))
        return json.dumps(self.identity, indent=1)[:-2] + ',\n "choices": {\n' + lines + "\n }\n}\n"

    def _read(self) -> dict[str, Choice]:
        assert self.path is not None
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            if {name: found.get(name) for name in self.identity} != self.identity:
                return {}
            return {str(key): _choice(fields) for key, fields in found["choices"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            warnings.warn(
                f"the tuned table {self.path} cannot be read ({type(error).__name__}: {error}); the model chooses, and "
                "hopper_gemm.tune writes a new one",
                TableWarning,
                stacklevel=2,
            )
            return {}


def _choice(fields: Mapping[str, Any]) -> Choice:
    """Raises KeyError, TypeError or ValueError if these are not the fields of one."""
    return Choice(
        kernel=str(fields["kernel"]),
        walk=dict(fields["walk"]),
        us=float(fields["us"]),
        model_kernel=str(fields["model_kernel"]),
        model_us=float(fields["model_us"]),
        measured={str(name): float(us) for name, us in fields["measured"].items()},
        date=str(fields["date"]),
        shipped=bool(fields.get("shipped", False)),
    )


MEASURED = Path(__file__).with_name("measured.json")


@functools.cache
def _shipped() -> tuple[str, int, dict[str, Choice]]:
    """The GPU of the shipped table, its SMs, and the choices."""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    choices = {}
    for key, fields in found["choices"].items():
        measured = {fields["model_kernel"]: fields["model_us"], fields["kernel"]: fields["us"]}
        choices[key] = _choice({**fields, "measured": measured, "shipped": True})
    return str(found["gpu"]), int(found["sm_count"]), choices


def shipped_choices(card: Card) -> Mapping[str, Choice]:
    """The choices that ship with the library, if they were measured on a GPU like this one."""
    gpu, sm_count, choices = _shipped()
    name = card.name.partition(" (")[0]  # a card that is assumed says so behind its name
    return choices if name == gpu and card.sm_count == sm_count else {}


_tables: dict[tuple[str, int, Path | None], Table] = {}


def table_of(card: Card) -> Table:
    """The table of a GPU as it stands in the cache folder now."""
    path: Path | None = None
    try:
        path = cache.folder() / _file_name(card)
    except OSError:
        pass
    table = _tables.setdefault((card.name, card.sm_count, path), Table(card, path))
    table.refresh()
    return table


def _file_name(card: Card) -> str:
    sources = str(_extension.load().build_info()["sources_sha"])
    gpu = re.sub(r"[^a-z0-9]+", "-", card.name.lower()).strip("-")
    return f"tuned-{gpu}-{card.sm_count}sm-{__version__}-{sources}.json"


def put_first(choice: Choice | None, ranked: Sequence[Prediction]) -> tuple[list[Prediction], Choice | None]:
    """The ranking with the tuned kernel at its head, and the choice if it applies."""
    for prediction in ranked if choice else ():
        if prediction.kernel.name == choice.kernel and (tuned := choice.applied_to(prediction)):  # type: ignore[union-attr]
            return [tuned, *(p for p in ranked if p is not prediction)], choice
    return list(ranked), None
