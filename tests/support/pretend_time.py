"""Benchmarks on a computer without a GPU: candidates run once and take pretended times, so that no GPU time is lost to a slip."""

from __future__ import annotations

import pytest
import torch

from hopper_gemm.bench import measure
from hopper_gemm.bench.measure import Timing


class PretendCandidate:
    """Calls once and takes as many microseconds as its position."""

    made = 0

    def __init__(self, call, sets, stream):
        call(0)
        PretendCandidate.made += 1
        self.us = float(10 + PretendCandidate.made)

    def round_us(self, shortened: float = 1.0) -> float:
        return self.us


class PretendStopwatch:
    """Times by a function of the prediction; remembers what was asked."""

    def __init__(self, us_of, broken=()):
        self.us_of, self.broken, self.passes = us_of, broken, []

    def __call__(self, predictions, rounds, fraction):
        self.passes.append((dict(predictions), rounds, fraction))
        alive = {name: p for name, p in predictions.items() if p.kernel.name not in self.broken}
        return {name: Timing((float(self.us_of(p)),) * rounds) for name, p in alive.items()}


class _Stream:
    def wait_stream(self, other):
        pass


def pretend_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces graphs and streams of hopper_gemm.bench.measure, and makes one input set enough."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: _Stream())
    monkeypatch.setattr(measure, "Candidate", PretendCandidate)
    monkeypatch.setattr(measure, "_capture_stream", lambda device: _Stream())
    monkeypatch.setattr(measure, "ROTATED_BYTES", 1e5)
