"""Fills the measured tables and the sessions of README.md and docs/, and draws docs/figures/. --check only compares.

A block `<!-- table: NAME -->` ... `<!-- end -->` is written from benchmarks/results/*.json (tools/doc_tables.py says how); a
console block is what its commands print here (tools/doc_snippets.py); charts are drawn from the results (tools/doc_charts.py),
docs/figures/timeline_<schedule>.svg from a timed run of the emulator (tools/doc_timelines.py). Blocks whose result does not
exist say so. Exit status 1 if --check finds something that differs from what would be written.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import doc_charts
import doc_snippets
import doc_tables

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # last: an installed package goes first
PARTS = ("tables", "sessions", "charts", "timelines")
BLOCK = re.compile(r"<!-- table: ([\w /]+?) -->\n(.*?)<!-- end -->", re.DOTALL)


def pages(root=ROOT):
    """The files that may hold blocks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def with_blocks(text, results):
    """The page with every block written anew."""

    def write(match):
        return f"<!-- table: {match.group(1)} -->\n{doc_tables.table(match.group(1), results)}\n<!-- end -->"

    return BLOCK.sub(write, text)


def wanted_files(parts=PARTS, root=ROOT, keep_similar=False):
    """{path: text} of everything this script writes; charts only if they are stale, sessions maybe only if they tell another story."""
    results = doc_tables.load_results(root / "benchmarks" / "results")
    figures = root / "docs" / "figures"
    files = {path: path.read_text(encoding="utf-8") for path in pages(root)}
    if "tables" in parts:
        files = {path: with_blocks(text, results) for path, text in files.items()}
    if "sessions" in parts:
        files = {path: doc_snippets.with_sessions_run(text, keep_similar) for path, text in files.items()}
    if "charts" in parts:
        files |= {figures / name: doc_charts.figure(name, results) for name in doc_charts.stale(results, figures)}
    if "timelines" in parts:
        import doc_timelines

        files |= {figures / name: svg for name, svg in doc_timelines.figures().items()}
    return files


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something is stale")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="append_const", const=part, dest="parts", help=f"the {part} alone")
    options = parser.parse_args(arguments)
    stale = 0
    for path, text in wanted_files(options.parts or PARTS, keep_similar=options.check).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        print(f"{path.relative_to(ROOT)}: {'stale' if options.check else 'written'}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for note in doc_tables.notes(ROOT):
        print(f"note: {note}", file=sys.stderr)
    if options.check and stale:
        print("render them with: python tools/render_docs.py")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
