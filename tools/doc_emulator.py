"""The tables of the emulator's runs: every kernel under many seeds, and how long one product takes."""

import re

from doc_tables import grid, head

SCHEDULES = re.compile("multistage|warp_specialized|cooperative|pingpong|tma")


def check_kernels(results, _):
    result = results.get("check_kernels")
    if not result or not result["kernels"]:
        return ""
    by_schedule = {}
    for row in result["kernels"]:
        by_schedule.setdefault(SCHEDULES.search(row["kernel"])[0], []).append(row)

    def line(name, rows):
        runs, findings = sum(r["runs"] for r in rows), sum(r["findings"] for r in rows)
        return [name, str(len(rows)), f"{runs:,}", str(findings), f"{sum(r['seconds'] for r in rows) / runs:.2f} s"]

    lines = [line(name, rows) for name, rows in by_schedule.items()]
    lines.append(line("all", result["kernels"]))
    return f"{grid(['schedule', 'kernels', 'runs', 'runs with findings', 'a run'], lines)}\n\n{head(result)}"


def emulator_speed(results, _):
    result = results.get("emulator_speed")
    if not result or not result["rows"]:
        return ""
    lines = [[f"`{r['kernel']}`", f"{r['multiplied_s']:.2f} s", f"{r['protocol_s']:.2f} s"] for r in result["rows"]]
    return f"{grid(['kernel, 256x256x256', 'multiplied out', 'without arithmetic'], lines)}\n\n{head(result)}"


TABLES = {"check_kernels": check_kernels, "emulator_speed": emulator_speed}
