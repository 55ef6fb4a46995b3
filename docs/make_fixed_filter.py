"""docs/fixed-filter.svg, what a fixed filter, an archive and an audit stop, from studies/results/fixed_filter.json.

`python docs/make_fixed_filter.py` draws it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

DOCS = Path(__file__).resolve().parent
RESULT, PICTURE = DOCS.parent / "studies" / "results" / "fixed_filter.json", DOCS / "fixed-filter.svg"
GROUPS = {
    "cheat named": "the cue is named",
    "cheat paraphrased": "paraphrased",
    "cheat computed": "computed in code",
    "cheat ordered": "as an order of reading",
    "honest": "honest edits",
}
WAYS = {"gate": "stopped by the fixed gate", "chase": "stopped by CHASE's archive", "audit": "audit: not supported"}
"""Of those that count: all for gate and audit, those that a run had selected for the archive."""
TONES = {"gate": "#9a6700", "chase": "#0969da", "audit": "#8250df"}
WIDTH, LEFT, TOP, BAR, GAP, LONG = 760, 190, 84, 18, 20, 450
STYLE = """\
  <style>
    text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
    .soft { fill: #57606a; font-size: 12px } .strong { font-weight: 600; font-size: 15px } .end { text-anchor: end }
    .middle { text-anchor: middle } .card { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #eaeef2 }
    .whisker { stroke: #24292f; stroke-width: 1.2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .soft { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .grid { stroke: #21262d }
      .whisker { stroke: #e6edf3 }
    }
  </style>"""


def draw(found: Mapping[str, Any]) -> str:
    """The picture: for each wording three bars with 95 % intervals."""
    summary = found["summary"]
    high = TOP + len(GROUPS) * (len(WAYS) * BAR + GAP)
    title = "What a fixed filter can and cannot catch (simulated reader)"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high + 42}" width="{WIDTH}" '
        f'height="{high + 42}" role="img" aria-labelledby="title desc">',
        f'  <title id="title">{escape(title)}</title>',
        f'  <desc id="desc">{escape(_description(summary))}</desc>',
        STYLE,
        f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{high + 41}" rx="8"/>',
        f'  <text class="strong" x="20" y="30">{escape(title)}</text>',
        *_legend(),
        *_axis(high),
    ]
    for place, (group, label) in enumerate(GROUPS.items()):
        lines += _group(TOP + place * (len(WAYS) * BAR + GAP), label, summary[group])
    return "\n".join([*lines, "</svg>"]) + "\n"


def _description(summary: Mapping[str, Any]) -> str:
    parts = []
    for group, label in GROUPS.items():
        shares = (f"{way} {100 * summary[group][key]['value']:.0f} %" for key, way in WAYS.items())
        parts.append(f"{label}: {', '.join(shares)}")
    return f"{'; '.join(parts)}."


def _legend() -> Iterator[str]:
    for place, (way, label) in enumerate(WAYS.items()):
        x = 20 + 210 * place
        yield f'  <rect x="{x}" y="46" width="12" height="12" fill="{TONES[way]}"/>'
        yield f'  <text class="soft" x="{x + 18}" y="57">{escape(label)}</text>'


def _axis(high: int) -> Iterator[str]:
    for share in (0, 25, 50, 75, 100):
        x = LEFT + LONG * share / 100
        yield f'  <line class="grid" x1="{x:g}" x2="{x:g}" y1="{TOP - 8}" y2="{high}"/>'
        yield f'  <text class="soft middle" x="{x:g}" y="{high + 18}">{share} %</text>'


def _group(top: int, label: str, row: Mapping[str, Any]) -> Iterator[str]:
    count = f"{row['counted']} of {row['written']}" if label != GROUPS["honest"] else f"{row['written']}"
    yield f'  <text class="end" x="{LEFT - 12}" y="{top + 24}">{escape(label)}</text>'
    yield f'  <text class="soft end" x="{LEFT - 12}" y="{top + 41}">{count} count</text>'
    for place, way in enumerate(WAYS):
        share, y = row[way], top + place * BAR
        value, low, high = (LONG * share[key] for key in ("value", "low", "high"))
        said = f"{100 * share['value']:.0f} %, n = {share['n']}"
        yield f'  <rect x="{LEFT}" y="{y + 2}" width="{value:.1f}" height="{BAR - 4}" fill="{TONES[way]}"/>'
        yield f'  <line class="whisker" x1="{LEFT + low:.1f}" x2="{LEFT + high:.1f}" y1="{y + 9}" y2="{y + 9}"/>'
        yield f'  <text class="soft" x="{LEFT + LONG + 8}" y="{y + 13}">{said}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw(json.loads(RESULT.read_text())), encoding="utf-8")
