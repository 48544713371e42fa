"""hopper_gemm: hand-written Hopper (sm_90a) matrix multiplication for PyTorch.

>>> c = hopper_gemm.matmul(a, b)                        # a kernel chosen by shape
>>> c = hopper_gemm.matmul(a, b, schedule="pingpong")   # a schedule chosen by name
>>> print(hopper_gemm.explain(a, b))                    # which kernel, and why
"""

from . import errors, functional, nn, torch_ops  # noqa: F401
from ._version import __version__
from .check import CheckReport, check
from .config import Config
from .device import is_available, unavailable_reason
from .emulation import Emulator, EmulatorWarning, emulator
from .errors import HopperGemmError
from .explanation import Explanation, explain
from .ops import matmul
from .packing import prepack
from .planned import PlannedProduct, plan
from .products import addmm, baddbmm, bmm, linear, scaled_matmul
from .patching import PatchReport, patch
from .registry import Kernel, kernels
from .routing import route
from .schedule import Schedule
from .timeline import Timeline, timeline
from .tuner import Tuning, tune

__all__ = [
    "CheckReport",
    "Config",
    "Emulator",
    "EmulatorWarning",
    "Explanation",
    "HopperGemmError",
    "Kernel",
    "PatchReport",
    "PlannedProduct",
    "Schedule",
    "Timeline",
    "Tuning",
    "__version__",
    "addmm",
    "baddbmm",
    "bmm",
    "check",
    "emulator",
    "errors",
    "explain",
    "functional",
    "is_available",
    "kernels",
    "linear",
    "matmul",
    "nn",
    "patch",
    "plan",
    "prepack",
    "route",
    "scaled_matmul",
    "timeline",
    "tune",
    "unavailable_reason",
]
