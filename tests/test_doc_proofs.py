"""The tables of what was shown on a card, from results as the programs write them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
doc_tables = pytest.importorskip("doc_tables")

HEAD = {"gpu": "a GPU", "power_limit_w": 700, "torch": "2", "cuda": "13", "mode": "sustained", "date": "d", "commit": "abc"}


def test_without_a_result_the_table_says_so():
    for name in ("property", "accuracy", "any_problem"):
        assert doc_tables.table(name, {}) == doc_tables.NOT_MEASURED


def test_property():
    result = HEAD | {
        "cases": {"bf16": 5000, "e4m3 x e5m2": 30}, "cases_in_all": 5030, "failures_in_all": 0, "seconds": 100.0, "seed": 1,
        "refused_by_named_schedules": {"tma": 4},
    }  # fmt: skip
    text = doc_tables.table("property", {"property": result})
    assert "| e4m3 x e5m2 | 30 |" in text and "5,030 cases, no failures, 100 s, seed 1; 4 more were refused" in text


def test_accuracy():
    row = {"type": "bf16", "output": "bfloat16", "k": 64, "rms": 1e-3, "torch_rms": 1e-3, "rms_ratio": 1.0, "max_ratio": 1.2}
    exact = {"type": "int8", "output": "int32", "k": 64, "rms": 0, "torch_rms": 0, "rms_ratio": 0, "max_ratio": 0, "ok": True}
    rows = [row | {"ok": True, "adversarial": 0.5}, row | {"k": 4096, "ok": False, "adversarial": 0.7}, exact]
    text = doc_tables.table("accuracy", {"accuracy": HEAD | {"rows": rows}})
    assert "| bf16 -> bfloat16 | 1.0e-03 (1.00, 1.20) | 1.0e-03 (1.00, 1.20) **above** | 0.70 |" in text
    assert "| int8 -> int32 | exact | - | - |" in text


def test_any_problem():
    row = {
        "topic": "odd", "about": "odd K", "m": 8, "n": 8, "k": 7, "dtype": "bf16", "us": 1.0, "torch_us": 4.0, "ratio": 4.0, "limit": 4.0,
        "beside": "aligned operands", "of_beside": 1.1, "beside_limit": 1.25, "tflops": 3.0, "ok": True,
    }  # fmt: skip
    text = doc_tables.table("any_problem", {"any_problem": HEAD | {"rows": [row, row | {"ratio": None, "of_beside": None}]}})
    assert "| 8 x 8 x 7 | bf16 | odd K | 1.0 | 4.0 | 4.00 | 4.00 | 1.100 of aligned operands, at most 1.25 | 3 |" in text
    assert "| 1.0 | - | - | 4.00 |  | 3 |" in text
