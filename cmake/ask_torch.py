"""Prints what CMake needs to know of torch, ;-separated: version, C++ ABI flag, library folder, include folders."""

import sys

try:
    import torch
    from torch.utils import cpp_extension
except ImportError as error:
    sys.exit(
        f"HG_PYTHON=ON but {sys.executable} cannot import torch ({error}): "
        "install torch there, or pass -DPython_EXECUTABLE=<a Python that has it>"
    )

includes = cpp_extension.include_paths()
print(
    ";".join(
        [torch.__version__, str(int(torch._C._GLIBCXX_USE_CXX11_ABI)), cpp_extension.library_paths()[0], *includes]
    )
)
