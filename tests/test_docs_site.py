"""The documentation as a site: it builds without a warning, so every link and anchor leads somewhere, and holds the reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: make docs")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: make docs")
ROOT = Path(__file__).resolve().parents[1]


def build(folder, config=ROOT / "mkdocs.yml"):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", folder]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_the_site_builds_and_holds_the_reference(tmp_path):
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "api" / "index.html").read_text()
    for word in ("hopper_gemm.matmul", "out_dtype", "Raises", "sharing no memory"):
        assert word in reference
    assert "glossary" in (tmp_path / "index.html").read_text().lower()
    assert "<code>examples/cpp_standalone.cpp</code>" in (tmp_path / "cpp" / "index.html").read_text()


def test_a_dead_link_fails_the_build(tmp_path):
    """Or the check above would be worth nothing."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("[there](nowhere.md) and [here](#nothing)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nvalidation: { links: { not_found: warn, anchors: warn } }\n")
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode != 0 and "nowhere.md" in done.stderr and "#nothing" in done.stderr
