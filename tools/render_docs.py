"""Fills the measured tables of README.md and docs/ and draws the timelines in docs/figures/. --check only compares.

A block `<!-- table: NAME -->` ... `<!-- end -->` is written from benchmarks/results/*.json (tools/doc_tables.py says how),
a figure docs/figures/timeline_<schedule>.svg from a timed run of the emulator (tools/doc_timelines.py). Blocks whose result
does not exist say so. Exit status 1 if --check finds a block or figure that differs from what would be written.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import doc_tables

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # last: an installed package goes first
BLOCK = re.compile(r"<!-- table: ([\w /]+?) -->\n(.*?)<!-- end -->", re.DOTALL)


def pages(root=ROOT):
    """The files that may hold blocks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def with_blocks(text, results):
    """The page with every block written anew."""

    def write(match):
        return f"<!-- table: {match.group(1)} -->\n{doc_tables.table(match.group(1), results)}\n<!-- end -->"

    return BLOCK.sub(write, text)


def wanted_files(tables=True, figures=True, root=ROOT):
    """{path: text} of everything this script writes."""
    files = {}
    if tables:
        results = doc_tables.load_results(root / "benchmarks" / "results")
        files |= {path: with_blocks(path.read_text(encoding="utf-8"), results) for path in pages(root)}
    if figures:
        import doc_timelines

        files |= {root / "docs" / "figures" / name: svg for name, svg in doc_timelines.figures().items()}
    return files


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something is stale")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--tables", action="store_true", help="the blocks alone")
    part.add_argument("--figures", action="store_true", help="the figures alone (they need the built package)")
    options = parser.parse_args(arguments)
    stale = 0
    for path, text in wanted_files(tables=not options.figures, figures=not options.tables).items():
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
