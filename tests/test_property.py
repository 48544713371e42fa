"""Any product against float64: types x memory x sizes x epilogues x schedules x batches, between guard bands.

Here on the emulator, shrunk to the smallest failing one; on a Hopper GPU at least 5,000 different ones in four minutes, all
failures kept and none shrunk or varied.
HOPPER_GEMM_PROPERTY=<file> records the run on the GPU, HOPPER_GEMM_PROPERTY_SEED and _CASES change it.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from support import features
from support.memory import Layout
from support.problems import Product, run
from support.strategies import endless, products

import hopper_gemm
from hopper_gemm import errors

CHECKS = list(HealthCheck)
SECONDS = 230  # of the run on the GPU


@pytest.mark.parametrize("dtype", features.dtypes())
def test_any_product_on_the_emulator(dtype):
    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS)
    @given(products(largest=72, dtypes=(dtype,)))
    def check(product):
        try:
            with hopper_gemm.emulator(seed=product.seed, sm_count=2):
                wrong = run(product, "cpu")
        except errors.UnsupportedProblemError:
            hypothesis.reject()
        assert not wrong, wrong

    check()


class Tally:
    """What ran on the GPU: cases by type, refusals of named schedules, failures with the product that replays them."""

    def __init__(self, device: str, seed: int) -> None:
        self.device, self.seed = device, seed
        self.cases: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.failures: list[str] = []
        self.begin = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    @property
    def count(self) -> int:
        return sum(self.cases.values())

    def run(self, product: Product) -> None:
        name = product.a_dtype if product.a_dtype == product.b_dtype else f"{product.a_dtype} x {product.b_dtype}"
        if product.precision == "fp32":
            name = "fp32 (3xTF32)"
        try:
            wrong = run(product, self.device, twice=True)
        except errors.UnsupportedProblemError:
            self.refused[product.schedule] += 1
            return
        except Exception as error:  # whatever it is, the product that raised it is recorded
            wrong = f"{type(error).__name__}: {error}"[:1000]
        self.cases[name] += 1
        if wrong:
            self.failures.append(f"{product!r}: {wrong}")

    def write(self, path: Path) -> None:
        from hopper_gemm.bench.environment import environment

        result = environment("property") | {
            "command": "pytest -m gpu tests/test_property.py",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "cases_in_all": self.count,
            "cases": dict(sorted(self.cases.items())),
            "refused_by_named_schedules": dict(sorted(self.refused.items())),
            "failures": self.failures[:100],
            "failures_in_all": len(self.failures),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def collect(tally: Tally, wanted: int, seconds: float, target: str | None, **sizes: int) -> None:
    """Runs products until there are enough, time is up or too much is broken; writes what there is as it goes."""
    for product in endless(products(**sizes), tally.seed):
        tally.run(product)
        enough = tally.seconds > seconds or tally.count >= wanted or len(tally.failures) > 200
        if target and (enough or tally.count % 500 == 0):
            tally.write(Path(target))
        if enough:
            break


@pytest.mark.gpu
def test_any_product_on_the_gpu():
    tally = Tally("cuda", int(os.environ.get("HOPPER_GEMM_PROPERTY_SEED", "1")))
    wanted = int(os.environ.get("HOPPER_GEMM_PROPERTY_CASES", "6000"))
    collect(tally, wanted, SECONDS, os.environ.get("HOPPER_GEMM_PROPERTY"), largest=300, rare=2000)
    assert not tally.failures, "\n".join(tally.failures[:10])
    assert tally.count >= min(wanted, 5000), f"only {dict(tally.cases)} in {tally.seconds:.0f} s"


def test_the_record_of_a_run(tmp_path):
    tally = Tally("cpu", seed=3)
    with hopper_gemm.emulator(sm_count=2):
        collect(tally, 12, 60, str(tmp_path / "property.json"), largest=40)
    result = json.loads((tmp_path / "property.json").read_text())
    assert result["cases_in_all"] == sum(result["cases"].values()) == 12
    assert result["failures"] == [] and result["seed"] == 3 and set(result) >= {"gpu", "date", "commit", "seconds"}


def test_a_product_replays_from_its_text():
    product = Product(m=3, n=4, k=5, a=Layout(offset=1), bias=None, seed=7)
    assert eval(repr(product)) == product
    assert "bias" not in repr(product)


@pytest.mark.parametrize("fault", ["value", "outside", "input"])
def test_a_fault_is_reported(fault, monkeypatch):
    real = hopper_gemm.matmul

    def faulty(a, b, *, out):
        real(a, b, out=out)
        out[2, 3] += 1
        if fault == "outside":
            out[2, 3] -= 1
            out.as_strided((1,), (1,), out.storage_offset() - 1).fill_(0)
        if fault == "input":
            out[2, 3] -= 1
            a.as_strided((1,), (1,), 0).fill_(0)
        return out

    monkeypatch.setattr(hopper_gemm, "matmul", faulty)
    product = Product(m=8, n=16, k=8, out=Layout(pad=8), out_dtype="bf16", integers=True)
    with hopper_gemm.emulator():
        wrong = run(product, "cpu")
    assert {"value": "[2, 3]", "outside": "-1 elements from its start", "input": "a or the memory around it"}[fault] in wrong
