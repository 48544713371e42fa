"""Does what README.md tells a newcomer, in a fresh clone and in order, and keeps how long each command took.

    python tools/try_readme.py benchmarks/results/newcomer.json [--keep FOLDER]

The block `newcomer` of docs/building.md shows the result. Exit status 1 if a command does not end as it should.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "{python}"  # .venv's if make made one, else the one that runs this
NO_GPU = 3
# (command, exit statuses that are right, what it is for)
COMMANDS = (
    ("make demo", (0,), "set-up, first build, every schedule once"),
    ("make build", (0,), "a second build, nothing changed"),
    (f"{PYTHON} -m hopper_gemm info", (0,), "what is here"),
    (f"{PYTHON} -m hopper_gemm list 'bf16_*_tn_*_pingpong_*'", (0,), "the kernels of a glob"),
    (f"{PYTHON} -m hopper_gemm explain 4096 4096 4096", (0,), "which kernel, and why"),
    (f"{PYTHON} -m hopper_gemm check bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma 300 520 456", (0,), "20 interleavings"),
    (f"{PYTHON} -m hopper_gemm bench --suite smoke", (0, NO_GPU), "against torch.mm; says so without a GPU"),
)


def python_of(clone):
    made = clone / ".venv" / "bin" / "python"
    return ".venv/bin/python" if made.exists() else sys.executable


def run_all(clone, commands=COMMANDS):
    """{command, for, seconds, status, right} of each, in order."""
    environment = {**os.environ, "PYTHON": sys.executable}
    for command, statuses, purpose in commands:
        begin = time.monotonic()
        done = subprocess.run(command.format(python=python_of(clone)), shell=True, cwd=clone, env=environment)
        shown = command.format(python="python")
        right = done.returncode in statuses
        yield {"command": shown, "for": purpose, "seconds": round(time.monotonic() - begin, 1), "status": done.returncode, "right": right}


# Run by the clone's Python: the one that runs this need not have torch.
RECORD = """
import json, pathlib, sys
from hopper_gemm.bench.environment import environment
from hopper_gemm.bench.runner import write_json
path, sys.argv = pathlib.Path(sys.argv[1]), ["tools/try_readme.py", sys.argv[1]]
write_json(path, {**environment("newcomer"), **json.load(sys.stdin)})
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--keep", type=Path, help="clone here, and leave it; a temporary folder otherwise")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        clone = options.keep or Path(temporary) / "hopper_gemm"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        rows = list(run_all(clone))
        for row in rows:
            print(f"{row['seconds']:8.1f} s  {'ok  ' if row['right'] else 'FAIL'}  {row['command']}", flush=True)
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
        python = str(clone / python_of(clone))  # an absolute one stays itself
        content = json.dumps({"machine": machine, "rows": rows})
        subprocess.run([python, "-c", RECORD, str(options.file.resolve())], cwd=clone, input=content, text=True, check=True)
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
