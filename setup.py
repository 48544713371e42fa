"""Builds the package: CMake makes the kernels library and the torch extension, this puts them into place.

Environment: HG_CMAKE_ARGS (more arguments for CMake), HG_BUILD_DIR, HOPPER_GEMM_KERNELS, HOPPER_GEMM_MANIFESTS (what to
build, see hopper_gemm/manifest.py), MAX_JOBS.
"""

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


def tool(name):
    """cmake or ninja: pip's wheel by path (PATH may find an older one first), else PATH."""
    try:
        if name == "cmake":
            import cmake

            return os.path.join(cmake.CMAKE_BIN_DIR, "cmake")
        import ninja

        return os.path.join(ninja.BIN_DIR, "ninja")
    except ImportError:
        found = shutil.which(name)
        if found is None:
            sys.exit(f"{name} was not found: pip install {name}, or put it on PATH (cmake 3.26 or later)")
        return found


def torch_version():
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def requirements():
    """An extension works with the minor version of torch it was built against; a looser bound would let pip install
    `.` beside the newest torch, which could not load it. Without torch (an sdist) only the range is known."""
    built = torch_version()
    return ["torch>=2.10" if built is None else f"torch=={'.'.join(built.split('.')[:2])}.*", "typer>=0.12", "rich>=13"]


def build_folder():
    """One fixed folder per Python and torch, so that an editable install does not compile everything again."""
    built = torch_version()
    if built is None:
        sys.exit(f"{sys.executable} has no torch: install it first (pip install torch==2.13.0), then build without isolation")
    return Path(os.environ.get("HG_BUILD_DIR", ROOT / "build" / f"{sys.implementation.cache_tag}-torch{built}"))


class CMakeBuild(build_ext):
    def run(self):
        self.into_source = self.inplace or self.editable_mode  # setuptools resets `inplace` while it builds
        super().run()

    def build_extension(self, ext):
        folder = build_folder()
        arguments = [
            f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DHG_PYTHON=ON",
            f"-DHG_INPLACE={'ON' if self.into_source else 'OFF'}",
            f"-DHG_KERNELS={os.environ.get('HOPPER_GEMM_KERNELS', '')}",
            f"-DHG_MANIFESTS={os.environ.get('HOPPER_GEMM_MANIFESTS', '')}",
            *shlex.split(os.environ.get("HG_CMAKE_ARGS", "")),
        ]
        cmake = tool("cmake")
        jobs = [f"-j{os.environ['MAX_JOBS']}"] if "MAX_JOBS" in os.environ else []
        subprocess.run([cmake, "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *arguments], check=True)
        subprocess.run([cmake, "--build", str(folder), *jobs], check=True)
        if not self.into_source:
            subprocess.run([cmake, "--install", str(folder), "--prefix", str(Path(self.build_lib).resolve())], check=True)

    def copy_extensions_to_source(self):
        pass  # CMake has installed into the source tree (HG_INPLACE)

    def get_outputs(self):
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(
    ext_modules=[Extension("hopper_gemm._C", sources=[])],
    install_requires=requirements(),
    cmdclass={"build_ext": CMakeBuild},
    distclass=BinaryDistribution,
)
