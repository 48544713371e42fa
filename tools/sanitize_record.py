"""compute-sanitizer's logs -> a small JSON record: what ran, where, and the closing lines of each tool.

python tools/sanitize_record.py FOLDER JSON      FOLDER holds memcheck.log, synccheck.log, racecheck.log
"""

import json
import re
import sys
from pathlib import Path

from hopper_gemm.bench.environment import environment

PROGRAMS = {
    "memcheck": "tools/gpu_smoke.py --shapes 1",
    "synccheck": "tools/gpu_smoke.py --shapes 1 --one-per-schedule",
    "racecheck": "tools/gpu_smoke.py --shapes 1 --one-per-schedule",
}


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else None


def covered(text):
    """Products by what they are for (every kernel, slices of K, options, packing) and by input types."""
    found = re.search(r"^gpu_smoke: covered (.*)$", text, re.MULTILINE)
    return json.loads(found[1]) if found else None


def main():
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    record = environment("compute-sanitizer") | {"command": "tools/gpu_check.sh sanitize", "tools": {}}
    for tool, program in PROGRAMS.items():
        log = folder / f"{tool}.log"
        if not log.exists():
            continue
        text = log.read_text(encoding="utf-8", errors="replace")
        record["tools"][tool] = {
            "command": f"compute-sanitizer --tool {tool} python {program}",
            "products_passed": number(r"gpu_smoke: (\d+) passed", text),
            "products_failed": number(r"gpu_smoke: \d+ passed, (\d+) failed", text),
            "covered": covered(text),
            "errors": number(r"ERROR SUMMARY: (\d+) error", text)
            if tool != "racecheck"
            else number(r"RACECHECK SUMMARY: (\d+) hazard", text),
        }
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
