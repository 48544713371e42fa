"""The tables of speed against others: sets of the suites, the selector against every kernel, dependent chains, host time."""

from doc_tables import grid, head, shape_text


def sets(results, argument):
    """The sets of suite.json (or the named result), with what each has to reach."""
    result = results.get(argument or "suite")
    if not result or not result.get("sets"):
        return ""
    lines = [
        [s["set"], str(s["shapes"]), f"{s['mean']:.3f}", f"{s['mean_limit']:.2f}", f"{s['least']:.3f}", f"{s['least_limit']:.2f}"]
        for s in result["sets"]
    ]
    return f"{grid(['set', 'shapes', 'geometric mean', 'asked', 'least', 'asked'], lines)}\n\n{head(result)}"


def against_peers(results, argument):
    """Every shape that was compared with the better of the other libraries."""
    result = results.get(argument or "suite")
    rows = [r for r in result["rows"] if r.get("peer")] if result else []
    if not rows:
        return ""
    lines = [
        [shape_text(r), r["layout"], f"{r['us']:.1f}", f"{r['torch_us']:.1f}", f"{r['ratio']:.3f}", r["peer"], f"{r['peer_us']:.1f}", f"{r['peer_ratio']:.3f}"]
        for r in rows
    ]
    header = ["M x N x K", "layout", "us", "torch us", "ratio", "better peer", "us", "ratio"]
    align = grid(header, lines, left=2)
    return f"{align}\n\n{head(result)}"


def selector(results, _):
    result = results.get("selector")
    if not result or not result["rows"]:
        return ""
    s = result["summary"]
    far = [r for r in sorted(result["rows"], key=lambda r: -r["ratio"]) if r["ratio"] > 1.02][:12]
    lines = [[shape_text(r), f"`{r['chosen']}`", f"{r['us']:.1f}", f"`{r['best']}`", f"{r['best_us']:.1f}", f"{r['ratio']:.3f}"] for r in far]
    about = (
        f"{s['shapes']} random shapes (seed {result['seed']}): the kernel that was chosen takes {s['mean']:.3f} x the time of the best of the "
        f"build in the geometric mean, {s['worst']:.3f} x at worst."
    )
    table = grid(["M x N x K", "chosen", "us", "best", "us", "ratio"], lines, left=2) if lines else ""
    return "\n\n".join(filter(None, [about, table and "Where it was more than 2% away:", table, head(result)]))


def chains(results, _):
    result = results.get("chains")
    if not result or not result["rows"]:
        return ""
    lines = [
        [r["chain"], str(r["products"]), f"{r['us']:.0f}", f"{r['torch_us']:.0f}", f"{r['floor_us']:.0f}", f"{r['of_torch']:.3f}", f"{r['limit']:.2f}"]
        for r in result["rows"]
    ]
    header = ["products that depend on each other", "products", "us", "torch us", "floor us", "of torch's time", "at most"]
    if all("static_us" in r for r in result["rows"]):
        header[6:6] = ["us, static weights", "of torch's time"]
        for line, r in zip(lines, result["rows"]):
            line[6:6] = [f"{r['static_us']:.0f}", f"{r['static_of_torch']:.3f}"]
    return f"{grid(header, lines)}\n\n{head(result)}"


def host(results, _):
    result = results.get("host")
    if not result or not result["rows"]:
        return ""
    lines = []
    for r in result["rows"]:
        ratio, limit = (f"{r['of_it']:.2f} of `{r['against']}`", f"{r['limit']:.2f}") if "limit" in r else ("", "")
        lines.append([f"`{r['call']}`", f"{r['us']:.2f}", ratio, limit])
    return f"{grid(['call', 'us on the CPU', 'ratio', 'at most'], lines)}\n\n{head(result)}"


def epilogue(results, _):
    """What an option costs beyond a plain product, and torch doing the same."""
    result = results.get("epilogue")
    if not result or not result["rows"]:
        return ""
    lines = [
        [shape_text(r), r["options"], f"{r['plain_us']:.1f}", f"{r['extra_us']:+.1f}", f"{r['torch_us']:.1f}", f"{r['ratio']:.3f}"]
        for r in result["rows"]
        if r["options"] != "plain"
    ]
    return f"{grid(['M x N x K', 'options', 'plain us', 'beyond it, us', 'torch us', 'ratio'], lines, left=2)}\n\n{head(result)}"


TABLES = {"epilogue": epilogue, "sets": sets, "peers": against_peers, "selector": selector, "chains": chains, "host": host}
