"""The tables of speed against others, from results as the programs write them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
doc_tables = pytest.importorskip("doc_tables")

HEAD = {"gpu": "a GPU", "power_limit_w": 700, "torch": "2", "cuda": "13", "mode": "sustained", "date": "d", "commit": "abc"}
ROW = {"m": 512, "n": 512, "k": 512, "layout": "tn", "us": 3.0, "torch_us": 3.6, "ratio": 1.2}


def test_without_a_result_the_table_says_so():
    for name in ("sets suite", "peers suite", "selector", "chains", "host", "epilogue"):
        assert doc_tables.table(name, {}) == doc_tables.NOT_MEASURED
    assert doc_tables.table("peers", {"suite": HEAD | {"rows": [ROW]}}) == doc_tables.NOT_MEASURED


def test_sets_and_peers():
    sets = [{"set": "decode", "shapes": 8, "mean": 1.1, "mean_limit": 1.08, "least": 1.0, "least_limit": 1.0}]
    result = HEAD | {"sets": sets, "rows": [ROW | {"peer": "triton", "peer_us": 3.3, "peer_ratio": 1.1}]}
    assert "| decode | 8 | 1.100 | 1.08 | 1.000 | 1.00 |" in doc_tables.table("sets suite", {"suite": result})
    assert "| 512³ | tn | 3.0 | 3.6 | 1.200 | triton | 3.3 | 1.100 |" in doc_tables.table("peers suite", {"suite": result})


def test_selector():
    row = {"m": 1, "n": 2, "k": 3, "chosen": "x", "us": 2.0, "best": "y", "best_us": 1.6, "ratio": 1.25}
    result = HEAD | {"seed": 5, "summary": {"shapes": 2, "mean": 1.118, "worst": 1.25}, "rows": [row | {"ratio": 1.01}, row]}
    text = doc_tables.table("selector", {"selector": result})
    assert "2 random shapes (seed 5)" in text and "1.118 x" in text and "| 1 x 2 x 3 | `x` | 2.0 | `y` | 1.6 | 1.250 |" in text
    assert text.count("`x`") == 1


def test_chains_and_host():
    chain = {"chain": "c", "products": 64, "us": 400.0, "torch_us": 500.0, "floor_us": 160.0, "of_torch": 0.8, "limit": 0.95}
    assert "| c | 64 | 400 | 500 | 160 | 0.800 | 0.95 |" in doc_tables.table("chains", {"chains": HEAD | {"rows": [chain]}})
    chain |= {"static_us": 380.0, "static_of_torch": 0.76}
    assert "| c | 64 | 400 | 500 | 160 | 0.800 | 380 | 0.760 | 0.95 |" in doc_tables.table("chains", {"chains": HEAD | {"rows": [chain]}})
    calls = [{"call": "torch.mm", "us": 5.0}, {"call": "plan", "us": 2.5, "against": "torch.mm", "of_it": 0.5, "limit": 0.6}]
    text = doc_tables.table("host", {"host": HEAD | {"rows": calls}})
    assert "| `torch.mm` | 5.00 |  |  |" in text and "| `plan` | 2.50 | 0.50 of `torch.mm` | 0.60 |" in text


def test_epilogue():
    row = {"m": 8, "n": 16, "k": 32, "options": "bias", "plain_us": 20.0, "extra_us": 2.5, "torch_us": 30.0, "ratio": 1.333}
    text = doc_tables.table("epilogue", {"epilogue": HEAD | {"rows": [row | {"options": "plain"}, row]}})
    assert "| 8 x 16 x 32 | bias | 20.0 | +2.5 | 30.0 | 1.333 |" in text and "| plain |" not in text


def test_what_the_page_says_is_missed_is_what_the_records_say():
    """These sentences are written by hand beside the rendered tables."""
    root = Path(__file__).resolve().parents[1]
    page = (root / "docs" / "performance.md").read_text(encoding="utf-8")
    recorded = {name: json.loads((root / "benchmarks" / "results" / f"{name}.json").read_text()) for name in ("any_problem", "ceiling", "suite", "suite_runs", "suite_types")}
    assert all(row["ok"] for row in recorded["any_problem"]["rows"]) and "All of those limits are met." in page
    sets = {s["set"]: s for s in recorded["suite"]["sets"]}
    least = next(row for row in recorded["suite"]["rows"] if row["ratio"] == sets["large"]["least"])
    told = "None is missed: large with {:.4f}, whose least is {m} x {n} x {k} with {ratio:.3f}, peers with {:.4f}; each of 24 rounds."
    assert all(s["ok"] for s in sets.values()) and told.format(sets["large"]["mean"], sets["peers"]["mean"], **least) in page
    assert "--rounds 24" in recorded["suite"]["command"]
    *before, last = (run for run in recorded["suite_runs"]["runs"] if run["suite"] == "peers")
    assert [(s["mean"], s["least"]) for s in last["sets"]] == [(s["mean"], s["least"]) for s in recorded["suite"]["sets"]]
    runs = [{s["set"]: s for s in run["sets"]} for run in before]
    assert ", ".join(f"large {of['large']['mean']:.4f} and peers {of['peers']['mean']:.4f}" for of in runs) in page
    assert {of["large"]["of"] for of in runs} == {"4096x2112x7168"} and {run["rounds"] for run in before} == {12}
    assert "in each, with " + ", ".join(f"{of['large']['least']:.3f}" for of in runs) + " (`suite_runs.json`)" in page
    types = {s["set"]: s for s in recorded["suite_types"]["sets"]}
    *_, other, last = (run for run in recorded["suite_runs"]["runs"] if run["suite"] == "types")
    assert [s["mean"] for s in last["sets"]] == [s["mean"] for s in recorded["suite_types"]["sets"]]
    assert f"had fp8 with {next(s['mean'] for s in other['sets'] if s['set'] == 'fp8'):.4f} (`suite_runs.json`)" in page
    large = types.pop("large")  # of bf16, for which suite.json counts
    assert large["shapes"] == 2
    assert all(s["ok"] for s in types.values()) and f"None is missed: fp8 with {types['fp8']['mean']:.4f}." in page
    assert f"Its two large bf16 products have {large['mean']:.3f}" in page
    [top] = recorded["ceiling"]["rows"]
    of = top["tflops"]
    told = f"({of['ours']:.0f} against {of['ceiling']:.0f} TFLOP/s, {top['of_ceiling']:.3f} in the median of the rounds; torch {top['torch_of_ceiling']:.3f};"
    assert top["ok"] and told in page
