"""Cases of the kinds streams and threads: work is queued where the caller is, and nothing is shared between callers."""

from __future__ import annotations

import contextvars
import threading

import pytest
import torch
from support.exact import BF16, ones, schedules
from support.processes import python

from hopper_gemm import matmul


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
def test_c120_work_is_queued_on_the_current_stream(schedule):
    a, b = torch.zeros(1024, 1024, device="cuda", dtype=BF16), ones(1024, 1024, device="cuda")
    matmul(a, b, schedule=schedule)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        a.fill_(1)
        y = matmul(a, b, schedule=schedule)
        total = y.sum(dtype=torch.float64)
    stream.synchronize()
    assert bool((y == 1024).all()) and float(total) == 1024.0**3


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
def test_c121_streams_at_once(schedule):
    k, sets = 8192, []
    for value in (1.0, 2.0, 3.0):
        a = torch.full((64, k), value, device="cuda", dtype=BF16)
        sets.append((a, ones(k, 96, device="cuda"), torch.cuda.Stream(), value))
    torch.cuda.synchronize()
    results = []
    for _ in range(60):
        for a, b, stream, value in sets:
            with torch.cuda.stream(stream):
                results.append((matmul(a, b, schedule=schedule), value))
    torch.cuda.synchronize()
    assert all(bool((y == k * value).all()) for y, value in results)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", schedules())
def test_c123_memory_of_a_side_stream_is_not_recycled_too_early(schedule):
    k = 16384
    a, b = ones(64, k, device="cuda"), ones(k, 64, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(10):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(2_000_000)
            y = matmul(a, b, schedule=schedule)
        poison = [torch.full((1 << size,), float("nan"), device="cuda") for size in (10, 14, 18, 20, 22)]
        stream.synchronize()
        assert bool((y == k).all()) and all(bool(torch.isnan(p).all()) for p in poison)


@pytest.mark.gpu
def test_c123_a_backward_on_another_stream():
    """Autograd runs a backward on the stream of its forward; the caller's stream waits for it."""
    a, b = ones(1024, 1024, device="cuda"), ones(1024, 1024, device="cuda").requires_grad_()
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        y = matmul(a, b)
    torch.cuda.current_stream().wait_stream(stream)
    y.sum().backward()
    assert bool((b.grad == 1024).all())


def test_c125_threads_with_their_own_shapes_and_first_calls(device):
    wrong: list[str] = []
    rounds = 50 if device == "cuda" else 2

    def work(i: int) -> None:
        stream = torch.cuda.Stream() if device == "cuda" else None
        with torch.cuda.stream(stream):
            for r in range(rounds):
                m, n, k = 64 + 8 * i, 72 + 8 * i, 64 * (1 + (r + i) % (20 if device == "cuda" else 2))
                a = torch.full((m, k), float(i + 1), device=device, dtype=BF16)
                y = matmul(a, ones(k, n, device=device))
                if stream is not None:
                    stream.synchronize()
                if not bool((y == k * (i + 1)).all()):
                    wrong.append(f"thread {i}, {m}x{n}x{k}")

    context = contextvars.copy_context()  # the emulator in force belongs to a context, and a thread starts with a bare one
    threads = [threading.Thread(target=context.copy().run, args=(work, i)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_c126_a_thread_that_never_touched_the_device(device):
    python(
        """
        import threading
        a, out = ones(128, 128), ones(128, 128)
        matmul(a, a, out=out)
        wait()
        out.zero_()
        wait()
        failed = []
        def work():
            try:
                matmul(a, a, out=out)
            except Exception as error:
                failed.append(repr(error))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        wait()
        assert not failed, failed
        assert bool((out == 128).all())
        """,
        device,
    )
