"""Small products through every kernel on the GPU, checked and synchronised one at a time; also run under the sanitizer.

Each kernel alone, with K cut into slices and with every option of an epilogue; then what is packed and copied. A wrong result
or an error names the product; with the build option HG_WATCHDOG a hang names the wait. Small on purpose: ragged edges, several
tiles and K steps, seconds in all.
"""

import argparse
import fnmatch
import json
import sys
from collections import Counter
from pathlib import Path

import torch

from hopper_gemm import _C
from hopper_gemm.problem import INPUT_NAMES
from hopper_gemm.registry import by_name

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.memory import Layout
from support.problems import Product, Term, for_kernel, run

SHAPES = ((200, 136, 72), (1, 8, 8), (300, 520, 200))
SLICED = (200, 136, 512)


DTYPES = {name: dtype for dtype, name in INPUT_NAMES.items()}
OUTPUTS = {"bf16": (torch.bfloat16, torch.float32), "f16": (torch.float16,), "s8": (torch.int32,), "u8": (torch.int32,)}
OPTIONS = {
    "integers": True, "out_dtype": "fp32", "alpha": -2.0, "beta": 0.5, "c": Term("full", "fp16", Layout(pad=3)),
    "bias": Term("vector", "bf16"), "activation": "relu", "residual": Term("column", "fp32", Layout(offset=1)),
}  # fmt: skip
SCALES = {"scale_a": "rows", "scale_b": "columns", "scale_result": "tensor", "bias": Term("row"), "out_dtype": "e4m3"}


def packed_products():
    """Operands of every element size that no kernel reads in place, read along and across their rows, and an `out` that none
    writes; float32 that is packed as two tf32 parts; a batch; scales."""
    strided, across = Layout(pad=3, offset=1, step=2), Layout(False, pad=1, offset=7)
    for a, b, out in ((strided, across, Layout(step=2)), (across, strided, Layout(False, pad=1, offset=3))):
        lies = {"a": a, "b": b, "out": out, "integers": True}
        for types in (("bf16", "bf16"), ("fp16", "fp16"), ("fp32", "fp32"), ("e4m3", "e5m2"), ("s8", "u8")):
            yield Product(200, 136, 72, *types, out_dtype="s32" if types[0] == "s8" else "fp32", precision=tf32(types), **lies)
        yield Product(200, 136, 72, "fp32", "fp32", precision="fp32", **lies)
        yield Product(50, 40, 24, a_batch=(2, 1), b_batch=(3,), **lies)
        yield Product(200, 136, 72, "e4m3", "e4m3", **(lies | SCALES))


def tf32(types):
    return "tf32" if types[0] == "fp32" else None


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


def check(record, shape, out_dtype, slices=1):
    """An error text, or ''. The output lies in a padded buffer whose margin must stay untouched."""
    m, n, k = shape
    a, b = operands(record, m, n, k)
    buffer = torch.full((m + 2, (n + 31) // 16 * 16), 7, device="cuda", dtype=out_dtype)
    out = buffer[1 : m + 1, :n]
    exchanged = record["output"] == "column_major"  # such a kernel computes out.t() = b.t() @ a.t()
    _C.gemm(record["id"], a, b, out, exchanged=exchanged, slices=slices)
    torch.cuda.synchronize()
    expected = (a.double() @ b.double()).to(out_dtype)
    if not torch.equal(out.double(), expected.double()):
        return f"wrong at {int((out.double() != expected.double()).sum())} of {m * n} elements"
    buffer[1 : m + 1, :n] = 7
    return "" if bool((buffer.float() == 7).all()) else "wrote outside out"


def checks(records, shapes):
    """What is run: (group, input types, name, a function that returns an error text)."""
    for record in records:
        kernel = by_name()[record["name"]]
        outputs = OUTPUTS.get(record["a_type"], (torch.bfloat16, torch.float32, torch.float8_e5m2))
        for shape in shapes:
            for out in outputs:
                yield "kernels", kernel.input, f"{kernel.name} {shape} {out}", lambda r=record, s=shape, o=out: check(r, s, o)
        if kernel.accumulator == "f32":
            yield "slices", kernel.input, f"{kernel.name} in slices", lambda r=record, o=outputs[-1]: check(r, SLICED, o, 2)
        if kernel.accumulator != "s32" and record["fused_epilogue"]:
            product = for_kernel(kernel, *SHAPES[0], **OPTIONS)
            yield "options", kernel.input, repr(product), lambda p=product: run(p, "cuda")
    for product in packed_products():
        yield "packing", product.a_dtype, repr(product), lambda p=product: run(p, "cuda")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default="*", help="glob of kernel names")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the shapes")
    parser.add_argument("--one-per-schedule", action="store_true", help="the first kernel of each schedule only")
    options = parser.parse_args()
    torch.manual_seed(0)
    records = [r for r in _C.kernels() if r["compiled"] and fnmatch.fnmatchcase(r["name"], options.kernels)]
    if options.one_per_schedule:
        records = list({r["schedule"]: r for r in reversed(records)}.values())
    covered = {}
    failed = count = 0
    for group, types, name, is_wrong in checks(records, SHAPES[: options.shapes]):
        count += 1
        try:
            text = is_wrong()
            torch.cuda.synchronize()
        except RuntimeError as error:  # sticky: nothing more can run in this process
            print(f"FAILED {name}: {error} {_C.watchdog_report()}", flush=True)
            return 1
        if text:
            failed += 1
            print(f"FAILED {name}: {text}", flush=True)
        covered.setdefault(group, Counter())[types] += 1
    print(f"gpu_smoke: covered {json.dumps(covered)}")
    print(f"gpu_smoke: {count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
