"""Charts of a benchmark's result object: roofline, ratio per shape, TFLOP/s over size. Needs matplotlib.

The same functions draw for `hopper-gemm bench --plot`, for `hopper-gemm plot` and for the figures of the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError, sentence
from ..selector import load_model
from .arithmetic import ARITHMETIC

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
# Okabe and Ito's colours, which stay apart for colour-blind readers; a series keeps its colour and mark in every chart.
STYLES = {
    "auto": ("#0072B2", "o"),
    "multistage": ("#999999", "v"),
    "tma": ("#E69F00", "s"),
    "warp_specialized": ("#56B4E9", "D"),
    "cooperative": ("#009E73", "^"),
    "pingpong": ("#D55E00", "P"),
    "torch.mm": ("#000000", "x"),
}
OTHER = ("#CC79A7", "*")
CHARTS = ("roofline", "ratios", "sizes")


def save_charts(result: dict[str, Any], folder: Path, kinds: Sequence[str] = ("svg", "png"), names: Sequence[str] = CHARTS) -> list[Path]:
    """Draws every chart in every kind of file; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names:
        figure = draw(name, result)
        for kind in kinds:
            path = folder / f"{name}.{kind}"
            figure.savefig(path, **savefig_options(kind))
            paths.append(path)
    return paths


def savefig_options(kind: str) -> dict[str, Any]:
    """An SVG without the hour it was drawn at; anything else fine enough to be read."""
    return {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 144}


def draw(name: str, result: dict[str, Any]) -> Figure:
    """One chart, with what it was measured on below it.

    Raises:
        DeviceError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise DeviceError(sentence("charts need matplotlib", fix="install it with: pip install matplotlib")) from None
    rows = [row for row in result["rows"] if row.get("us")]
    height = 1.6 + 0.22 * len(_cases(rows)) if name == "ratios" else 4.6
    # No random ids, and text as text: the same result gives the same file.
    with matplotlib.rc_context({"svg.hashsalt": "hopper_gemm", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.add_subplot()
        {"roofline": _roofline, "ratios": _ratios, "sizes": _sizes}[name](axes, rows, result)
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set(position=(0, 1), ha="left", fontweight="bold")
        if len(axes.get_legend_handles_labels()[0]) > 1:
            figure.legend(loc="outside upper right", ncols=5, frameon=False, fontsize=7)
        figure.supxlabel(_source(result), fontsize=7, color="#555555")
    return figure


def _source(result: dict[str, Any]) -> str:
    power = f", {result['power_limit_w']:.0f} W" if result.get("power_limit_w") else ""
    return (
        f"{result.get('gpu') or 'no GPU'}{power}, torch {result.get('torch')}, CUDA {result.get('cuda')}, {result.get('mode')}, "
        f"{result.get('date')}, commit {str(result.get('commit') or 'unknown')[:12]}"
    )


def _tflops(row: Row, us: str = "us") -> float:
    return float(2e-6 * row["m"] * row["n"] * row["k"] / row[us])


def _intensity(row: Row) -> float:
    """FLOP per byte of A, B and the output, each moved once."""
    m, n, k, kind = row["m"], row["n"], row["k"], ARITHMETIC[row["dtype"]]
    return float(2 * m * n * k / (kind.input.itemsize * (m * k + k * n) + kind.output.itemsize * m * n))


def _series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by schedule; by type and layout too where they differ ("pingpong tt")."""
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(" ".join([row["schedule"], *_varying(row, rows)]), []).append(row)
    return series


def _varying(row: Row, rows: Sequence[Row]) -> list[str]:
    return [str(row[name]) for name in ("dtype", "layout") if len({r[name] for r in rows}) > 1]


