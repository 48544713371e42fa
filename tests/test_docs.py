"""The documentation says what is true: its code runs, its files and names exist, its tables are those of the results."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import hopper_gemm
from hopper_gemm import manifest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import render_docs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "AGENTS.md", ROOT / "CHANGELOG.md", *render_docs.pages()]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SUFFIXES = (".py", ".h", ".cpp", ".cu", ".md", ".json", ".sh", ".txt", ".cmake")

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not in the source tree")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[tuple[int, str, str]]:
    """(line, info words, code) of every fenced block of a language."""
    text = page.read_text(encoding="utf-8")
    found = [m for m in FENCE.finditer(text) if m.group(1) == language]
    return [(text.count("\n", 0, m.start(3)) + 1, m.group(2).strip(), m.group(3)) for m in found]


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


needs_all_kernels = pytest.mark.skipif(
    bool(set(manifest.selected("default", "*")) - {k.name for k in hopper_gemm.kernels() if k.emulated}),
    reason="a build of some kernels only",
)


@needs_all_kernels
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name_of)
def test_python_blocks_run(page, capsys):
    """Block after block in one namespace, as a reader would; `gpu` blocks only where there is one."""
    module = types.ModuleType("page")
    has_gpu = hopper_gemm.is_available()
    for line, info, code in blocks(page, "python"):
        if "gpu" in info.split() and not has_gpu:
            continue
        exec(compile("\n" * (line - 1) + code, name_of(page), "exec"), module.__dict__)


@pytest.mark.parametrize("page", [p for p in PAGES if any("gpu" in i for _, i, _ in blocks(p, "python"))], ids=name_of)
def test_blocks_for_a_gpu_compile(page):
    for line, _, code in blocks(page, "python"):
        compile("\n" * (line - 1) + code, name_of(page), "exec")


@pytest.mark.parametrize("page", [p for p in PAGES if any(i == "run" for _, i, _ in blocks(p, "cpp"))], ids=name_of)
def test_cpp_programs_run(page, tmp_path):
    package = Path(hopper_gemm.__file__).parent
    if not (package / "lib" / "libhopper_gemm.so").exists():
        pytest.skip("the package has no library of its own")
    for number, (_, _, code) in enumerate(b for b in blocks(page, "cpp") if b[1] == "run"):
        source, program = tmp_path / f"{number}.cpp", tmp_path / f"program{number}"
        source.write_text(code, encoding="utf-8")
        library = ["-L", str(package / "lib"), "-lhopper_gemm", f"-Wl,-rpath,{package / 'lib'}"]
        headers = ["-I", str(package / "include")]
        compiled = subprocess.run(
            ["g++", "-std=c++20", *headers, str(source), *library, "-o", str(program)], capture_output=True, text=True
        )
        assert compiled.returncode == 0, compiled.stderr
        done = subprocess.run([str(program)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_tables_are_fresh():
    assert render_docs.main(["--check", "--tables"]) == 0


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
    results = ("schedules.json", "ablation.json", "suite.json", "correctness.json")
    made = {"gpu_check_out/", "benchmarks/results/", *results}  # by a run on a GPU
    paths = paths_in(page.read_text(encoding="utf-8")) - made
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
