"""docs/verdict.svg, the picture of an audit's verdict, from the audit's own figures.

`chase audit … --json > audit.json`, then `python docs/make_verdict.py audit.json`: the figures that are drawn are kept
in docs/verdict.json. Without a file the picture is drawn anew from those.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

DOCS = Path(__file__).resolve().parent
FIGURES, PICTURE = DOCS / "verdict.json", DOCS / "verdict.svg"
KEPT = ("benchmark", "model", "simulated", "verdict", "reason", "g_rel", "gamma", "g_min", "scores")
KEPT_COUNTS = ("confirm_tasks", "search_tasks", "level")
KEPT_OF_EACH = ("what", "status", "gain", "destruction", "log_odds")

WIDTH, TOP, ROW, LEFT, RIGHT = 760, 138, 40, 236, 520
"""The plot lies between LEFT and RIGHT; the labels are left of it, the gain destructions right of it."""
TONES = {
    **dict.fromkeys(("not supported", "in doubt", "untested"), "#c0392b"),
    "partly supported": "#b9770e",
    "supported": "#1e8449",
}
STYLE = """\
  <style>
    text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
    .small { font-size: 12px } .soft { fill: #57606a } .strong { font-weight: 600 } .end { text-anchor: end }
    .middle { text-anchor: middle } .verdict { font-size: 19px; font-weight: 700 }
    .card { fill: #ffffff; stroke: #d0d7de } .zero { stroke: #57606a } .grid { stroke: #eaeef2 }
    .gain { fill: #6e7781 } .lost { fill: #c0392b } .whisker { stroke: #24292f; stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .soft { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .zero { stroke: #9198a1 }
      .grid { stroke: #21262d } .gain { fill: #9198a1 } .lost { fill: #f47067 } .whisker { stroke: #e6edf3 }
    }
  </style>"""

Figures = Mapping[str, Any]


def figures(audit: Figures) -> dict[str, Any]:
    """Of an audit's JSON, what is drawn or told."""
    each = [{key: found[key] for key in KEPT_OF_EACH} for found in (*audit["confirmed"], *audit["not_confirmed"])]
    return {**{key: audit[key] for key in KEPT + KEPT_COUNTS}, "tested": each}


def draw(audit: Figures) -> str:
    """The picture: one bar for the gain as released, one for the gain under each counterfactual that was tested."""
    rows = [("as released", audit["g_rel"], None), *((_label(t["what"]), t["gain"], t) for t in audit["tested"])]
    scale = _Scale(rows)
    bottom = TOP + ROW * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 64}" width="{WIDTH}" '
        f'height="{bottom + 64}" role="img" aria-labelledby="title desc">',
        f'  <title id="title">{escape(_title(audit))}</title>',
        f'  <desc id="desc">{escape(_description(audit, rows))}</desc>',
        STYLE,
        f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 63}" rx="8"/>',
        *_heading(audit),
        *_axis(scale, bottom),
    ]
    for number, (label, estimate, tested) in enumerate(rows):
        lines += _row(scale, TOP + ROW * number, label, estimate, tested)
    return "\n".join([*lines, *_footnotes(audit, bottom), "</svg>"]) + "\n"


