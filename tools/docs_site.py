"""Hooks of mkdocs (mkdocs.yml): what the pages, written to be read in the repository too, need to be a site.

README.md and CHANGELOG.md become pages; links to files outside docs/ become the names of those files; what stands after the
language of a code block (`python gpu`, `sh skip: ...`: for the tests) is left away.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```\w+)[^\n]*$", re.MULTILINE)


def on_files(files, config):
    from mkdocs.structure.files import File

    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    source = ROOT / PAGES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return FENCE.sub(r"\1", LINK.sub(lambda match: site_link(match, source), markdown))


def site_link(match, source):
    """A link as it must be on the site, where the page lies in docs/."""
    bang, text, target, anchor = match.groups()
    if not target or re.match(r"[a-z]+:", target):
        return match.group()
    path = (source.parent / target).resolve()
    moved = {ROOT / original: page for page, original in PAGES.items()}
    if path in moved:
        inside = moved[path]
    elif path.is_relative_to(ROOT / "docs") and path.is_file():
        inside = path.relative_to(ROOT / "docs").as_posix()
    else:
        return f"{text} (`{path.relative_to(ROOT).as_posix()}`)" if text.strip("`") not in target else f"`{path.relative_to(ROOT).as_posix()}`"
    up = "../" * (len(source.relative_to(ROOT / "docs").parts) - 1) if source.is_relative_to(ROOT / "docs") else ""
    return f"{bang}[{text}]({up}{inside}{anchor or ''})"
