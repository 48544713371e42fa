"""The measured tables of the documentation, as Markdown, from benchmarks/results/*.json. Nothing here invents a number.

Block names: `schedules` (five schedules side by side), `ladder` (what each schedule gains over the one before it),
`errors` (every error text, from the sources), `session NAME` (what a command printed on a GPU), `newcomer` (README, done and timed), `bench X [schedule]` (every
row of X.json, or those of one schedule; X/Y: the first that exists), `ablation TOPIC` (one topic of ablation.json),
`correctness`; `property`, `accuracy` and `any_problem` are made by tools/doc_proofs.py, `check_kernels` and `emulator_speed` by tools/doc_emulator.py, `sets X`, `peers X`, `selector`, `chains` and `host` by
tools/doc_speed.py.
"""

import json
import math

import doc_errors
from sources_hash import sources_sha

NOT_MEASURED = "*Not measured yet.*"
SCHEDULES = ("multistage", "tma", "warp_specialized", "cooperative", "pingpong")


def load_results(folder):
    """{stem: result object} of the recorded runs."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def notes(root):
    """Results measured on other sources than those of this tree."""
    current = sources_sha(root)
    for name, result in load_results(root / "benchmarks" / "results").items():
        if result.get("sources_sha") not in (None, current):
            yield f"benchmarks/results/{name}.json was measured at sources {result['sources_sha']}, these are {current}"


def table(name, results):
    """The text of one block."""
    import doc_emulator
    import doc_proofs
    import doc_speed

    kind, _, argument = name.partition(" ")
    makers = {"schedules": schedules, "ladder": ladder, "bench": bench, "ablation": ablation, "correctness": correctness}
    makers |= doc_proofs.TABLES | doc_emulator.TABLES | doc_speed.TABLES
    makers |= {"errors": lambda results, argument: doc_errors.table(), "session": session, "newcomer": newcomer}
    if kind not in makers:
        raise ValueError(f"unknown table {name!r}: one of {', '.join(makers)}")
    return makers[kind](results, argument) or NOT_MEASURED


def head(result):
    """One line: on what, when and from which commit."""
    parts = [str(result.get("gpu") or "no GPU")]
    if result.get("power_limit_w"):
        parts.append(f"{result['power_limit_w']:.0f} W")
    parts += [f"torch {result.get('torch')}", f"CUDA {result.get('cuda')}"]
    if result.get("mode") in ("sustained", "burst"):
        parts.append(result["mode"])
    parts += [f"{result.get('date')}", f"commit {str(result.get('commit') or 'unknown')[:12]}"]
    return f"*{', '.join(parts)}.*"


def grid(header, rows, left=1):
    """A Markdown table; the first `left` columns are text, the others numbers."""
    align = ["---" if i < left else "---:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, align, *rows])


def shape_text(row):
    m, n, k = row["m"], row["n"], row["k"]
    return f"{m}³" if m == n == k else f"{m} x {n} x {k}"


def tflops(row):
    return 2e-6 * row["m"] * row["n"] * row["k"] / row["us"]


def unique(values):
    return list(dict.fromkeys(values))


def best(rows):
    """The row with the highest ratio to torch, or None."""
    return max((r for r in rows if r.get("ratio")), key=lambda r: r["ratio"], default=None)


def schedules(results, _):
    result = results.get("schedules")
    if not result or not result["rows"]:
        return ""
    rows = result["rows"]
    cases = unique((shape_text(r), r["layout"]) for r in rows)
    lines = []
    for name in (*SCHEDULES, "auto"):
        cells = []
        for case in cases:
            row = best(r for r in rows if r["schedule"] == name and (shape_text(r), r["layout"]) == case)
            cells.append(f"{tflops(row):.0f} ({row['ratio']:.2f})" if row else "-")
        if any(cell != "-" for cell in cells):
            lines.append([f"`{name}`", *cells])
    header = ["schedule", *(f"{shape} {layout}" for shape, layout in cases)]
    about = "TFLOP/s, and in brackets the ratio to `torch.mm` in the same rounds (above 1 is faster)."
    return f"{about}\n\n{grid(header, lines)}\n\n{head(result)}"


def ladder(results, _):
    result = results.get("schedules")
    if not result or not result["rows"]:
        return ""
    rows = [r for r in result["rows"] if r["layout"] == "tn" and r["dtype"] == "bf16"]
    shapes = unique(shape_text(r) for r in rows)
    lines, before = [], {}
    for name in SCHEDULES:
        cells = []
        for shape in shapes:
            row = best(r for r in rows if r["schedule"] == name and shape_text(r) == shape)
            if row is None:
                cells += ["-", "-"]
                continue
            gain = f"{100 * (row['ratio'] / before[shape] - 1):+.0f}%" if shape in before else ""
            cells += [f"{tflops(row):.0f}", gain]
            before[shape] = row["ratio"]
        lines.append([f"`{name}`", *cells])
    header = ["schedule", *(text for shape in shapes for text in (f"{shape}, TFLOP/s", "gain"))]
    about = "bf16, both operands K-major. The gain is over the row above, from the ratios to `torch.mm`."
    return f"{about}\n\n{grid(header, lines)}\n\n{head(result)}"


def bench(results, argument):
    name, _, only = argument.partition(" ")
    result = next((results[n] for n in name.split("/") if n in results), None)
    rows = [r for r in result["rows"] if only in ("", r["schedule"])] if result else []
    if not rows:
        return ""
    lines = []
    for r in rows:
        torch_us, ratio = (f"{r['torch_us']:.1f}", f"{r['ratio']:.3f}") if r.get("ratio") else ("-", "-")
        lines.append(
            [shape_text(r), r["dtype"], r["layout"], r["schedule"], f"`{r['kernel']}`", f"{r['us']:.1f}", torch_us, ratio]
            + [f"{r['floor_us']:.1f}", f"{100 * r['floor_us'] / r['us']:.0f}%", f"{tflops(r):.0f}"]
        )
    header = ["M x N x K", "type", "layout", "schedule", "kernel", "us", "torch us", "ratio", "floor us", "of floor", "TFLOP/s"]
    means = []
    for schedule in unique(r["schedule"] for r in rows):
        ratios = [r["ratio"] for r in rows if r["schedule"] == schedule and r.get("ratio")]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            means.append(f"`{schedule}`: geometric mean {mean:.3f} over {len(ratios)} rows, least {min(ratios):.3f}.")
    return "\n\n".join([grid(header, lines, left=5), "\n".join(means), head(result)])


def ablation(results, topic):
    result = results.get("ablation")
    rows = [r for r in result["rows"] if r["topic"] == topic] if result else []
    if not rows:
        return ""
    shapes = unique(shape_text(r) for r in rows)
    parts = []
    for about, dtype, layout in unique((r["about"], r["dtype"], r["layout"]) for r in rows):
        group = [r for r in rows if (r["about"], r["dtype"], r["layout"]) == (about, dtype, layout)]
        lines = []
        for variant in unique(r["variant"] for r in group):
            cells = []
            for shape in shapes:
                row = next((r for r in group if r["variant"] == variant and shape_text(r) == shape), None)
                change = "" if not row or row["variant"] == row["baseline"] else f"{100 * (row['speed'] - 1):+.1f}%"
                cells += [f"{row['tflops']:.0f}", change or "base"] if row else ["-", "-"]
            lines.append([f"`{variant}`" if variant.count("_") > 3 else variant, *cells])
        header = ["variant", *(text for shape in shapes for text in (f"{shape}, TFLOP/s", "speed"))]
        parts.append(f"{about} ({dtype}, {layout}):\n\n{grid(header, lines)}")
    return "\n\n".join([*parts, head(result)])


def session(results, name):
    """What a command printed on a GPU (tools/record_sessions.py), as a console block."""
    result = results.get("sessions")
    row = next((r for r in result["rows"] if r["name"] == name and r["status"] == 0), None) if result else None
    if row is None:
        return ""
    return "\n".join([f"```console recorded: {head(result).strip('*.')}", f"$ {row['command']}", *row["lines"], "```"])


def newcomer(results, _):
    result = results.get("newcomer")
    if not result:
        return ""
    rows = [[f"`{r['command']}`", r["for"], f"{r['seconds']:.0f} s" if r["seconds"] >= 10 else f"{r['seconds']:.1f} s"] for r in result["rows"]]
    return f"{grid(['command', 'does', 'took'], rows, left=2)}\n\n*{result['machine']}; {head(result).strip('*')}*"


def correctness(results, _):
    result = results.get("correctness")
    if not result:
        return ""
    lines = [
        [group, str(len(counts)), f"{sum(counts.values()):,}"] for group, counts in result["cases"].items()
    ]
    failures = len(result["failures"])
    verdict = f"{result['cases_in_all']:,} cases, {failures or 'no'} failure{'s' * (failures != 1)}, {result['seconds']:.0f} s."
    return f"{grid(['group', 'combinations', 'cases'], lines)}\n\n{verdict}\n\n{head(result)}"
