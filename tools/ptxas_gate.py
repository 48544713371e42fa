"""Compiler launcher: runs the rest of its arguments and fails if ptxas reports what costs a kernel its speed.

C75xx notes (setmaxnreg ignored, wgmma serialised, ...), spills and stack frames leave nvcc's exit status at 0, so no
flag stops a build on all of them. The report is kept as <object>.ptxas for tools/kernel_table.py. Put ccache after it:
ccache replays what the compiler printed. Allowed findings are listed, with their reason, in ptxas_exceptions.txt.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

EXCEPTIONS = Path(__file__).with_name("ptxas_exceptions.txt")
FINDING = re.compile(r"C75\d\d|[1-9]\d* bytes (?:stack frame|spill stores|spill loads)")
FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for|function) '?(\w+)'?")
KERNEL = re.compile(r"\d+compiled(\d+)(\w+)")


def kernel_name(mangled):
    """The manifest's name in a mangled gemm_kernel<hopper_gemm::compiled::NAME>, else the text itself."""
    match = KERNEL.search(mangled)
    return match.group(2)[: int(match.group(1))] if match else mangled


def read_exceptions(text):
    """Lines `kernel-glob | finding-pattern | reason`; a line without a reason is an error."""
    rows = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 3 or not all(parts):
                raise ValueError(f"{EXCEPTIONS.name}: {line!r} is not 'kernel-glob | finding-pattern | reason'")
            rows.append((parts[0], re.compile(parts[1])))
    return rows


def findings(report, exceptions):
    """[(kernel, line)] for every line that must not be there. A line names its kernel, or follows the line that does."""
    found, kernel = [], "?"
    for line in report.splitlines():
        named = FUNCTION.search(line)
        if named:
            kernel = kernel_name(named.group(1))
        if FINDING.search(line) and not any(
            fnmatch.fnmatchcase(kernel, glob) and pattern.search(line) for glob, pattern in exceptions
        ):
            found.append((kernel, line.strip()))
    return found


def quiet(report):
    """What a person needs to see: everything but the `ptxas info` lines of -v."""
    return "".join(line for line in report.splitlines(True) if not re.match(r"ptxas info|\s+\d+ bytes|\s*$", line))


def main(command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    target = command[command.index("-o") + 1] if "-o" in command else None
    if done.returncode or target is None:
        sys.stderr.write(done.stderr)
        return done.returncode
    Path(target + ".ptxas").write_text(done.stderr)
    sys.stderr.write(quiet(done.stderr))
    bad = findings(done.stderr, read_exceptions(EXCEPTIONS.read_text()))
    for kernel, line in bad:
        print(f"ptxas gate: {kernel}: {line}", file=sys.stderr)
    if bad:
        print(
            f"ptxas gate: {len(bad)} finding(s) that cost speed: change the kernel or its config, or list the finding with "
            f"its reason in tools/{EXCEPTIONS.name}",
            file=sys.stderr,
        )
        Path(target).unlink(missing_ok=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
