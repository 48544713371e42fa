"""Markers, and the record of the GPU run (HOPPER_GEMM_RECORD=<file> writes what was tested as JSON)."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

os.environ.pop("HOPPER_GEMM_EMULATE", None)
os.environ.pop("HOPPER_GEMM_LOG", None)
os.environ["HOPPER_GEMM_CACHE"] = tempfile.mkdtemp(prefix="hopper_gemm_cache_")  # nobody's tuned tables
torch.set_num_threads(1)

RECORD_PATH = Path(__file__).parents[1] / "benchmarks" / "results" / "correctness.json"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a Hopper GPU; skipped without one")
    config.addinivalue_line("markers", "slow: more than about ten seconds on the emulator")
    config.stash[_RECORD] = Record()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import hopper_gemm

    reason = hopper_gemm.unavailable_reason()
    for item in marked if reason else []:
        item.add_marker(pytest.mark.skip(reason=f"needs a Hopper GPU: {reason}"))


class Record:
    """Counts of what was checked, by group and key."""

    def __init__(self) -> None:
        self.groups: dict[str, Counter[str]] = {}
        self.failures: list[str] = []
        self.begin = time.monotonic()

    def add(self, group: str, key: str, cases: int = 1, failures: list[str] | tuple[str, ...] = ()) -> None:
        self.groups.setdefault(group, Counter())[key] += cases
        self.failures += [f"{group} {key}: {failure}" for failure in failures]


_RECORD = pytest.StashKey[Record]()


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    return request.config.stash[_RECORD]


def pytest_sessionfinish(session: pytest.Session) -> None:
    record = session.config.stash[_RECORD]
    target = os.environ.get("HOPPER_GEMM_RECORD", "0")
    if target in ("", "0") or not record.groups:
        return
    from hopper_gemm.bench.environment import environment

    path = RECORD_PATH if target == "1" else Path(target)
    result = environment("correctness")
    result["command"] = "pytest " + " ".join(session.config.invocation_params.args)
    result["seconds"] = round(time.monotonic() - record.begin, 1)
    result["cases_in_all"] = sum(sum(counts.values()) for counts in record.groups.values())
    result["cases"] = {group: dict(sorted(counts.items())) for group, counts in sorted(record.groups.items())}
    result["failures"] = record.failures
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
