"""docs/cases.md names every case once, with the files that hold its tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "cases.md"


@pytest.mark.skipif(not PAGE.exists(), reason="not in the source tree")
def test_the_table_is_that_of_the_tests():
    written: dict[str, set[str]] = {}
    for file in HERE.glob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        names = re.findall(r"def (test_\w+)", text) + re.findall(r'id="(c\d{3}_\w+)"', text)
        for number in {n for name in names for n in re.findall(r"(?:^|_)c(\d{3})(?=_)", name)}:
            written.setdefault(f"C{number}", set()).add(file.name)
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| C")]
    listed = {row[0].strip("| "): set(re.findall(r"`(test_\w+\.py)`", row[3])) for row in rows}
    assert len(rows) == len(listed) == 104
    assert listed == written
