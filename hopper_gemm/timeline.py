"""A timed run of one kernel on the emulator as a picture (SVG) or as a trace for Perfetto / chrome://tracing (JSON).

Per warpgroup: what it is doing (load, mainloop, epilogue), where it waits, which transfers and wgmma groups are in flight.
Times are virtual cycles: their proportions follow the hardware's rates, the numbers do not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from .check import Operands, check_extents, emulated, resolve
from .config import Config
from .registry import Kernel

ACTIVITIES = ("idle", "load", "mainloop", "epilogue")
SPANS = ("wait", "transfer", "mma", "store")
WAITS = ("full", "empty", "order_mainloop", "order_epilogue")
SPAN_STAGES = 64  # kSpanStages of include/hopper_gemm.h
COLORS = {
    "load": "#6b9bd1",
    "mainloop": "#4f8a5b",
    "epilogue": "#d98f3f",
    "wait": "#c9c9c9",
    "transfer": "#9fc1e6",
    "mma": "#86b891",
    "store": "#ecc08a",
}


@dataclass(frozen=True)
class Event:
    """Something a warpgroup did or had in flight, in virtual cycles."""

    begin: int
    end: int
    cta: int
    warpgroup: int
    kind: str  # of ACTIVITIES or SPANS
    label: str


@dataclass(frozen=True)
class Timeline:
    kernel: str
    shape: tuple[int, int, int]
    events: tuple[Event, ...]

    @property
    def cycles(self) -> int:
        return max((event.end for event in self.events), default=0)

    def svg(self, cta: int | None = None, width: int = 1200) -> str:
        """Of one CTA (the first one, if not said): for each warpgroup a row of activities and rows of what is in flight."""
        shown = [e for e in self.events if e.cta == (min(x.cta for x in self.events) if cta is None else cta) and e.kind != "idle"]
        return _svg(f"{self.kernel}, {'x'.join(map(str, self.shape))}", shown, max(self.cycles, 1), width)

    def chrome_trace(self) -> dict[str, Any]:
        """Chrome's trace event format: one process a CTA, one thread a row; a cycle is shown as a microsecond."""
        records: list[dict[str, Any]] = []
        for event in self.events:
            if event.kind == "idle":
                continue
            records.append(
                {
                    "name": event.label,
                    "cat": event.kind,
                    "ph": "X",
                    "ts": event.begin,
                    "dur": event.end - event.begin,
                    "pid": event.cta,
                    "tid": f"warpgroup {event.warpgroup}{'' if event.kind in ACTIVITIES else ' ' + event.kind}",
                }
            )
        return {"traceEvents": records, "otherData": {"kernel": self.kernel, "shape": "x".join(map(str, self.shape))}}

    def save(self, path: str | Path) -> Path:
        """Writes an SVG, or a trace for `.json`."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.chrome_trace()) if path.suffix == ".json" else self.svg(), encoding="utf-8")
        return path


def timeline(kernel: str | Kernel | Config, m: int, n: int, k: int, *, sm_count: int = 2) -> Timeline:
    """Runs a kernel once in the emulator's timed mode.

    >>> hopper_gemm.timeline("bf16_bf16_f32_tn_128x128x64_c1x1_s6_pingpong_tma", 512, 512, 512).save("pingpong.svg")
    """
    found = resolve(kernel)
    check_extents(m, n, k)
    report = emulated(found, Operands.of(found, m, n, k), timed=True, trace=True, protocol_only=True, sm_count=max(sm_count, found.cluster_size))
    events = [
        Event(e["begin"], e["end"], e["cta"], e["warpgroup"], ACTIVITIES[e["activity"]], f"{ACTIVITIES[e['activity']]} {e['tile']}")
        for e in report["trace"]
    ]
    events += [Event(s["begin"], s["end"], s["cta"], s["warpgroup"], SPANS[s["kind"]], _span_label(s)) for s in report["spans"]]
    return Timeline(found.name, (m, n, k), tuple(sorted(events, key=lambda e: (e.cta, e.warpgroup, e.begin))))


def _span_label(span: dict[str, int]) -> str:
    kind, stage = SPANS[span["kind"]], span["stage"]
    if kind == "wait":
        return f"wait {WAITS[stage // SPAN_STAGES]}[{stage % SPAN_STAGES}]"
    return f"load stage {stage}" if kind == "transfer" else kind


def _svg(title: str, events: list[Event], cycles: int, width: int) -> str:
    left, row_height, top = 150, 18, 30
    rows: dict[tuple[int, str], int] = {}
    for warpgroup in sorted({e.warpgroup for e in events}):
        for name, kinds in (("role", ACTIVITIES), *((kind, (kind,)) for kind in SPANS)):
            if any(e.warpgroup == warpgroup and e.kind in kinds for e in events):
                rows[(warpgroup, name)] = len(rows)
    height = top + row_height * len(rows) + 10
    scale = (width - left - 10) / cycles
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="white"/><text x="6" y="16" font-size="12">{escape(title)}: {cycles} cycles</text>',
    ]
    for (warpgroup, name), row in rows.items():
        y = top + row * row_height
        parts.append(f'<text x="6" y="{y + 12}">warpgroup {warpgroup} {"" if name == "role" else name}</text>')
    for event in events:
        y = top + rows[(event.warpgroup, "role" if event.kind in ACTIVITIES else event.kind)] * row_height
        x, length = left + event.begin * scale, max((event.end - event.begin) * scale, 0.5)
        parts.append(
            f'<rect x="{x:.1f}" y="{y + 2}" width="{length:.1f}" height="{row_height - 4}" fill="{COLORS[event.kind]}" stroke="white" '
            f'stroke-width="0.3"><title>{escape(event.label)}: {event.begin} to {event.end}</title></rect>'
        )
        if event.kind in ACTIVITIES and length > 60:
            parts.append(f'<text x="{x + 3:.1f}" y="{y + 12}" fill="white">{escape(event.label)}</text>')
    return "\n".join([*parts, "</svg>\n"])
