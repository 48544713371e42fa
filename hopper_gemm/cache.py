"""Files that outlive a process: the user's cache folder, replacement in one step, one writer at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


def folder() -> Path:
    """HOPPER_GEMM_CACHE, or hopper_gemm in the user's cache folder (XDG_CACHE_HOME, ~/.cache).

    Raises:
        OSError: there is no home folder.
    """
    given = os.environ.get("HOPPER_GEMM_CACHE")
    try:
        if given:
            return Path(given).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "hopper_gemm"
    except RuntimeError as error:
        raise OSError(f"{error}: set HOPPER_GEMM_CACHE to a folder") from None


def replace_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process and thread at a time between reading a file and replacing it.

    Where the file system has no locks, two writers at once can lose an entry, not a file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as file:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, also by a process that dies
        yield
