"""No hidden library: every kernel a call launches is one of ours, on every path; and no source calls another product."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.exact import BF16, schedules
from support.features import has

import hopper_gemm
from hopper_gemm import matmul

PACKAGE = Path(hopper_gemm.__file__).parent
OURS = "hopper_gemm"
PRODUCTS = {
    "mm", "matmul", "bmm", "addmm", "baddbmm", "addbmm", "linear", "einsum", "tensordot", "chain_matmul", "_scaled_mm",
    "_int_mm", "_grouped_mm", "addmv", "mv", "dot", "inner",
}  # fmt: skip


def foreign(names: list[str]) -> list[str]:
    """GPU work that is not ours: anything but kernels of our namespace and the memset of an empty sum."""
    return [name for name in names if OURS not in name and not name.startswith("Memset")]


def launched(call: Callable[[], object]) -> list[str]:
    """Names of what a call runs on the GPU, its first-time work left out."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    cuda = torch.autograd.DeviceType.CUDA
    return [event.name for event in profile.events() if event.device_type == cuda]


def randn(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


def operands(m: int, n: int, k: int, dtype: torch.dtype = BF16) -> tuple[torch.Tensor, torch.Tensor]:
    """K-major both."""
    return randn(m, k, dtype=dtype), randn(n, k, dtype=dtype).t()


E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
TYPES = {
    "bf16": (BF16, BF16, {}), "fp16": (torch.float16, torch.float16, {}),
    "fp16 sums": (torch.float16, torch.float16, {"accumulate": "fp16"}),
    "tf32": (torch.float32, torch.float32, {"precision": "tf32"}),
    "3xtf32": (torch.float32, torch.float32, {"precision": "fp32"}),
    "e4m3": (E4M3, E4M3, {"out_dtype": BF16}), "e4m3 x e5m2": (E4M3, E5M2, {"out_dtype": E4M3}),
    "e5m2 fast": (E5M2, E5M2, {"out_dtype": torch.float32, "use_fast_accum": True}),
    "s8": (torch.int8, torch.int8, {}), "u8 x s8": (torch.uint8, torch.int8, {}),
}  # fmt: skip
NEEDED = {"tf32": "fp32", "3xtf32": "fp32", "e4m3 x e5m2": "e5m2", "e5m2 fast": "e5m2", "u8 x s8": "u8", "fp16 sums": "fp16"}
LAYOUTS = {
    "tn": lambda a, b: (a, b),
    "tt": lambda a, b: (a, b.contiguous()),
    "nn": lambda a, b: (a.t().contiguous().t(), b),
    "nt": lambda a, b: (a.t().contiguous().t(), b.contiguous()),
    "odd": lambda a, b: (a[:, 1:-2], b[1:-2, 3:]),
    "strided": lambda a, b: (a[:, ::2], b[::2, ::3]),
    "expanded": lambda a, b: (a[:1].expand(a.shape), b),
}


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("m, n, k", [(300, 520, 264), (8, 1024, 2048), (64, 64, 32768)], ids=["tiles", "decode", "deep"])
def test_every_type_and_layout(name, layout, m, n, k, record):
    if not has(NEEDED.get(name, name)):
        pytest.skip("not in this build")
    a_type, b_type, options = TYPES[name]
    a, b = LAYOUTS[layout](randn(m, k, dtype=a_type), randn(n, k, dtype=b_type).t())
    names = launched(lambda: matmul(a, b, **options))
    record.add("kernels launched", f"{name} {layout}", len(names), foreign(names))
    assert names and not foreign(names)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
def test_every_schedule(schedule):
    a, b = operands(300, 520, 264)
    names = launched(lambda: matmul(a, b, schedule=schedule))
    assert names and not foreign(names)


def other_paths() -> dict[str, Callable[[], object]]:
    """The calls to watch."""
    a, b = operands(130, 264, 256)
    c, bias = randn(130, 264, dtype=torch.float32), randn(264)
    batch, other = randn(3, 40, 64), randn(3, 64, 72)
    e = operands(64, 96, 128, E4M3)
    row_major = e[1].contiguous()
    one = torch.ones((), device="cuda")
    rows, columns = torch.rand(64, 1, device="cuda"), torch.rand(1, 96, device="cuda")
    empty = torch.empty(130, 0, device="cuda", dtype=BF16), torch.empty(0, 264, device="cuda", dtype=BF16)
    out = torch.empty(130, 264, device="cuda", dtype=BF16)
    wide = torch.empty(130, 528, device="cuda", dtype=BF16)[:, ::2]
    odd = torch.empty(130, 265, device="cuda", dtype=BF16)[:, 1:]
    everything = {"alpha": 0.5, "beta": 2.0, "c": c, "bias": bias, "residual": c}
    package = hopper_gemm
    return {
        "out": lambda: matmul(a, b, out=out),
        "column-major out": lambda: matmul(b.t(), a.t(), out=out.t()),
        "odd out": lambda: matmul(a, b, out=odd),
        "strided out": lambda: matmul(a, b, out=wide),
        "fp32 out": lambda: matmul(a, b, out_dtype=torch.float32),
        "empty K": lambda: matmul(*empty),
        "empty K into out": lambda: matmul(*empty, out=out),
        "empty K with an epilogue": lambda: matmul(*empty, beta=2.0, c=c, bias=bias),
        "vector by matrix": lambda: matmul(a[0], b),
        "matrix by vector": lambda: matmul(a, b[:, 0]),
        "batches": lambda: matmul(batch, other),
        "broadcast batches": lambda: matmul(batch, other[:1]),
        "odd batches": lambda: matmul(batch[:, :, 1:], other[:, 1:, 1:]),
        "alpha": lambda: matmul(a, b, alpha=0.5),
        **{
            f"epilogue, {f}": (lambda f=f: matmul(a, b, activation=f, **everything))
            for f in (None, "relu", "gelu", "gelu_tanh", "silu", "sigmoid")
        },
        "batch invariant": lambda: matmul(a, b, batch_invariant=True),
        "deterministic": lambda: matmul(a, b, deterministic=True),
        "scaled, per tensor": lambda: package.scaled_matmul(*e, one, one, out_dtype=BF16),
        "scaled, per row": lambda: package.scaled_matmul(*e, rows, columns, out_dtype=BF16),
        "scaled, row-major b": lambda: package.scaled_matmul(e[0], row_major, one, one),
        "addmm": lambda: package.addmm(bias, a, b),
        "bmm": lambda: package.bmm(batch, other),
        "baddbmm": lambda: package.baddbmm(batch[:, :1, :1], batch, other),
        "linear": lambda: package.linear(a, b.t(), bias, activation="gelu"),
        "prepack": lambda: package.prepack(b[1:]),
    }


@pytest.mark.gpu
def test_every_other_path():
    wrong = {}
    for name, call in other_paths().items():
        names = launched(call)
        if foreign(names) or not names:
            wrong[name] = foreign(names) or "nothing was launched"
    assert not wrong


def test_the_check_itself():
    ours = "void hopper_gemm::gemm_kernel<hopper_gemm::bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma>(GemmParams)"
    assert foreign([ours, "Memset (Device)"]) == []
    others = ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "void at::native::vectorized_elementwise_kernel<4>", "Memcpy DtoD"]
    assert foreign([ours, *others]) == others


def test_no_module_calls_another_product():
    """bench/ compares with torch and check.py and demo.py with a reference; nothing else multiplies matrices by itself."""
    compares = {"check.py", "demo.py"}
    for path in PACKAGE.rglob("*.py"):
        if path.name in compares or path.relative_to(PACKAGE).parts[0] in ("bench", "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PRODUCTS
            module = ast.unparse(node.func.value) if called else ""
            assert module not in ("torch", "torch.nn.functional", "torch.ops.aten", "F"), f"{path}:{node.lineno}"
            operator = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            assert not operator, f"{path}:{node.lineno} multiplies with @"


@pytest.mark.parametrize("file", [*PACKAGE.glob("lib/*.so"), *PACKAGE.glob("_C*.so")], ids=lambda path: path.name)
def test_no_library_is_linked_for_products(file):
    listed = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True)
    needed = [line for line in listed.stdout.splitlines() if "NEEDED" in line]
    assert listed.returncode == 0 and needed
    assert not [line for line in needed if any(name in line for name in ("cublas", "cudnn", "cutlass", "nvrtc", "libcuda.so"))]
