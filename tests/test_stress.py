"""tools/stress.py without a GPU: a kernel that is named takes its product, and rounds run and are recorded on the emulator."""

from __future__ import annotations

import json
from itertools import islice

from support import features
from support.pretend_gpu import PretendGpu, pretend_gpu  # noqa: F401
from support.problems import Trial, arguments
from support.programs import load_program
from support.strategies import deep, endless, named

import hopper_gemm

stress = load_program("stress", "tools")


def test_a_kernel_that_is_named_takes_its_product(pretend_gpu: PretendGpu):  # noqa: F811
    kernels = list(features.usable_kernels())
    named_products = list(islice(endless(named(kernels, largest=100), 3), 500))
    for product in named_products:
        Trial(product, "cpu").call()
        assert pretend_gpu.launches[-1] == product.config, product
    assert len({p.config for p in named_products}) > 0.8 * min(len(kernels), 200)


def test_deep_products_are_cut_into_slices():
    slices = []
    for product in islice(endless(deep(), 4), 60):
        if product.m * product.n:
            a, b, values = arguments(product, "cpu")
            options = {name: values[name] for name in ("precision", "use_fast_accum", "accumulate") if name in values}
            slices.append(hopper_gemm.explain(a, b, **options).plan.chosen.walk.slices)
    assert sum(s > 1 for s in slices) > len(slices) // 4


def test_rounds_are_checked_and_recorded(tmp_path):
    target = tmp_path / "stress.json"
    given = ["--device", "cpu", "--seconds", "0.1", "--per-stream", "2", "--pool", "24", "--largest", "48", "--json", str(target)]
    assert stress.main(given) == 0
    record = json.loads(target.read_text())
    assert record["products"] + sum(record["refused_by_named_schedules"].values()) == 16 and record["faults"] == []
