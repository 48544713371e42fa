"""Typed errors. Each is also one of Python's own kinds, as torch raises them, and says got / expected / what to do.

All of them are raised before anything is launched or written.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HopperGemmError(Exception):
    """Base of every error this package raises on its own account."""


class ShapeError(HopperGemmError, ValueError):
    """Sizes that do not fit together, or numbers where matrices are meant."""


class OverlapError(HopperGemmError, ValueError):
    """`out` shares memory with an input, or with itself."""


class DTypeError(HopperGemmError, TypeError):
    """Element types without a kernel, or that do not go together."""


class ArgumentError(HopperGemmError, TypeError):
    """An argument of the wrong type, or a keyword that does not exist."""


class OptionError(HopperGemmError, ValueError):
    """A keyword with a value it does not take."""


class ScheduleError(OptionError):
    """A schedule name that does not exist."""


class ConfigError(OptionError):
    """A config that is impossible, or possible but not in this build."""


class DeviceError(HopperGemmError, RuntimeError):
    """Tensors on a device, or on two devices, that cannot be used."""


class CaptureError(HopperGemmError, RuntimeError):
    """Something that cannot be done while a CUDA graph is being captured."""


class UnsupportedProblemError(HopperGemmError, NotImplementedError):
    """A schedule or config that exists but cannot run this problem."""


class AutogradError(HopperGemmError, NotImplementedError):
    """A derivative that does not exist: of a product written to out=, or of a dtype without one."""


class ExtensionError(HopperGemmError, ImportError):
    """The compiled extension is missing or was built for another torch."""


def sentence(what: str, *, got: str = "", expected: str = "", fix: str = "") -> str:
    """One error text: what is wrong, then got / expected / what to do, each only if given."""
    parts = [what.rstrip(".") + "."]
    if got:
        parts.append(f"Got {got.rstrip('.')}.")
    if expected:
        parts.append(f"Expected {expected.rstrip('.')}.")
    if fix:
        ending = "" if fix.endswith("?") else "."
        parts.append(f"{fix[0].upper()}{fix[1:].rstrip('.')}{ending}")
    return " ".join(parts)


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` known names that look like `name`, best first: none that is much less like it than the best."""
    word = name.strip().lower()
    lowered = {k.lower(): k for k in known}
    close = difflib.get_close_matches(word, lowered, n=count, cutoff=0.5)
    likeness = [difflib.SequenceMatcher(None, k, word).ratio() for k in close]
    return [lowered[k] for k, ratio in zip(close, likeness) if ratio > likeness[0] - 0.3]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'did you mean ...?', or an empty string if nothing is near."""
    close = nearest(name, known)
    return f"did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