class _Scale:
    """From a gain in points to a place on the plot, with ticks."""

    def __init__(self, rows: list[tuple[str, Figures, Figures | None]]) -> None:
        low = min(0.0, *(100 * estimate["low"] for _, estimate, _ in rows))
        high = max(0.0, *(100 * estimate["high"] for _, estimate, _ in rows))
        step = 5 if high - low <= 40 else 20
        self.low, self.high = step * int(low // step), -step * int(-high // step)
        self.ticks = range(self.low, self.high + 1, step)

    def __call__(self, points: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (points - self.low) / (self.high - self.low), 1)


def _heading(audit: Figures) -> Iterator[str]:
    tone = TONES.get(audit["verdict"], "#57606a")
    gain, scores = audit["g_rel"], audit["scores"]
    yield f'  <rect x="24" y="22" width="5" height="46" rx="2.5" fill="{tone}"/>'
    yield f'  <text class="verdict" x="42" y="42">The gain is {audit["verdict"].upper()}</text>'
    yield f'  <text class="soft" x="42" y="64">{escape(audit["reason"])}</text>'
    told = f"{_percent(scores['baseline'])} to {_percent(scores['harness'])}, {_points(gain['value'])} points"
    yield f'  <text class="strong end" x="{WIDTH - 24}" y="42">{told}</text>'
    yield f'  <text class="end" x="{WIDTH - 24}" y="64">surviving gain {_points(audit["g_min"])} points</text>'
    yield f'  <text class="small soft middle" x="{(LEFT + RIGHT) / 2:g}" y="100">gain over H_0, in points</text>'
    yield f'  <text class="small soft" x="{RIGHT + 24}" y="100">gain destruction</text>'


def _axis(scale: _Scale, bottom: int) -> Iterator[str]:
    for tick in scale.ticks:
        kind, x = ("zero" if tick == 0 else "grid"), scale(tick)
        yield f'  <line class="{kind}" x1="{x}" x2="{x}" y1="{TOP - 10}" y2="{bottom - 6}"/>'
        yield f'  <text class="small soft middle" x="{x}" y="{TOP - 16}">{_signed(tick, 0)}</text>'


def _row(scale: _Scale, y: int, label: str, estimate: Figures, tested: Figures | None) -> Iterator[str]:
    value, zero = scale(100 * estimate["value"]), scale(0)
    low, high, middle = scale(100 * estimate["low"]), scale(100 * estimate["high"]), y + 14
    kind = "gain" if tested is None or tested["status"] != "confirmed" else "lost"
    bold = ' class="end strong"' if tested is None else ' class="end"'
    lines = label.split(", then ")
    for place, line in enumerate(lines):
        height = middle + 5 + 16 * (place - (len(lines) - 1) / 2)
        yield f'  <text{bold} x="{LEFT - 16}" y="{height:g}">{escape(line)}</text>'
    left, width = min(value, zero), round(abs(value - zero), 1)
    yield f'  <rect class="{kind}" x="{left}" y="{y + 3}" width="{width}" height="22" rx="2"/>'
    yield f'  <line class="whisker" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>'
    for x in (low, high):
        yield f'  <line class="whisker" x1="{x}" x2="{x}" y1="{middle - 4}" y2="{middle + 4}"/>'
    if tested is not None:
        lost = tested["destruction"]
        told = f"{_points(lost['value'])} ({_points(lost['low'])} to {_points(lost['high'])})"
        yield f'  <text x="{RIGHT + 24}" y="{middle + 5}">{told}</text>'


def _footnotes(audit: Figures, bottom: int) -> Iterator[str]:
    level = f"{100 * audit['level']:.0f} %"
    note = f"{level} intervals: released gain and gain destructions hold together, and so do the other gains."
    if audit["simulated"]:
        source = f"Simulated reader ({audit['model']}), not a language model"
    else:
        source = str(audit["model"])
    tasks = f"{audit['confirm_tasks']} fresh tasks of {audit['benchmark']}"
    yield f'  <text class="small soft" x="24" y="{bottom + 24}">{escape(note)}</text>'
    yield f'  <text class="small strong" x="24" y="{bottom + 44}">{escape(source)}; {escape(tasks)}.</text>'


def _label(what: str) -> str:
    return re.sub(r"(?<!at once) \([^)]*\)| between files", "", what)


def _title(audit: Figures) -> str:
    return f"An audit's verdict: the gain is {audit['verdict']}"


def _description(audit: Figures, rows: list[tuple[str, Figures, Figures | None]]) -> str:
    gains = "; ".join(f"{label} {_points(estimate['value'])}" for label, estimate, _ in rows)
    reader = "a simulated reader, not a language model" if audit["simulated"] else audit["model"]
    tasks = f"{audit['confirm_tasks']} fresh tasks of {audit['benchmark']}"
    verdict = f"The gain is {audit['verdict']}: {audit['reason']}."
    return f"{verdict} Gain over the initial harness in points, on {tasks}, with {reader}: {gains}."


def _points(share: float) -> str:
    return _signed(100 * share, 1)


def _signed(points: float, digits: int) -> str:
    return f"{points:+.{digits}f}".replace("-", "−") if points else "0"


def _percent(estimate: Figures) -> str:
    return f"{100 * estimate['value']:.1f} %"


def main(arguments: list[str]) -> None:
    if arguments:
        audit = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        FIGURES.write_text(json.dumps(figures(audit), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(draw(json.loads(FIGURES.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
