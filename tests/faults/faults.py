"""Builds the world (world.cpp) over a patched copy of the sources and reads what it prints.

A fault is a patch file in `patches/` or `outside/`: a diff against include/ and csrc/dispatch/ below three header lines
(what follows them, up to the diff, is for the reader):

    fault: what is wrong, in words
    kernels: names of world.h
    finds: kinds of findings (csrc/emulator/finding.h), any of which is the right name
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "faults"
DISPATCH = ("epilogue.cpp", "epilogue.h", "operands.cpp", "operands.h", "pack_job.cpp", "pack.h", "plan.h", "problem_error.h", "text.h")
COPIED = ("include", *(f"csrc/dispatch/{name}" for name in DISPATCH))
HARNESS_SOURCES = ("operands.cpp", "epilogue.cpp", "pack_job.cpp")
FLAGS = ["-std=c++20", "-fno-strict-aliasing", "-DHG_EMULATE"]
CXX = os.environ.get("CXX", "g++")


@dataclass(frozen=True)
class Fault:
    name: str
    title: str
    kernels: tuple[str, ...]
    finds: frozenset[str]
    patch: Path


@dataclass
class Run:
    kernel: str
    seed: int
    shape: str
    findings: list[str] = field(default_factory=list)

    def kinds(self) -> set[str]:
        return {finding.split(":", 1)[0] for finding in self.findings}


def faults() -> list[Fault]:
    found = []
    for path in [*sorted(HERE.glob("patches/*.patch")), *sorted(HERE.glob("outside/*.patch"))]:
        header = dict(line.split(": ", 1) for line in path.read_text().splitlines()[:3])
        kernels, finds = header["kernels"].split(), frozenset(header["finds"].split())
        name = path.stem if path.parent.name == "patches" else f"outside/{path.stem}"
        found.append(Fault(name, header["fault"], tuple(kernels), finds, path))
    return found


class BuildError(Exception):
    """The patch does not apply, or what it makes does not compile."""


def command(*words: object, cwd: Path = ROOT) -> None:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{words[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def emulator_objects() -> list[Path]:
    """The emulator of the unpatched sources, compiled once."""
    BUILD.mkdir(parents=True, exist_ok=True)
    sources = sorted((ROOT / "csrc" / "emulator").glob("*.cpp"))
    headers = [*(ROOT / "csrc" / "emulator").glob("*.h"), *(ROOT / "include").rglob("*.h")]
    newest = max(path.stat().st_mtime for path in headers)
    objects = []
    waiting = []
    for source in sources:
        target = BUILD / (source.stem + ".o")
        objects.append(target)
        if not target.exists() or target.stat().st_mtime < max(newest, source.stat().st_mtime):
            words = [CXX, *FLAGS, "-O2", "-Iinclude", "-Icsrc/emulator", "-c", source, "-o", target]
            waiting.append(subprocess.Popen([str(word) for word in words], cwd=ROOT))
        if len(waiting) == 2:
            finish(waiting)
    finish(waiting)
    return objects


def finish(waiting: list[subprocess.Popen[bytes]]) -> None:
    for process in waiting:
        if process.wait() != 0:
            raise BuildError("the emulator does not compile")
    waiting.clear()


def harness_objects() -> list[Path]:
    """world.cpp and the launch arithmetic of the unpatched sources, compiled once."""
    targets = []
    for source in (HERE / "world.cpp", *(ROOT / "csrc" / "dispatch" / name for name in HARNESS_SOURCES)):
        target = BUILD / ("harness_" + source.stem + ".o")
        targets.append(target)
        inputs = [source, HERE / "world.h", *(ROOT / "csrc" / "dispatch").glob("*.h"), *(ROOT / "csrc" / "emulator").glob("*.h")]
        newest = max(path.stat().st_mtime for path in [*inputs, *(ROOT / "include").rglob("*.h")])
        if not target.exists() or target.stat().st_mtime < newest:
            command(CXX, *FLAGS, "-O1", "-Iinclude", "-Icsrc/emulator", "-Icsrc/dispatch", "-c", source, "-o", target)
    return targets


def all_objects() -> list[Path]:
    return [*emulator_objects(), *harness_objects()]


def build(folder: Path, objects: list[Path], patch: Path | None, kernels: tuple[str, ...] | None) -> Path:
    """The world of a patched copy, in `folder`."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    if patch is not None:
        command("patch", "-p1", "-s", "--no-backup-if-mismatch", "-i", patch.resolve(), cwd=folder)
    wanted = ",".join(kernels) if kernels else "*"
    include = [f"-I{folder}/include", "-Icsrc/emulator", f"-I{folder}/csrc/dispatch"]
    # world.cpp names the dispatch headers by path: a copy of it beside the patched ones finds those.
    tests = folder / "tests" / "faults"
    tests.mkdir(parents=True)
    for name in ("world.h", "world.cpp", "world_kernels.cpp"):
        shutil.copy(HERE / name, tests / name)
    (folder / "csrc" / "emulator").symlink_to(ROOT / "csrc" / "emulator")
    table = folder / "world_kernels.o"
    command(CXX, *FLAGS, "-O1", *include, f'-DHG_WORLD_KERNELS="{wanted}"', "-c", tests / "world_kernels.cpp", "-o", table)
    # A patch of what the launch arithmetic is made of needs its own harness.
    shared = [path for path in objects if path.name.startswith("harness_")]
    if patch is not None and any(part in patch.read_text() for part in ("/hopper_gemm/core/", "/csrc/")):
        shared = []
        for source in (tests / "world.cpp", *(folder / "csrc" / "dispatch" / name for name in HARNESS_SOURCES)):
            shared.append(folder / (source.stem + ".o"))
            command(CXX, *FLAGS, "-O0", *include, "-c", source, "-o", shared[-1])
    emulator = [path for path in objects if not path.name.startswith("harness_")]
    command(CXX, table, *shared, *emulator, "-o", folder / "world")
    return folder / "world"


def runs(world: Path, *arguments: object, timeout: float = 900) -> list[Run]:
    """Runs the world. A crash is a finding too: the fault led out of the emulated memory."""
    try:
        done = subprocess.run([str(world), *(str(word) for word in arguments)], capture_output=True, text=True, timeout=timeout)
        text, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        text, status = (expired.stdout or b"").decode(), -1
    found: list[Run] = []
    for line in text.splitlines():
        if line.startswith("run "):
            _, kernel, seed, shape = line.split()
            found.append(Run(kernel, int(seed), shape))
        elif line.startswith("  "):
            found[-1].findings.append(line.strip())
    if status != 0 and found:
        found[-1].findings.append("crash: the program died or did not end")
    return found


def patched(patch: Path | None, objects: list[Path], kernels: tuple[str, ...] | None, *arguments: object) -> list[Run]:
    with tempfile.TemporaryDirectory(prefix="hopper_gemm_fault_") as folder:
        return runs(build(Path(folder), objects, patch, kernels), *arguments)


def by_kernel(found: list[Run]) -> Iterator[tuple[str, list[Run]]]:
    for kernel in dict.fromkeys(run.kernel for run in found):
        yield kernel, [run for run in found if run.kernel == kernel]


if __name__ == "__main__":
    sys.exit("use must_fail.py or tools/try_fault.sh")