def _case(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple((name, row[name]) for name in ("m", "n", "k", "dtype", "layout"))


def _cases(rows: Sequence[Row]) -> list[tuple[tuple[str, Any], ...]]:
    return list(dict.fromkeys(map(_case, rows)))


def _style(name: str) -> dict[str, Any]:
    colour, mark = STYLES.get(name.split()[0], OTHER)
    return {"color": colour, "marker": mark}


def _roofline(axes: Axes, rows: Sequence[Row], result: dict[str, Any]) -> None:
    floors = load_model()["floors"]
    bandwidth = floors["hbm_tb_per_s"]
    least, most = min(map(_intensity, rows)) / 2, max(map(_intensity, rows)) * 2
    roofs: dict[float, list[str]] = {}  # types that share a ceiling share a roof
    mode = "burst" if result.get("mode") == "burst" else "sustained"
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        ceiling = float((ARITHMETIC[dtype].tflops or floors["tflops"])[mode])
        roofs.setdefault(ceiling, []).append(dtype)
    for ceiling, dtypes in roofs.items():
        axes.plot([least, max(ceiling / bandwidth, least), most], [least * bandwidth, ceiling, ceiling], color="#555555", linewidth=1)
        text = f"{ceiling:.0f} TFLOP/s" + (f" {', '.join(dtypes)}" if len(roofs) > 1 else "")
        axes.annotate(text, (most, ceiling), ha="right", va="bottom", xytext=(0, 2), textcoords="offset points")
    axes.annotate(
        f"{bandwidth:g} TB/s", (1.5 * least, 1.5 * least * bandwidth), ha="right", va="bottom", xytext=(-4, 2), textcoords="offset points"
    )
    for name, found in _series(rows).items():
        axes.scatter([_intensity(r) for r in found], [_tflops(r) for r in found], s=22, label=name, alpha=0.85, **_style(name))
    axes.set(xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="TFLOP/s", title="Roofline")


def _ratios(axes: Axes, rows: Sequence[Row], result: dict[str, Any]) -> None:
    rows = [row for row in rows if row.get("ratio")]
    cases = _cases(rows)
    widest = max((abs(math.log2(r["ratio"])) for r in rows), default=1.0)
    span = 2 ** (min(widest, 1.2) * 1.1)
    by_schedule: dict[str, list[Row]] = {}
    for row in rows:
        by_schedule.setdefault(row["schedule"], []).append(row)
    for name, found in by_schedule.items():
        axes.scatter([r["ratio"] for r in found], [cases.index(_case(r)) for r in found], s=26, label=name, **_style(name), zorder=3)
        for row in found:  # beyond the axis: said in words at its edge
            if not 1 / span <= row["ratio"] <= span:
                right = row["ratio"] > 1
                place = (span if right else 1 / span, cases.index(_case(row)))
                axes.annotate(f"{name} {row['ratio']:.2f}", place, ha="right" if right else "left", va="center")
    axes.axvline(1, color="#555555", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xlim(1 / span, span)
    axes.set_xticks([t for t in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6, 2) if 1 / span <= t <= span])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_yticks(range(len(cases)), [" ".join([f"{r['m']} x {r['n']} x {r['k']}", *_varying(r, rows)]) for r in map(dict, cases)])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set(xlabel="torch.mm's time / own time, in the same rounds (right of 1 is faster)", title="Against torch.mm")


def _sizes(axes: Axes, rows: Sequence[Row], result: dict[str, Any]) -> None:
    cubes = [row for row in rows if row["m"] == row["n"] == row["k"]]
    squares = len({row["m"] for row in cubes}) > 1
    shown = cubes if squares else list(rows)

    def size(row: Row) -> float:
        return float(row["m"]) if squares else 2.0 * row["m"] * row["n"] * row["k"]

    lines = {name: [(size(r), _tflops(r)) for r in found] for name, found in _series(shown).items()}
    timed = [r for r in shown if r.get("torch_us")]
    for row in timed:
        name = " ".join(["torch.mm", *_varying(row, shown)])
        lines.setdefault(name, []).append((size(row), _tflops(row, "torch_us")))
    dashes = list(dict.fromkeys(name.partition(" ")[2] for name in lines))
    for name, points in lines.items():
        dash = ("-", "--", ":", "-.")[dashes.index(name.partition(" ")[2]) % 4]
        axes.plot(*zip(*sorted(set(points))), label=name, linewidth=1.2, markersize=5, linestyle=dash, **_style(name))
    if squares:
        low, high = min(r["m"] for r in cubes), max(r["m"] for r in cubes)
        axes.set_xscale("log", base=2)
        axes.set_xticks([2**i for i in range(1, 20) if low <= 2**i <= high])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set(xlabel="M = N = K", title="Square products")
    else:
        axes.set(xscale="log", xlabel="FLOP of the product", title="Speed over size")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("TFLOP/s")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
