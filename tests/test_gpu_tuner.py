"""Tuning on a Hopper GPU: what it finds is remembered, runs and is right; a capture refuses it."""

from __future__ import annotations

import pytest
import torch

import hopper_gemm
from hopper_gemm import errors, tuned

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPPER_GEMM_CACHE", str(tmp_path))
    monkeypatch.setattr(tuned, "_tables", {})


def test_a_tuned_product_is_right_and_explained():
    a = torch.randint(-2, 3, (512, 1024), device="cuda").bfloat16()
    b = torch.randint(-2, 3, (768, 1024), device="cuda").bfloat16().t()
    found = hopper_gemm.tune(a, b, seconds=2.0)
    assert 0 < found.choice.us <= 1.01 * found.choice.model_us and len(found.choice.measured) > 10
    explained = hopper_gemm.explain(a, b)
    assert explained.kernel == found.choice.kernel and "us measured" in str(explained)
    expected = (a.double() @ b.double()).bfloat16()
    assert torch.equal(hopper_gemm.matmul(a, b), expected)
    assert torch.equal(hopper_gemm.matmul(a, b, deterministic=True), expected)


def test_no_tuning_inside_a_capture():
    a = torch.ones(64, 64, device="cuda").bfloat16()
    hopper_gemm.matmul(a, a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(errors.CaptureError):
            hopper_gemm.tune(a, a)
        out = hopper_gemm.matmul(a, a)
    graph.replay()
    torch.cuda.synchronize()
    assert bool((out == 64).all())
