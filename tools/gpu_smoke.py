"""One small product through every kernel on the GPU, checked and synchronised one at a time; also run under the sanitizer.

A wrong result or an error names the kernel; with the build option HG_WATCHDOG a hang names the wait. Small on purpose:
ragged edges, several tiles and K steps, seconds in all.
"""

import argparse
import fnmatch
import sys

import torch

from hopper_gemm import _C
from hopper_gemm.problem import INPUT_NAMES

SHAPES = ((200, 136, 72), (1, 8, 8), (300, 520, 200))


DTYPES = {name: dtype for dtype, name in INPUT_NAMES.items()}
OUTPUTS = {"bf16": (torch.bfloat16, torch.float32), "f16": (torch.float16,), "s8": (torch.int32,), "u8": (torch.int32,)}


def operands(record, m, n, k):
    """a (M, K) and b (K, N), small integers, each stored as the kernel reads it (padded to the 16-byte rule)."""

    def stored(rows, columns, dtype):
        low = 0 if dtype == torch.uint8 else -2
        return torch.randint(low, low + 5, (rows, (columns + 15) // 16 * 16), device="cuda").to(dtype)[:, :columns]

    sides = [(record["a_major"], DTYPES[record["a_type"]]), (record["b_major"], DTYPES[record["b_type"]])]
    (a_major, a_dtype), (b_major, b_dtype) = sides[::-1] if record["output"] == "column_major" else sides
    a = stored(m, k, a_dtype) if a_major == "k" else stored(k, m, a_dtype).t()
    b = stored(n, k, b_dtype).t() if b_major == "k" else stored(k, n, b_dtype)
    return a, b


def check(record, shape, out_dtype):
    """An error text, or ''. The output lies in a padded buffer whose margin must stay untouched."""
    m, n, k = shape
    a, b = operands(record, m, n, k)
    buffer = torch.full((m + 2, (n + 31) // 16 * 16), 7, device="cuda", dtype=out_dtype)
    out = buffer[1 : m + 1, :n]
    exchanged = record["output"] == "column_major"  # such a kernel computes out.t() = b.t() @ a.t()
    _C.gemm(record["id"], a, b, out, exchanged=exchanged)
    torch.cuda.synchronize()
    expected = (a.double() @ b.double()).to(out_dtype)
    if not torch.equal(out.double(), expected.double()):
        return f"wrong at {int((out.double() != expected.double()).sum())} of {m * n} elements"
    buffer[1 : m + 1, :n] = 7
    return "" if bool((buffer.float() == 7).all()) else "wrote outside out"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default="*", help="glob of kernel names")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the shapes")
    parser.add_argument("--one-per-schedule", action="store_true", help="the first kernel of each schedule only")
    options = parser.parse_args()
    torch.manual_seed(0)
    failed = count = 0
    seen = set()
    for record in _C.kernels():
        if not record["compiled"] or not fnmatch.fnmatchcase(record["name"], options.kernels):
            continue
        if options.one_per_schedule and record["schedule"] in seen:
            continue
        seen.add(record["schedule"])
        for shape in SHAPES[: options.shapes]:
            for out_dtype in OUTPUTS.get(record["a_type"], (torch.bfloat16, torch.float32, torch.float8_e5m2)):
                count += 1
                try:
                    text = check(record, shape, out_dtype)
                except RuntimeError as error:  # sticky: nothing more can run in this process
                    print(f"FAILED {record['name']} {shape} {out_dtype}: {error} {_C.watchdog_report()}", flush=True)
                    return 1
                if text:
                    failed += 1
                    print(f"FAILED {record['name']} {shape} {out_dtype}: {text}", flush=True)
    print(f"gpu_smoke: {count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
