"""Prints the path of an nvcc made of pip's CUDA 13 wheels, or nothing.

The wheels keep libraries in `lib` and lack an unversioned libcudart.so; nvcc and CMake want `lib64`. A folder of links
in the build tree gives them that. nvcc does not resolve its own link, so it finds everything beside it.
"""

import importlib.util
import sys
from pathlib import Path


def wheel_root():
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec else ():
        root = Path(place) / "cu13"
        if (root / "bin" / "nvcc").exists():
            return root
    return None


def link(target, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        path.unlink()
    path.symlink_to(target)


def main(shim):
    root = wheel_root()
    if root is None:
        return
    for tool in (root / "bin").iterdir():
        link(tool, shim / "bin" / tool.name)
    for folder in ("nvvm", "include"):
        link(root / folder, shim / folder)
    for library in (root / "lib").iterdir():
        link(library, shim / "lib64" / library.name)
        if library.name.startswith("libcudart.so."):
            link(library, shim / "lib64" / "libcudart.so")
    print(shim / "bin" / "nvcc")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
