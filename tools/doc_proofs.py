"""The tables of what was shown on a card: property test, accuracy beside torch, problems others are slow at."""

from doc_tables import grid, head, shape_text, unique


def property_test(results, _):
    result = results.get("property")
    if not result:
        return ""
    lines = [[name, f"{count:,}"] for name, count in result["cases"].items()]
    failures = result["failures_in_all"]
    refused = sum(result["refused_by_named_schedules"].values())
    verdict = (
        f"{result['cases_in_all']:,} cases, {failures or 'no'} failure{'s' * (failures != 1)}, {result['seconds']:.0f} s, "
        f"seed {result['seed']}; {refused:,} more were refused because the schedule they named cannot do them."
    )
    return f"{grid(['inputs', 'cases'], lines)}\n\n{verdict}\n\n{head(result)}"


def accuracy(results, _):
    result = results.get("accuracy")
    if not result or not result["rows"]:
        return ""
    rows = result["rows"]
    ks = unique(r["k"] for r in rows)
    lines = []
    for name, output in unique((r["type"], r["output"]) for r in rows):
        cells = []
        for k in ks:
            row = next((r for r in rows if (r["type"], r["output"], r["k"]) == (name, output, k)), None)
            if row is None:
                cells.append("-")
            elif row["torch_rms"] == row["rms"] == 0:
                cells.append("exact")
            else:
                mark = "" if row["ok"] else " **above**"
                cells.append(f"{row['rms']:.1e} ({row['rms_ratio']:.2f}, {row['max_ratio']:.2f}){mark}")
        worst = max((r["adversarial"] for r in rows if (r["type"], r["output"]) == (name, output) and "adversarial" in r), default=None)
        lines.append([f"{name} -> {output}", *cells, "-" if worst is None else f"{worst:.2f}"])
    header = ["arithmetic -> output", *(f"K = {k:,}" for k in ks), "of the bound"]
    about = (
        "RMS error relative to the RMS of the result and, in brackets, our RMS and our largest error as multiples of torch's. "
        "The last column is our largest error on sums that cancel, as a part of the bound."
    )
    return f"{about}\n\n{grid(header, lines)}\n\n{head(result)}"


def any_problem(results, _):
    result = results.get("any_problem")
    if not result or not result["rows"]:
        return ""
    lines = []
    for r in result["rows"]:
        asked = f"{r['limit']:.2f}" if r["limit"] else "-"
        torch_us, ratio = (f"{r['torch_us']:.1f}", f"{r['ratio']:.2f}") if r["ratio"] else ("-", "-")
        beside = f"{r['of_beside']:.3f} of {r['beside']}, at most {r['beside_limit']}" if r["of_beside"] else ""
        about = f"`{r['about']}`" if r["topic"] == "plain" else r["about"]
        lines.append([shape_text(r), r["dtype"], about, f"{r['us']:.1f}", torch_us, ratio, asked, beside, f"{r['tflops']:.0f}"])
    header = ["M x N x K", "type", "problem", "us", "torch us", "ratio", "at least", "our own time", "TFLOP/s"]
    return f"{grid(header, lines, left=3)}\n\n{head(result)}"


TABLES = {"property": property_test, "accuracy": accuracy, "any_problem": any_problem}
