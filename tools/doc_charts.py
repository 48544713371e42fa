"""Charts of the recorded results for the documentation, drawn by the package's own `hopper_gemm/bench/charts.py`.

A figure ends with a digest of what it was drawn from, because the bytes that matplotlib writes depend on its version.
"""

import hashlib
import io
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# figure: (result, chart, schedules shown)
FIGURES = {
    "roofline.svg": ("suite", "roofline", ("auto",)),
    "ratios.svg": ("suite", "ratios", ("auto",)),
    "sizes.svg": ("suite", "sizes", ("auto",)),
    "schedules.svg": ("schedules", "ratios", None),
}


def shown(result, schedules):
    """The result with the rows of some schedules alone."""
    return {**result, "rows": [row for row in result["rows"] if schedules is None or row["schedule"] in schedules]}


def mark(name, results):
    """The last line of a figure: what it was drawn from."""
    source, chart, schedules = FIGURES[name]
    code = (ROOT / "hopper_gemm" / "bench" / "charts.py").read_text(encoding="utf-8")
    data = json.dumps([chart, shown(results[source], schedules)], sort_keys=True)
    return f"<!-- drawn from {hashlib.sha256((code + data).encode()).hexdigest()[:16]} -->\n"


def figure(name, results):
    """The SVG text."""
    from hopper_gemm.bench.charts import draw, savefig_options

    source, chart, schedules = FIGURES[name]
    file = io.StringIO()
    draw(chart, shown(results[source], schedules)).savefig(file, format="svg", **savefig_options("svg"))
    return file.getvalue().rstrip("\n") + "\n" + mark(name, results)


def stale(results, folder):
    """Names of the figures that are missing or were drawn from something else."""
    names = [name for name, (source, _, _) in FIGURES.items() if source in results]
    texts = {name: (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else "" for name in names}
    return [name for name in names if not texts[name].endswith(mark(name, results))]
