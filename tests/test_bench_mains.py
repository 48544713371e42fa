"""The programs from their command lines to their files, with small shapes and pretended times: a slip here costs GPU time there."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from support import pretend_bench
from support.programs import load_program

from hopper_gemm.bench.suites import Case

library = pretend_bench.library


@pytest.fixture
def run(library, monkeypatch, tmp_path):
    """Runs a program; its result object."""

    def call(program, *arguments: str) -> dict:
        path = tmp_path / "result.json"
        monkeypatch.setattr(sys, "argv", [f"{program.__name__}.py", *arguments, "--json", str(path)])
        assert program.main() == 0
        result = json.loads(path.read_text())
        assert {"gpu", "torch", "commit", "sources_sha", "date", "command", "rows"} <= set(result) and result["rows"]
        return result

    return call


def on_cpu(monkeypatch, program, name: str) -> None:
    real = getattr(program, name)
    monkeypatch.setattr(program, name, lambda *arguments, **rest: real(*arguments[:2], **{**rest, "device": "cpu"}))


def test_selector(run, monkeypatch):
    selector = load_program("selector")
    on_cpu(monkeypatch, selector, "Operands")
    monkeypatch.setattr(selector, "LARGEST", 200)
    result = run(selector, "--shapes", "4", "--rounds", "2", "--seed", "9")
    assert result["seed"] == 9 and len(result["rows"]) == 4 and result["summary"]["shapes"] == 4 and result["notes"] == []


def test_chains(run, monkeypatch):
    chains = load_program("chains")
    on_cpu(monkeypatch, chains, "Buffers")
    small = (chains.Chain("cubes", 16, ((64, 64),), 4, 0.95), chains.Chain("step", 16, ((96, 64), (64, 96)), 2, 0.9))
    monkeypatch.setattr(chains, "CHAINS", small)
    result = run(chains, "--rounds", "2")
    assert [r["chain"] for r in result["rows"]] == ["cubes", "step"] and result["notes"] == []
    result = run(chains, "--rounds", "2", "--kernels", "bf16_*_tn_64x*_warp_specialized_*_column")
    assert all("_column" in name for r in result["rows"] for name in r["kernels"]) and result["notes"] == []


@pytest.mark.parametrize("name", ["peers", "layouts", "types"])
def test_suite(run, monkeypatch, name):
    suite = load_program("suite")
    cases = [Case(72, 64, 64), Case(72, 63, 64), Case(16, 64, 64, "fp16"), Case(64, 64, 72, "bf16", "nt")]
    monkeypatch.setattr(suite, "load_suite", lambda name: cases)
    result = run(suite, "--suite", name, "--rounds", "2")
    assert {s["set"] for s in result["sets"]} == {"the rest", "unaligned", "fp16", "nt"} and len(result["rows"]) == 4
    assert bool(result["notes"]) == (name == "peers")  # neither cuBLASLt nor Triton is here


def test_host(run, monkeypatch):
    host = load_program("host")
    real = host.variants
    monkeypatch.setattr(host, "variants", lambda size: real(size, device="cpu"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    result = run(host, "--size", "64", "--calls", "2", "--batches", "2")
    assert result["mode"] == "host" and {"torch.mm", "matmul", "plan(out=)"} <= {r["call"] for r in result["rows"]}
