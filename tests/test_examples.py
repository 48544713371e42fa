"""The Python examples run, tiny, on the emulator, and say what is true."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="not in the source tree")


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module
    for name in ("transformer", "train_transformer", "decode_loop"):
        sys.modules.pop(name, None)


def test_training(example, tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes(b"the quick brown fox jumps over the lazy dog. " * 20)
    path = tmp_path / "result.json"
    result = example("train_transformer").main(["--emulator", "--steps", "12", "--text", str(text), "--json", str(path)])
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))
    curves = result["curves"]
    assert all(len(curve) == 12 and 3 < curve[-1] < curve[0] < 7 for curve in curves.values()), curves
    assert all(abs(p - q) < 0.02 for p, q in zip(curves["torch"], curves["hopper_gemm"])), curves
    assert result["difference"] < 0.02


def test_both_kinds_start_alike(example):
    import torch

    transformer = example("transformer")
    states = []
    for kind in ("torch", "hopper_gemm"):
        torch.manual_seed(0)
        states.append(transformer.Transformer(transformer.Sizes(1, 32, 2, 16), kind).state_dict())
    assert list(states[0]) == list(states[1])
    assert all(torch.equal(p, q) for p, q in zip(states[0].values(), states[1].values()))


def test_decoding(example, tmp_path):
    path = tmp_path / "result.json"
    result = example("decode_loop").main(["--emulator", "--tokens", "3", "--batch", "2", "--json", str(path)])
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))
    assert all(result["replay_equals_eager"].values()) and result["tokens_like_torch"] >= 1
