"""Where and from what a result was measured: GPU, power limit, versions, commit, a hash of the sources."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from .. import _extension

_ROOT = Path(__file__).resolve().parents[2]


def environment(mode: str) -> dict[str, Any]:
    """The head of a result file."""
    power, clock = smi("power.limit", "clocks.current.sm")
    return {
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "power_limit_w": _number(power),
        "sm_clock_mhz": _number(clock),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "commit": commit(),
        "sources_sha": sources_sha(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": command(),
        "mode": mode,
    }


def command() -> str:
    """The command line, with programs of this repository by their path in it and other absolute paths by their name."""
    program = Path(sys.argv[0] or "-c")
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    if program.name == "__main__.py":
        return " ".join(["python -m hopper_gemm", *words])
    inside = program.resolve().is_relative_to(_ROOT)
    return " ".join(["python", str(program.resolve().relative_to(_ROOT) if inside else program.name), *words])


def sources_sha() -> str:
    """Hash of the sources that the kernels were built from, without the emulator (tools/sources_hash.py)."""
    return str(_extension.load().build_info()["sources_sha"])


def commit() -> str | None:
    """The commit checked out, with "+" if files differ from it; HOPPER_GEMM_COMMIT where there is no git."""
    given = os.environ.get("HOPPER_GEMM_COMMIT")
    if given:
        return given
    head = _run(["git", "-C", str(_ROOT), "rev-parse", "--short=12", "HEAD"])
    if not head:
        return None
    return head + ("+" if _run(["git", "-C", str(_ROOT), "status", "--porcelain", "--untracked-files=no"]) else "")


def smi(*fields: str) -> list[str | None]:
    """What nvidia-smi says about the first GPU, None where it says nothing."""
    text = _run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "--id=0"])
    words: list[str | None] = [word.strip() or None for word in (text or "").split(",")]
    return (words + [None] * len(fields))[: len(fields)]


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _run(command: list[str]) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
