"""Cases of the kinds autotune, jit-cache and fork: first calls of processes, alone, many at once, forked, without a home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import torch
from support.exact import BF16, assert_exact, ints
from support.processes import environment, finish, python, start

import hopper_gemm
from hopper_gemm import matmul

FIRST_CALL = """
    y = matmul(ones(192, 136), ones(136, 328))
    wait()
    assert bool((y == 136).all())
"""


def test_c035_the_first_call_accumulates_once(device):
    python(
        """
        a, b, c = ones(128, 64), ones(64, 96), full(8, 128, 96)
        matmul(a, b, c=c, beta=1.0, out=c)
        wait()
        assert bool((c == 72).all()), float(c[0, 0])
        """,
        device,
    )


def test_c155_cold_processes_at_once(device, tmp_path):
    count = 16 if device == "cuda" else 4
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    processes = [start(FIRST_CALL, device, **home) for _ in range(count)]
    for process in processes:
        finish(process)


def test_c156_damaged_files_of_an_earlier_process(device, tmp_path):
    """Whatever a first process left behind is cut short; the next one must notice."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache"), "CUDA_CACHE_PATH": str(tmp_path / "nv")}
    python(FIRST_CALL, device, **home)
    left = [p for p in tmp_path.rglob("*") if p.is_file() and "nv" not in p.relative_to(tmp_path).parts]
    for number, path in enumerate(left):
        os.truncate(path, path.stat().st_size // 2 if number % 2 else 0)
    python(FIRST_CALL, device, **home)


def test_c158_nothing_may_be_written(device, tmp_path):
    tmp_path.chmod(0o555)
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    unprivileged: tuple[str, ...] = ()
    if os.getuid() == 0 and shutil.which("setpriv"):
        unprivileged = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        can_import = subprocess.run(
            [*unprivileged, sys.executable, "-c", "import torch, hopper_gemm"], env=environment(device, **home), capture_output=True
        )
        unprivileged = unprivileged if can_import.returncode == 0 else ()
    finish(start(FIRST_CALL, device, prefix=unprivileged, **home))
    assert list(tmp_path.iterdir()) == []


def test_c160_import_leaves_cuda_alone_and_a_forked_child_works(device):
    python(
        """
        import os
        assert not torch.cuda.is_initialized()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                y = matmul(ones(64, 64), ones(64, 64))
                wait()
                status = 0 if bool((y == 64).all()) else 2
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, status
        """,
        device,
    )


class Products(torch.utils.data.Dataset):
    """Every item is a product, computed in a worker process."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        with hopper_gemm.emulator():
            return matmul(ints(8, 16, device="cpu", seed=index), ints(16, 8, device="cpu"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_c160_workers_of_a_data_loader(method):
    """Forked after this process has used the emulator: its locks and stacks must not be inherited in use."""
    with hopper_gemm.emulator():
        matmul(torch.ones(8, 8, dtype=BF16), torch.ones(8, 8, dtype=BF16))
    loader = torch.utils.data.DataLoader(Products(), batch_size=None, num_workers=2, multiprocessing_context=method)
    for index, y in enumerate(loader):
        assert_exact(y, ints(8, 16, device="cpu", seed=index), ints(16, 8, device="cpu"))
