"""Cases of the kind memory: what a call needs is gone when it returns, what is remembered is bounded."""

from __future__ import annotations

import gc
import resource
import tracemalloc

import pytest
import torch
from support.exact import ones
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.processes import python

from hopper_gemm import matmul


@pytest.mark.gpu
def test_c139_ever_new_shapes():
    def once(i: int) -> None:
        m, n, k = 1 + i % 257, 8 + 8 * (i % 193), 8 + 8 * ((i * 7) % 301)
        matmul(ones(m, k, device="cuda"), ones(k, n, device="cuda"))

    def held() -> tuple[int, int]:
        torch.cuda.synchronize()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, torch.cuda.memory_allocated()

    for i in range(300):
        once(i)
    host, device = held()
    for i in range(300, 1500):
        once(i)
    host_after, device_after = held()
    assert device_after - device < 64 << 20
    assert host_after - host < 64 << 10  # KiB


def test_c139_what_is_remembered_of_a_shape_is_small(pretend_gpu: PretendGpu):  # noqa: F811
    for m in range(1, 20):
        matmul(ones(m, 64, device="cpu"), ones(64, 64, device="cpu"))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for m in range(20, 120):
        matmul(ones(m, 64, device="cpu"), ones(64, 64, device="cpu"))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 100 * 16384  # at most 4,096 shapes are kept: 64 MiB


@pytest.mark.gpu
def test_c141_200_short_lived_threads():
    python(
        """
        import threading
        a = ones(256, 256)
        def work():
            matmul(a, a)
            wait()
        def burst(count):
            for _ in range(count):
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            torch.cuda.empty_cache()
            return torch.cuda.mem_get_info()[0]
        before = burst(20)
        after = burst(200)
        assert before - after < 32 << 20, before - after
        """,
        "cuda",
    )


def test_c141_short_lived_threads_on_the_emulator():
    """Fibers and their stacks come from a pool: the process must not grow by one for every thread."""
    python(
        """
        import resource, threading
        a = ones(64, 64)
        def burst(count):
            for _ in range(count):
                thread = threading.Thread(target=lambda: matmul(a, a))
                thread.start()
                thread.join()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = burst(20)
        after = burst(60)
        assert after - before < 32 << 10, after - before
        """,
        "cpu",
    )
