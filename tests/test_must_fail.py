"""The checker is proved: each seeded fault is found under its name in every schedule it applies to, and nothing else is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_seeded_fault_is_found():
    command = [sys.executable, ROOT / "tests" / "faults" / "must_fail.py", "--seeds", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)  # on a busy computer
    last = done.stdout.splitlines()[-1]
    missed = [line for line in done.stdout.splitlines() if line.startswith("MISSED")]
    assert done.returncode == 0, f"{last}\n" + "\n".join(missed) + done.stderr[-2000:]
    assert last.endswith("missed: 0")
