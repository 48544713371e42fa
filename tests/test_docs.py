"""The documentation says what is true: its files and names exist, its tables are those of the results (its code: test_docs_code.py)."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import hopper_gemm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import doc_errors
import render_docs
from doc_snippets import prose

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "AGENTS.md", ROOT / "CHANGELOG.md", *render_docs.pages()]
SUFFIXES = (".py", ".h", ".cpp", ".cu", ".md", ".json", ".sh", ".txt", ".cmake")

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not in the source tree")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_tables_are_fresh():
    assert render_docs.main(["--check", "--tables"]) == 0


def test_charts_are_fresh():
    assert render_docs.main(["--check", "--charts"]) == 0


def test_every_error_is_in_troubleshooting():
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    classes = {name for name, value in vars(hopper_gemm.errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    listed = {owner for _, owner, _, _ in doc_errors.python_errors() if owner}
    assert classes >= listed - {"TypeError"} and len(listed) > 8
    texts = [doc_errors.cell(what) for what, _, _, _ in doc_errors.python_errors()] + [doc_errors.cell(t) for t, _ in doc_errors.library_errors()]
    assert len(texts) > 80
    assert [t for t in texts if t not in text] == [], "render them with: python tools/render_docs.py"


def test_the_reference_names_all_that_is_public():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    # `plan` by the module it is in: hopper_gemm/plan.py has the same name, and tools that read sources take that.
    named = set(re.findall(r"^::: hopper_gemm\.(?:planned\.(?=plan$))?([\w.]+)$", text, re.MULTILINE))
    assert named == set(hopper_gemm.__all__) - {"__version__"}


def test_every_function_of_the_header_is_in_cpp_md():
    header = (ROOT / "include" / "hopper_gemm.h").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "cpp.md").read_text(encoding="utf-8")
    functions = set(re.findall(r"^[A-Za-z][\w:<>&*, ]* [&*]?(\w+)\([^;{]*\);", header, re.MULTILINE))
    assert len(functions) >= 12 and [f for f in functions if f"`{f}(" not in text] == []


def test_what_is_public_has_a_docstring_and_types():
    for name in set(hopper_gemm.__all__) - {"__version__", "errors"}:
        value = getattr(hopper_gemm, name)
        assert inspect.getdoc(value), name
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            assert signature.return_annotation is not inspect.Signature.empty, name
            assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values()), name


def test_raises_of_docstrings_are_as_the_reference_can_show_them():
    """`Error: when`, a line each: griffe drops anything else, and make docs fails for it."""
    for name in set(hopper_gemm.__all__) - {"__version__", "errors", "nn"}:
        value = getattr(hopper_gemm, name)
        for item in (value, *(vars(value).values() if isinstance(value, type) else ())):
            section = re.search(r"^Raises:\n((?:    .*\n?|\n)*)", inspect.getdoc(item) or "", re.MULTILINE)
            entries = re.findall(r"^    (\S.*)$", section.group(1), re.MULTILINE) if section else []
            assert all(re.match(r"\w+: ", entry) for entry in entries), f"{name}: {entries}"


def test_every_page_is_in_the_site():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": ([\w/]+\.md)$", text, re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= listed and listed - pages == {"index.md", "changelog.md"}


def test_every_schedule_has_its_figure():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for schedule in hopper_gemm.Schedule:
        figure = f"docs/figures/timeline_{schedule}.svg"
        assert (ROOT / figure).exists() and figure in readme, figure


def paths_in(text: str) -> set[str]:
    """What is written as `code` and looks like a path in this repository."""
    words = {word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    words = {word.rstrip(",;:").split("#")[0] for word in words if "/" in word or word.endswith(SUFFIXES)}
    return {word for word in words if re.fullmatch(r"[\w.*-]+(/[\w.*-]*)*", word) and not word.startswith("-")}


def missing(paths: set[str], folders: tuple[str, ...]) -> list[str]:
    """Paths that exist neither in the repository nor in one of the folders that a page calls by their short names."""
    return sorted(p for p in paths if not any(list((ROOT / folder).glob(p.rstrip("/"))) for folder in folders))


@pytest.mark.parametrize("page", [ROOT / "AGENTS.md", ROOT / "docs" / "follow_the_code.md"], ids=name_of)
def test_paths_exist(page):
    headers = ("", "/arch", "/kernel", "/epilogue")
    short = ("", "hopper_gemm", "csrc/dispatch", *(f"include/hopper_gemm{folder}" for folder in headers))
    made = {"gpu_check_out/", "benchmarks/results/"}  # by a run on a GPU, as are the results, which are named without a folder
    paths = {p for p in paths_in(page.read_text(encoding="utf-8")) - made if not re.fullmatch(r"\w+\.json", p)}
    assert len(paths) > 10
    assert missing(paths, short) == []


def rows(page: Path) -> list[list[str]]:
    """Cells of every table row of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]


def test_the_functions_of_follow_the_code_are_where_it_says():
    checked = 0
    for cells in rows(ROOT / "docs" / "follow_the_code.md"):
        file = next((c.strip("`") for c in cells if re.fullmatch(r"`[\w/]+\.(h|cpp|py)`", c)), None)
        if file is None:
            continue
        text = (ROOT / file).read_text(encoding="utf-8")
        names = re.findall(r"`([\w:]+)`", cells[-2] if cells[0].isdigit() else cells[-1])
        assert names, cells
        for name in (part for n in names for part in n.split("::")):
            assert re.search(rf"\b{name}\b", text), f"{file} has no {name}"
            checked += 1
    assert checked > 20


def test_follow_the_code_opens_at_most_ten_headers():
    headers = [c[0] for c in rows(ROOT / "docs" / "follow_the_code.md") if c[0].startswith("`include/")]
    assert 0 < len(headers) <= 10 and len(set(headers)) == len(headers)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = prose(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path) if path else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in slugs, target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_path_of_one_machine(page):
    found = re.findall(
        r"(?<![\w./<])/(?:work|home|root|tmp|mnt|data|scratch|Users)/[\w./-]+", page.read_text(encoding="utf-8")
    )
    assert found == []


def test_the_schedules_table_names_them_all():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for schedule in hopper_gemm.Schedule:
        assert f"| `{schedule}` | `{schedule.cutlass_name}` |" in text
        assert (ROOT / "include" / "hopper_gemm" / "kernel" / f"{schedule}.h").exists()


def test_every_option_of_the_build_is_documented():
    option = re.compile(r"^(?:set|option)\((HG_\w+) .*(?:CACHE|\"[^\"]+\" (?:ON|OFF)\))", re.MULTILINE)
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    declared = {name for file in files for name in option.findall(file.read_text())}
    table = {c[0].strip("`") for c in rows(ROOT / "docs" / "building.md")}
    assert declared and declared <= table, declared - table
