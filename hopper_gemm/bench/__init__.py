"""The benchmark: interleaved rounds against torch.mm, results as JSON. `python -m hopper_gemm bench` runs it."""

from .measure import Timing, time_interleaved
from .runner import BenchOptions, run_bench
from .suites import Case, load_suite, parse_shapes, suite_names

__all__ = [
    "BenchOptions",
    "Case",
    "Timing",
    "load_suite",
    "parse_shapes",
    "run_bench",
    "suite_names",
    "time_interleaved",
]
