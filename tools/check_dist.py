"""Looks into the archives of a folder (dist/): the source archive and the wheel hold what they must, and the wheel is not too big.

    python tools/check_dist.py dist [--most-mb 60]

Exit status 1 with a sentence for everything that is wrong.
"""

import argparse
import sys
import tarfile
import zipfile
from pathlib import Path

MOST_MB = 60
SDIST = (
    "CMakeLists.txt", "setup.py", "pyproject.toml", "LICENSE", "CITATION.cff", "README.md", "CHANGELOG.md",
    "hopper_gemm/manifest.py", "include/hopper_gemm.h", "csrc/instantiations/generate.py", "csrc/emulator/emulator.h",
    "csrc/bindings/module.cpp", "cmake/library.cmake", "tools/ptxas_gate.py", "examples/cpp_standalone.cpp", "docs/schedules.md",
)  # fmt: skip
WHEEL = (
    "hopper_gemm/lib/libhopper_gemm.so", "hopper_gemm/lib/cmake/hopper_gemm/hopper_gemm-config.cmake", "hopper_gemm/py.typed",
    "hopper_gemm/include/hopper_gemm.h", "hopper_gemm/include/hopper_gemm/kernel/gemm.h", "hopper_gemm/manifest.py",
    "hopper_gemm/model.json", "hopper_gemm/bench/models.json", "hopper_gemm/bench/suites/smoke.json", "hopper_gemm/cli/__init__.py",
)  # fmt: skip


def sdist_problems(path):
    with tarfile.open(path) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames() if "/" in name}
    problems = [f"{path.name} lacks {name}" for name in SDIST if name not in names]
    built = [n for n in names if n.endswith((".so", ".o", ".pyc")) or n.startswith(("build/", "hopper_gemm/lib/"))]
    return problems + [f"{path.name} holds {name}, which a build makes" for name in built]


def wheel_problems(path, most_mb=MOST_MB):
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = next((wheel.read(n).decode() for n in names if n.endswith(".dist-info/METADATA")), "")
        scripts = next((wheel.read(n).decode() for n in names if n.endswith("entry_points.txt")), "")
    problems = [f"{path.name} lacks {name}" for name in WHEEL if name not in names]
    if not any(n.startswith("hopper_gemm/_C.") and n.endswith(".so") for n in names):
        problems.append(f"{path.name} lacks the extension hopper_gemm/_C")
    for word in ("License-Expression: Apache-2.0", "Requires-Dist: torch==", "Requires-Dist: typer", "Requires-Dist: rich"):
        if word not in metadata:
            problems.append(f"{path.name}: its METADATA does not say {word!r}")
    if "hopper-gemm = hopper_gemm.__main__:main" not in scripts:
        problems.append(f"{path.name} installs no command hopper-gemm")
    size = path.stat().st_size / 1e6
    if size > most_mb:
        problems.append(f"{path.name} is {size:.0f} MB, at most {most_mb}: fewer kernels in the default manifest")
    return problems


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most-mb", type=float, default=MOST_MB)
    options = parser.parse_args(arguments)
    sdists, wheels = sorted(options.folder.glob("*.tar.gz")), sorted(options.folder.glob("*.whl"))
    problems = [p for path in sdists for p in sdist_problems(path)]
    problems += [p for path in wheels for p in wheel_problems(path, options.most_mb)]
    if not sdists and not wheels:
        problems.append(f"{options.folder} holds no archive: make one with `make dist`")
    for path in (*sdists, *wheels):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
