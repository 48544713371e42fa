"""Timing by interleaved rounds: every candidate in CUDA graphs over rotating inputs, in a random order that is balanced.

A power-limited card slows by up to a fifth within a second, so whoever runs first looks faster: only ratios of times
from one round mean anything, and the median over rounds is reported. What ran just before leaves the card warmer or
cooler too, so every candidate follows every other one about equally often. Rounds differ in length, so that two candidates in turn
do not keep time with the card's power control.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

ROTATED_BYTES = 200e6  # inputs of successive calls cover more than the L2
ROUND_MS = 25.0
LENGTHS = (0.8, 1.2)  # of a round: from 20 to 30 ms
GRAPH_US = 1500.0  # of one graph: the gap between two graphs is about 2 us
MAX_CALLS = 512  # GEMM calls in one graph

Call = Callable[[int], None]  # runs one product on input set i, writing a preallocated output


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call in every round."""

    rounds: tuple[float, ...]

    @property
    def us(self) -> float:
        return statistics.median(self.rounds)

    def ratio_to(self, baseline: Timing) -> float:
        """Median over rounds of baseline time / own time: above 1 is faster than the baseline."""
        return statistics.median(b / o for b, o in zip(baseline.rounds, self.rounds))


def input_sets(bytes_per_set: int) -> int:
    """How many input sets make successive calls miss the L2."""
    return max(1, min(MAX_CALLS, int(ROTATED_BYTES // max(1, bytes_per_set)) + 1))


def rotated_outputs(sets: int, shape: Sequence[int], dtype: torch.dtype, device: torch.device | str) -> list[torch.Tensor]:
    """An output for each input set; large ones take turns, so that small inputs of a large product do not fill the memory."""
    distinct = min(sets, input_sets(math.prod(shape) * dtype.itemsize))
    outputs = [torch.empty(tuple(shape), dtype=dtype, device=device) for _ in range(distinct)]
    return [outputs[i % distinct] for i in range(sets)]


def calls_in_graph(sets: int, us: float) -> int:
    """Calls that fill a graph: whole rotations of the input sets, or fewer where calls are long for their small inputs (a
    large output goes through the L2 with every one of them). Below 30 us it is Python that takes the time, not the GPU."""
    if us > 30 and sets * us > 4 * GRAPH_US:
        return max(1, min(sets, round(4 * GRAPH_US / us)))
    rotations = round(GRAPH_US / (max(us, 1.0) * sets))
    return sets * max(1, min(rotations, MAX_CALLS // sets))


class Candidate:
    """One way to compute the product, captured in a CUDA graph of several calls."""

    def __init__(self, call: Call, sets: int, stream: torch.cuda.Stream) -> None:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            for i in range(min(2, sets)):
                call(i)  # first-call work must not be captured
            begin.record()
            call(0)
            end.record()
        end.synchronize()
        self.calls = calls_in_graph(sets, 1e3 * begin.elapsed_time(end))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            # Not torch.cuda.graph: it empties the allocator's cache before each of what may be hundreds of captures.
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                for i in range(self.calls):
                    call(i % sets)
            finally:
                self.graph.capture_end()
        self._elapsed_ms(1)
        self.replays = max(1, round(ROUND_MS / max(self._elapsed_ms(2) / 2, 1e-3)))

    def round_us(self, shortened: float = 1.0) -> float:
        """One round: microseconds of a call."""
        replays = max(1, round(self.replays * shortened))
        return 1e3 * self._elapsed_ms(replays) / (replays * self.calls)

    def _elapsed_ms(self, replays: int) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(replays):
            self.graph.replay()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))


@functools.cache
def _capture_stream(device: int) -> torch.cuda.Stream:
    """One for all graphs of a device: cuBLAS keeps a workspace for every stream it sees."""
    return torch.cuda.Stream(device)


def capture(calls: Mapping[str, Call], sets: int, failed: Callable[[str, Exception], None]) -> dict[str, Candidate]:
    """Graphs of all candidates; one that raises is reported and left out."""
    stream = _capture_stream(torch.cuda.current_device())
    stream.wait_stream(torch.cuda.current_stream())
    candidates = {}
    for name, call in calls.items():
        try:
            candidates[name] = Candidate(call, sets, stream)
        except Exception as error:  # a kernel that fails must not take the rest along
            failed(name, error)
    torch.cuda.current_stream().wait_stream(stream)
    return candidates


def time_interleaved(
    candidates: Mapping[str, Candidate],
    rounds: int,
    *,
    order: random.Random,
    shortened: float = 1.0,
    idle_s: float = 0.0,
) -> dict[str, Timing]:
    """Runs all candidates once in each round, in balanced random order.

    Args:
        shortened: fraction of the usual 25 ms (20 to 30, in whole graphs), for a first pass over many candidates.
        idle_s: pause before each measurement, so that it runs in a cool burst instead of sustained load.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for names in balanced_rounds(list(candidates), rounds, order):
        part = shortened * order.uniform(*LENGTHS)
        for name in names:
            if idle_s:
                torch.cuda.synchronize()
                time.sleep(idle_s)
            times[name].append(candidates[name].round_us(part))
    return {name: Timing(tuple(values)) for name, values in times.items()}


def balanced_rounds(names: Sequence[str], rounds: int, order: random.Random) -> Iterator[list[str]]:
    """Every name once a round, in random order, each following each other one about equally often and never itself."""
    followed: Counter[tuple[str | None, str]] = Counter()
    last: str | None = None
    for _ in range(rounds):
        left, done = list(names), []
        while left:
            order.shuffle(left)
            name = min(left, key=lambda n: (n == last, followed[last, n]))
            followed[last, name] += 1
            left.remove(name)
            done.append(name)
            last = name
        yield done
