"""The program that times packing, with pretended times: every case copies what it says, and a wrong copy is not ok."""

from __future__ import annotations

import pytest
from support.pretend_time import pretend_time
from support.programs import load_program

from hopper_gemm import packing

program = load_program("packing")


@pytest.fixture
def small(monkeypatch):
    pretend_time(monkeypatch)
    monkeypatch.setattr(packing, "_copy", packing._copy_emulated)


@pytest.mark.parametrize("name", list(program.CASES))
def test_every_case_has_a_row(small, name):
    one = program.row(name, 40, 2, 0, device="cpu")
    assert one["us"] > 0 and one["of_copy"] > 0 and one["matrices"] == program.CASES[name].count
    assert one["ok"] == (not one["limit"] or one["of_copy"] <= one["limit"])


def test_a_wrong_copy_is_not_ok(small, monkeypatch):
    monkeypatch.setattr(packing, "_copy", lambda copies: None)
    assert program.Sets(program.CASES["sliced"], 40, "cpu").wrong()
