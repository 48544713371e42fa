"""Runs commands of the documentation that need a GPU and keeps what they print, for the blocks `session NAME` of the pages.

    python tools/record_sessions.py benchmarks/results/sessions.json [NAME...]

A session that fails keeps its output and exit status, and the status of this program is 1.
"""

import argparse
import re
import sys
from pathlib import Path

import doc_snippets

SESSIONS = {
    "info": "hopper-gemm info",
    "smoke": "hopper-gemm bench --suite smoke",
    "schedules": "hopper-gemm bench --shapes 4096 --schedule all --rounds 8",
    "tune": "hopper-gemm tune --shapes 4096,16x6144x4096 --seconds 2",
    "profile": "hopper-gemm profile 4096 4096 4096",
}
ROOT = Path(__file__).resolve().parents[1]
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def recorded(name):
    """One session: the command, its exit status, and its output without what names this machine."""
    done = doc_snippets.shell(SESSIONS[name], ROOT)
    text = ESCAPES.sub("", done.stdout + done.stderr).replace(str(ROOT), ".").replace(str(Path.home()), "~")
    return {"name": name, "command": SESSIONS[name], "status": done.returncode, "lines": text.rstrip("\n").splitlines()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SESSIONS)}; all if none is named")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in SESSIONS]
    if unknown:
        parser.error(f"no session {unknown[0]!r}: one of {', '.join(SESSIONS)}")

    sys.path.append(str(ROOT))  # last: an installed package goes first
    from hopper_gemm.bench.environment import environment
    from hopper_gemm.bench.runner import write_json

    rows = []
    for name in options.names or SESSIONS:
        rows.append(recorded(name))
        print(f"$ {rows[-1]['command']}\n" + "\n".join(rows[-1]["lines"]), flush=True)
        write_json(options.file, {**environment("sessions"), "rows": rows})
    return 1 if any(row["status"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
