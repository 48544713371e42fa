"""The layering rules of the design, checked on the text of the sources. Prints file:line: rule; exit status 1 if any.

Comments and string literals are blanked first, except the strings of #include lines.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 300
MAX_TEST_LINES = 500


@dataclass(frozen=True)
class Rule:
    """A pattern that must not occur in files under `where`, but for those under `but`."""

    where: tuple[str, ...]
    but: tuple[str, ...]
    pattern: str
    text: str


ARCH = ("include/hopper_gemm/arch/",)
RULES = (
    Rule(("include/",), ARCH, r"\basm\b", "asm belongs in arch/: one instruction, one function"),
    Rule(("include/",), ARCH, r"\b(threadIdx|blockIdx|blockDim|gridDim)\b", "thread identity comes from arch/"),
    Rule(("include/",), ARCH, r"\b__(shared|global|device|host|launch_bounds|grid_constant)__\b", "CUDA keywords belong in arch/"),
    Rule(("include/",), ARCH, r"\b__(sync|shfl|ballot|any_|all_|cvta)\w*", "CUDA intrinsics belong in arch/"),
    Rule(("include/",), ARCH, r"\bcuda[A-Z_]\w*|\bCU[a-z]\w+|<cuda\w*", "CUDA's own types and calls stay out of kernels"),
    Rule(("include/",), ARCH, r"\b__CUDA_ARCH__\b|\b__CUDACC__\b", "the backend is chosen in arch/isa.h alone"),
    Rule(("include/",), ARCH, r"#\s*(if|ifdef|ifndef|elif)\b", "no conditional compilation above the seam"),
    Rule(("include/",), (), r"\bassert\s*\(", "assert in a K loop makes ptxas serialise wgmma"),
    Rule(("include/", "csrc/dispatch/"), ARCH, r"\b(132|114|144)\b", "SM counts come from the device"),
    Rule(("include/",), ARCH, r"\b(try_wait|test_wait|globaltimer|nanosleep|__nanosleep)\w*", "waiting is arch::barrier_wait's business"),
    Rule(
        ("include/",),
        ("include/hopper_gemm/arch/isa.h", "include/hopper_gemm/arch/emu/"),
        r'"hopper_gemm/arch/emu/',
        "only arch/isa.h chooses a backend",
    ),
    Rule(
        ("include/", "csrc/", "examples/"),
        ("include/hopper_gemm/arch/isa.h", "include/hopper_gemm/arch/ptx/"),
        r'"hopper_gemm/arch/ptx/',
        "only arch/isa.h chooses a backend",
    ),
    Rule(("include/", "csrc/"), ("csrc/bindings/",), r"\b(torch|ATen|c10|at)(::|/)|\bpybind11\b", "torch is known to csrc/bindings alone"),
    Rule(("csrc/",), ("csrc/emulator/",), r"\basm\b", "csrc/ knows no machine instructions"),
    Rule(("csrc/emulator/",), ("csrc/emulator/fiber", "csrc/emulator/context"), r"\basm\b", "asm only in the fiber switch"),
    Rule(("csrc/",), ("csrc/dispatch/gpu_", "csrc/dispatch/cuda_check.h"), r"#\s*include\s*<cuda\w*", "CUDA headers stay in csrc/dispatch/gpu_*"),
    Rule(("csrc/bindings/",), (), r"\bcuda[A-Z]\w*", "the extension builds without CUDA headers"),
    Rule(("include/", "csrc/"), (), r"\bcutlass\b|\bcute::", "no CUTLASS"),
)

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def blanked(text):
    """The text without comments and strings, lines kept in place."""

    def blank(match):
        if match.group().startswith('"') and "include" in text[text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return COMMENT_OR_STRING.sub(blank, text)


def check(path, text):
    """Findings (line, text) for one file; `path` is relative to the repository, with forward slashes."""
    found = []
    lines = text.splitlines()
    limit = MAX_TEST_LINES if path.startswith("tests/") else MAX_LINES
    if len(lines) > limit:
        found.append((limit + 1, f"{len(lines)} lines, at most {limit}: one concept per file"))
    is_cpp = path.endswith((".h", ".cpp", ".cu"))
    if is_cpp and lines and not lines[0].startswith("//"):
        found.append((1, "a file begins with a comment that says what it is for"))
    if path.endswith(".py") and lines and not lines[0].startswith(('"""', "#!")):
        found.append((1, "a module begins with a docstring that says what it is for"))
    if not is_cpp:
        return found
    for number, line in enumerate(blanked(text).splitlines(), 1):
        for rule in RULES:
            if path.startswith(rule.where) and not (rule.but and path.startswith(rule.but)) and re.search(rule.pattern, line):
                found.append((number, rule.text))
    return found


def sources(root=ROOT):
    for folder in ("include", "csrc", "examples", "hopper_gemm", "tools", "cmake", "tests", "benchmarks"):
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix in {".h", ".cpp", ".cu", ".py"} and not relative.startswith(("hopper_gemm/include/", "hopper_gemm/lib/")):
                yield relative, path


def main():
    count = bad = 0
    for relative, path in sources():
        count += 1
        for line, text in check(relative, path.read_text()):
            bad += 1
            print(f"{relative}:{line}: {text}")
    print(f"lint: {count} files, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
