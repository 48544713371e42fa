"""Every code block of README, AGENTS and docs/ runs, or says why not; then what it names still has to exist."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import hopper_gemm
from hopper_gemm import manifest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import doc_snippets  # noqa: E402
import render_docs  # noqa: E402
from doc_snippets import agrees, blocks, commands, sessions, unknown_in  # noqa: E402

PAGES = [ROOT / "AGENTS.md", ROOT / "CHANGELOG.md", *render_docs.pages()]
LANGUAGES = {
    "python": ("", "gpu", "skip"),
    "sh": ("", "skip"),
    "console": ("", "recorded", "skip"),
    "cpp": ("run", "skip"),
    "cmake": ("skip",),
    "text": ("",),
}

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not in the source tree")
needs_all_kernels = pytest.mark.skipif(
    bool(set(manifest.selected("default", "*")) - {k.name for k in hopper_gemm.kernels() if k.emulated}),
    reason="a build of some kernels only",
)


def of(language, *hows):
    found = [b for page in PAGES for b in blocks(page, language) if b.how in hows]
    return pytest.mark.parametrize("block", found, ids=str)


def pages_with(language):
    return pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, language)], ids=lambda p: p.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_block_says_its_language_and_why_it_does_not_run(page):
    for block in blocks(page):
        assert block.how in LANGUAGES.get(block.language, ()), f"{block}: ```{block.language} {block.how}"
        assert block.reason or block.how not in ("skip", "recorded"), f"{block}: a reason after the colon"


@needs_all_kernels
@pages_with("python")
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Block after block in one namespace, as a reader would; `gpu` blocks only where there is one."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")
    for block in blocks(page, "python"):
        code = compile("\n" * (block.line - 1) + block.code, str(block), "exec")
        if block.how == "" or (block.how == "gpu" and hopper_gemm.is_available()):
            exec(code, module.__dict__)


@needs_all_kernels
@of("sh", "")
def test_shell_blocks_run(block, tmp_path):
    done = doc_snippets.shell(block.code, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_all_kernels
@pytest.mark.skipif(hopper_gemm.is_available(), reason="written for a computer without a GPU")
@of("console", "")
def test_console_blocks_print_what_they_show(block):
    for command, expected in sessions(block.code):
        got = doc_snippets.output_of(command)
        if "--help" in command:  # the words, not their arrangement, which is the library's
            assert set(re.findall(r"--[a-z-]+", expected)) == set(re.findall(r"--[a-z-]+", got))
            continue
        assert agrees(expected, got), f"render it with: python tools/render_docs.py\n$ {command}\n{got}"


@of("sh", "", "skip")
def test_commands_exist(block):
    assert [unknown for words in commands(block.code) if (unknown := unknown_in(words))] == []


@of("console", "", "recorded", "skip")
def test_commands_of_sessions_exist(block):
    assert sessions(block.code), f"{block}: no line begins with '$ '"
    for command, _ in sessions(block.code):
        assert [unknown for words in commands(command) if (unknown := unknown_in(words))] == []


@of("cpp", "run")
def test_cpp_programs_run(block, tmp_path):
    package = Path(hopper_gemm.__file__).parent
    if not (package / "lib" / "libhopper_gemm.so").exists():
        pytest.skip("the package has no library of its own")
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(block.code, encoding="utf-8")
    library = ["-L", str(package / "lib"), "-lhopper_gemm", f"-Wl,-rpath,{package / 'lib'}"]
    command = ["g++", "-std=c++20", "-I", str(package / "include"), str(source), *library, "-o", str(program)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_checks_of_commands_find_something():
    """They would be worthless if they passed everything."""
    wrong = ["make demos", "python tools/nothing.py", "hopper-gemm benhc", "hopper-gemm bench --shape 4", "python -m hopper_gemm list --jsn", "frobnicate"]
    assert all(unknown_in(commands(line)[0]) for line in wrong)
    assert agrees("a\n...\nd ... f\n", "a\nb\nc\nd e f\n") and not agrees("a\n...\nd\n", "a\nb\n") and not agrees("a\n", "a\nb\n")
    assert agrees("bf16_bf16_f32_tn_1 in 3.5 us\n", "f16_f16_f32_tt_2_tma in 1,200 us\n") and not agrees("2 kernels\n", "2 rows\n")
    assert sessions("$ a\nb\n$ c\n") == [("a", "b\n"), ("c", "")]
