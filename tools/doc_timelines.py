"""Timelines of the five schedules as SVG, from the timed mode of the emulator: one SM, one lane per warpgroup.

Written as text, without a plotting library: the same trace gives the same bytes, so a stale figure can be told from a
fresh one. Cycles are the emulator's virtual ones (csrc/emulator/costs.h): the figures show order and overlap, not speed.
"""

SHAPE = (512, 768, 512)  # M, N, K
WINDOW = 36_000  # virtual cycles shown, the same in every figure
KERNELS = {
    "multistage": "bf16_bf16_f32_tn_128x256x64_c1x1_s4_multistage_direct",
    "tma": "bf16_bf16_f32_tn_128x256x64_c1x1_s4_tma_tma",
    "warp_specialized": "bf16_bf16_f32_tn_128x256x64_c1x1_s4_warp_specialized_tma",
    "cooperative": "bf16_bf16_f32_tn_128x256x64_c1x1_s4_cooperative_tma",
    "pingpong": "bf16_bf16_f32_tn_128x192x64_c1x1_s4_pingpong_tma",
}
LOAD, MAINLOOP, EPILOGUE = 1, 2, 3  # arch::Activity
COLOURS = {LOAD: "#8fb8de", MAINLOOP: "#2f6f4f", EPILOGUE: "#e0a040"}
INK = {LOAD: "#10304f", MAINLOOP: "#ffffff", EPILOGUE: "#402800"}
WORDS = {LOAD: "load", MAINLOOP: "mainloop", EPILOGUE: "epilogue"}

LEFT, TOP, LANE, GAP, PLOT, RIGHT = 196, 44, 24, 6, 600, 26


def trace(config):
    """Events of one run with one resident CTA."""
    import torch

    import hopper_gemm

    m, n, k = SHAPE
    a, b = torch.ones(m, k).bfloat16(), torch.ones(n, k).bfloat16().t()
    with hopper_gemm.emulator(timed=True, trace=True, sm_count=1) as emulator:
        hopper_gemm.matmul(a, b, config=config)
    return emulator.reports[-1]["trace"]


def roles(schedule, warpgroups):
    """What each warpgroup is for."""
    if schedule == "multistage":
        return ["copies, computes"] * warpgroups
    if schedule == "tma":
        return ["loads, computes"] + ["computes"] * (warpgroups - 1)
    return [f"consumer {i}" for i in range(warpgroups - 1)] + ["producer"]


def bar(event, persistent, y):
    begin, end = (LEFT + min(event[edge], WINDOW) * PLOT / WINDOW for edge in ("begin", "end"))
    tile = event["tile"] if persistent else event["cta"]
    kind, width = event["activity"], end - begin
    # About 5.6 units a letter: a name only where it fits.
    text = next((t for t in (f"{WORDS[kind]} {tile}", f"{tile}") if len(t) * 5.6 < width - 4), "")
    label = f'<text x="{(begin + end) / 2:.1f}" y="{y + 16}" text-anchor="middle" fill="{INK[kind]}">{text}</text>' if text else ""
    return (
        f'<g><title>{WORDS[kind]}, tile {tile}: {event["begin"]} to {event["end"]}</title>'
        f'<rect x="{begin:.1f}" y="{y}" width="{max(width - 0.8, 0.5):.1f}" height="{LANE}" rx="2" fill="{COLOURS[kind]}"/>{label}</g>'
    )


def axis(bottom):
    parts = []
    for cycles in range(0, WINDOW + 1, 6000):
        x = LEFT + cycles * PLOT / WINDOW
        parts.append(f'<path d="M{x:.1f} {bottom} v5" stroke="#888"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555">{cycles:,}</text>')
    parts.append(f'<text x="{LEFT - 10}" y="{bottom + 18}" text-anchor="end" fill="#555">virtual cycles</text>')
    return parts


def legend():
    parts, x = [], LEFT + PLOT - 226
    for kind, word in WORDS.items():
        parts.append(f'<rect x="{x}" y="13" width="12" height="12" rx="2" fill="{COLOURS[kind]}"/>')
        parts.append(f'<text x="{x + 17}" y="23" fill="#333">{word}</text>')
        x += 17 + 8 * len(word) + 10
    return parts


def figure(schedule, events):
    """The SVG of one schedule."""
    persistent = schedule in ("cooperative", "pingpong")
    warpgroups = 1 + max(e["warpgroup"] for e in events)
    names = roles(schedule, warpgroups)
    order = [warpgroups - 1, *range(warpgroups - 1)] if names[-1] == "producer" else range(warpgroups)
    bottom = TOP + warpgroups * (LANE + GAP)
    width, height = LEFT + PLOT + RIGHT, bottom + 28
    tile = KERNELS[schedule].split("_")[4].rsplit("x", 1)[0]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="11">',
        f"<desc>{schedule}: what each warpgroup of one SM does, {tile} tiles, K = {SHAPE[2]}. From the emulator's timed mode "
        "(tools/render_docs.py).</desc>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff" stroke="#dddddd"/>',
        f'<text x="14" y="24" font-size="14" font-weight="bold" fill="#222">{schedule}</text>',
        f'<text x="{LEFT}" y="24" fill="#555">{tile} tiles, K = {SHAPE[2]}, one SM</text>',
        *legend(),
    ]
    for lane, warpgroup in enumerate(order):
        y = TOP + lane * (LANE + GAP)
        parts.append(f'<text x="14" y="{y + 16}" fill="#222">warpgroup {warpgroup}</text>')
        parts.append(f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end" font-size="10" fill="#777">{names[warpgroup]}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{PLOT}" height="{LANE}" fill="#f4f4f4"/>')
        shown = [e for e in events if e["warpgroup"] == warpgroup and e["activity"] in WORDS and e["begin"] < WINDOW]
        parts += [bar(e, persistent, y) for e in sorted(shown, key=lambda e: e["begin"])]
    if not persistent:
        starts = {c: min(e["begin"] for e in events if e["cta"] == c) for c in {e["cta"] for e in events}}
        for cta, begin in sorted(starts.items()):
            if 0 < cta and begin < WINDOW:
                x = LEFT + begin * PLOT / WINDOW - 2
                parts.append(f'<path d="M{x:.1f} {TOP - 8} V{bottom}" stroke="#b03030" stroke-dasharray="3 2"/>')
                parts.append(f'<text x="{x + 4:.1f}" y="{TOP - 2}" font-size="9" fill="#b03030">CTA {cta} starts</text>')
    return "\n".join([*parts, *axis(bottom), "</svg>", ""])


def figures():
    """{file name: SVG} of all five."""
    return {f"timeline_{schedule}.svg": figure(schedule, trace(config)) for schedule, config in KERNELS.items()}
