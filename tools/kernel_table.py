"""Writes kernels.csv: one row per kernel, configs (from the library) joined with ptxas's registers and spills.

Usage: kernel_table.py <hg_kernel_table> <build folder with .ptxas files> <kernels.csv>
"""

import csv
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from ptxas_gate import kernel_name

ENTRY = re.compile(r"Compiling entry function '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")


def ptxas_rows(report):
    """{kernel: {registers, barriers, stack_bytes, spill_bytes}} of one `ptxas -v` report."""
    rows, row = {}, {}
    for line in report.splitlines():
        if match := ENTRY.search(line):
            row = rows.setdefault(kernel_name(match.group(1)), {})
        if match := SPILLS.search(line):
            row["stack_bytes"] = int(match.group(1))
            row["spill_bytes"] = int(match.group(2)) + int(match.group(3))
        if match := USED.search(line):
            row["registers"] = int(match.group(1))
            row["barriers"] = int(match.group(2) or 0)
    return rows


def main(program, folder, out):
    reported = {}
    for path in Path(folder).rglob("*.ptxas"):
        reported.update(ptxas_rows(path.read_text()))
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [row | reported.get(row["name"], {}) for row in csv.DictReader(text.splitlines())]
    columns = [*rows[0], *(c for c in ("registers", "barriers", "stack_bytes", "spill_bytes") if c not in rows[0])]
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
