"""compute-sanitizer's log -> a small JSON record: what ran, where, and the closing lines.

    python tools/sanitize_record.py LOG JSON
"""

import json
import re
import sys
from pathlib import Path

from hopper_gemm.bench.environment import environment


def main():
    log, target = Path(sys.argv[1]), Path(sys.argv[2])
    text = log.read_text(encoding="utf-8")
    smoke = re.search(r"gpu_smoke: (\d+) passed, (\d+) failed", text)
    summary = re.search(r"ERROR SUMMARY: (\d+) error", text)
    record = environment("compute-sanitizer") | {
        "command": "compute-sanitizer --tool memcheck python tools/gpu_smoke.py --shapes 1",
        "products_passed": int(smoke[1]) if smoke else None,
        "products_failed": int(smoke[2]) if smoke else None,
        "memcheck_errors": int(summary[1]) if summary else None,
    }
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
