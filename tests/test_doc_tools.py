"""The tools that write the documentation: sessions are recorded and shown, error texts are read from the sources."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import doc_errors  # noqa: E402
import doc_tables  # noqa: E402
import doc_snippets  # noqa: E402
import record_sessions  # noqa: E402
import try_readme  # noqa: E402


def test_a_recorded_session_becomes_a_console_block(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record_sessions, "SESSIONS", {"version": "hopper-gemm --version", "broken": "hopper-gemm explain 1 1 0"})
    path = tmp_path / "sessions.json"
    assert record_sessions.main([str(path), "version"]) == 0
    assert record_sessions.main([str(path)]) == 1  # one of them fails
    result = json.loads(path.read_text())
    assert [r["status"] for r in result["rows"]] == [0, 2] and "commit" in result
    text = doc_tables.table("session version", {"sessions": result})
    assert text.startswith("```console recorded: no GPU") and "\n$ hopper-gemm --version\nhopper_gemm 0." in text
    (block,) = doc_snippets.FENCE.findall(text + "\n")
    assert block[0].startswith("console recorded")
    for name in ("broken", "absent"):
        assert doc_tables.table(f"session {name}", {"sessions": result}) == doc_tables.NOT_MEASURED
    assert doc_tables.table("session version", {}) == doc_tables.NOT_MEASURED


def test_sessions_of_pages_are_those_that_can_be_recorded():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {n for page in pages for n in doc_tables_named(page.read_text(encoding="utf-8"))}
    assert named == set(record_sessions.SESSIONS)


def doc_tables_named(text):
    return [part.split(" -->")[0] for part in text.split("<!-- table: session ")[1:]]


def test_error_texts_are_read_with_their_class_and_advice():
    code = 'raise ShapeError(sentence(f"the {name} of a differ", got="x", fix="pass " + other))\nx = sentence(what)\n'
    calls = doc_errors.sentences(ast.parse(code))
    assert [(doc_errors.words(call.args[0]), owner) for call, owner in calls] == [("the … of a differ", "ShapeError"), ("…", "")]
    assert doc_errors.words(calls[0][0].keywords[1].value) == "pass …"
    texts = [text for text, *_ in doc_errors.python_errors()]
    assert "unknown schedule …" in texts and len(texts) > 40
    library = [text for text, _ in doc_errors.library_errors()]
    assert any(text.startswith("no GPU is visible") for text in library) and len(library) > 40
    table = doc_errors.table()
    assert "### ScheduleError" in table and "### From the library" in table


def test_what_readme_tells_a_newcomer_is_timed_and_judged(tmp_path):
    commands = (("true", (0,), "ends well"), ("exit 3", (0, 3), "may"), ("{python} -c 'raise SystemExit(1)'", (0,), "fails"))
    rows = list(try_readme.run_all(tmp_path, commands))
    assert [(r["status"], r["right"]) for r in rows] == [(0, True), (3, True), (1, False)] and all(r["seconds"] >= 0 for r in rows)
    result = {"rows": rows, "machine": "2 cores", "gpu": None, "date": "today"}
    text = doc_tables.table("newcomer", {"newcomer": result})
    assert "| `true` | ends well | 0.0 s |" in text and "2 cores" in text
    for command, _, _ in try_readme.COMMANDS:
        for words in doc_snippets.commands(command.format(python="python")):
            assert doc_snippets.unknown_in(words) == ""
