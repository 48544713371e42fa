"""How much of the tensor cores' sustained rate a large product reaches: 8192^3 in bf16 beside wgmmas alone, in one run.

    python benchmarks/ceiling.py [--rounds 12] [--json FILE]     # needs nvcc

The ceiling is wgmma_ceiling.cu: the wgmmas of a 128 x 256 tile on random normal data that lies in shared memory already, on
every SM. Interleaved rounds in CUDA graphs (hopper_gemm/bench/measure.py), so card and clocks are the same for both.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from hopper_gemm.bench import measure
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.operands import Operands
from hopper_gemm.bench.runner import write_json
from hopper_gemm.bench.suites import Case

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("wgmma_ceiling.cu")
RESULT = Path(__file__).with_name("results") / "ceiling.json"
LIMIT = 0.83
SIZE = 8192
K_BLOCKS = 2000  # about a millisecond


def build(folder: Path) -> ctypes.CDLL:
    """The ceiling kernel as a library.

    Raises:
        RuntimeError: nvcc is missing or fails.
    """
    library = folder / "wgmma_ceiling.so"
    command = ["nvcc", "-std=c++20", "-O3", "-gencode=arch=compute_90a,code=sm_90a", "--expt-relaxed-constexpr", "-shared"]
    command += ["-Xcompiler=-fPIC", f"-I{ROOT / 'include'}", "-o", str(library), str(SOURCE)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise RuntimeError("nvcc was not found: the ceiling has to be compiled. Put the CUDA toolkit's bin on PATH") from error
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"nvcc failed on {SOURCE.name}: {error.stderr[-1000:]}") from error
    loaded = ctypes.CDLL(str(library))
    loaded.ceiling_flops.restype = ctypes.c_longlong
    loaded.ceiling_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    return loaded


def ceiling_call(library: ctypes.CDLL, ctas: int) -> measure.Call:
    operands = torch.randn(library.ceiling_operand_bytes() // 2, device="cuda").bfloat16()
    out = torch.empty(128, device="cuda")

    def call(i: int) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        code = library.ceiling_launch(operands.data_ptr(), out.data_ptr(), ctas, K_BLOCKS, stream)
        if code:
            raise RuntimeError(f"launching the ceiling kernel failed with CUDA error {code}")

    return call


def failed(name: str, error: Exception) -> None:
    raise RuntimeError(f"{name} failed: {error}") from error


def compare(library: ctypes.CDLL, rounds: int, seed: int) -> dict[str, Any]:
    sets = Operands(Case(SIZE, SIZE, SIZE), seed)
    ctas = torch.cuda.get_device_properties(0).multi_processor_count
    own = sets.call()
    if not sets.agrees(own):
        raise RuntimeError("our product is not torch's")
    candidates = measure.capture({"ours": own, "torch": sets.torch_call}, sets.count, failed)
    candidates |= measure.capture({"ceiling": ceiling_call(library, ctas)}, 1, failed)
    times = measure.time_interleaved(candidates, rounds, order=random.Random(seed))
    flops = {"ours": 2 * SIZE**3, "torch": 2 * SIZE**3, "ceiling": library.ceiling_flops(ctas, K_BLOCKS)}
    tflops = {name: round(flops[name] * 1e-6 / time.us, 1) for name, time in times.items()}
    # Of each round its own quotient: only those compare.
    of_ceiling = times["ours"].ratio_to(times["ceiling"]) * flops["ours"] / flops["ceiling"]
    return {
        "m": SIZE, "n": SIZE, "k": SIZE, "dtype": "bf16", "kernel": sets.plan().kernel.name, "tflops": tflops,
        "of_ceiling": round(of_ceiling, 4), "torch_of_ceiling": round(tflops["torch"] / tflops["ceiling"], 4),
        "limit": LIMIT, "ok": of_ceiling >= LIMIT,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=RESULT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = compare(build(Path(folder)), options.rounds, options.seed)
    write_json(options.json, {**environment("sustained"), "rows": [row]})
    print(f"{SIZE}^3: {row['tflops']} TFLOP/s: {row['of_ceiling']:.3f} of the ceiling (at least {LIMIT}); {row['kernel']}")
    print(f"written to {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
