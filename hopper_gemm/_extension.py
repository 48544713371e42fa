"""Loads the compiled extension `_C`, turning a failed import into a sentence."""

from __future__ import annotations

from types import ModuleType

from .errors import ExtensionError, sentence


def load() -> ModuleType:
    """The extension module.

    Raises:
        ExtensionError: it was never built, or was built for another torch or Python.
    """
    import torch  # before _C: it resolves _C's symbols

    try:
        from . import _C
    except ImportError as error:
        raise ExtensionError(_explain(error, torch.__version__)) from error
    return _C


def _explain(error: ImportError, torch_version: str) -> str:
    text = str(error)
    if "undefined symbol" in text and "11hopper_gemm" not in text:  # not one of our own: a half-finished build
        return sentence(
            "the compiled extension of hopper_gemm does not match the installed torch",
            got=f"torch {torch_version}: {text}",
            fix="rebuild it with: pip install --no-build-isolation .",
        )
    return sentence(
        "the compiled extension of hopper_gemm (hopper_gemm/_C) cannot be imported",
        got=text,
        expected="a built package",
        fix="install it with: pip install --no-build-isolation . (Python started in the source folder imports that "
        "folder instead of the installed package: use an editable install or another folder)",
    )
