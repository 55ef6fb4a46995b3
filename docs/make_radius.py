"""docs/radius.svg, the radius of a certificate against the number of tasks, from studies/results/certificates.json.

`python -m studies.certificates` makes the figures, `python docs/make_radius.py` draws them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parent
FIGURES, PICTURE = DOCS.parent / "studies" / "results" / "certificates.json", DOCS / "radius.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 380, 64, 520, 56, 320
LABELS = {"hoeffding": "Hoeffding (the paper)", "gaffke": "Gaffke (results)", "betting": "betting (certificates)"}
STYLE = """\
  <style>
    text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
    .soft { fill: #57606a; font-size: 12px } .end { text-anchor: end } .middle { text-anchor: middle }
    .strong { font-weight: 600; font-size: 15px } .card { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #eaeef2 }
    polyline { fill: none; stroke-width: 2 } .hoeffding { stroke: #c0392b }
    .gaffke { stroke: #6e7781; stroke-dasharray: 5 4 }
    .betting { stroke: #1e8449 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .soft { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .grid { stroke: #21262d }
    }
  </style>"""
Radii = Mapping[str, Mapping[str, float]]


def draw(radii: Radii) -> str:
    """One line for each kind of bound; tasks on a logarithmic scale."""
    title = "Radius of an upper bound on gain destruction against the number of tasks"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title desc">',
        f'  <title id="title">{title}</title>',
        f'  <desc id="desc">{_description(radii)}</desc>',
        STYLE,
        f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
        f'  <text class="strong" x="24" y="30">{title}</text>',
        *_axes(radii),
    ]
    for name in LABELS:
        points = " ".join(f"{_x(int(n))},{_y(found[name])}" for n, found in radii.items())
        lines.append(f'  <polyline class="{name}" points="{points}"/>')
    return "\n".join([*lines, *_labels(radii), "</svg>"]) + "\n"


def _axes(radii: Radii) -> Iterator[str]:
    for value in (0.0, 0.5, 1.0, 1.5, 2.0):
        yield f'  <line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{_y(value)}" y2="{_y(value)}"/>'
        yield f'  <text class="soft end" x="{LEFT - 8}" y="{_y(value) + 4}">{value:g}</text>'
    for n in radii:
        yield f'  <text class="soft middle" x="{_x(int(n))}" y="{BOTTOM + 18}">{n}</text>'
    note = "tasks; Δ is 0 on four tasks of five, else ±1/3 to ±1; |A| = 2, α = 0.05; from 2 on a bound is vacuous"
    yield f'  <text class="soft" x="24" y="{BOTTOM + 42}">{note}</text>'


def _labels(radii: Radii) -> Iterator[str]:
    """At the lines' ends, no two on top of each other."""
    last, above = [*radii.values()][-1], BOTTOM + 24.0
    for name in sorted(LABELS, key=lambda name: last[name]):
        above = min(_y(last[name]) + 4, above - 18)
        yield f'  <text x="{RIGHT + 10}" y="{above:g}">{LABELS[name]}</text>'


def _description(radii: Radii) -> str:
    shown = "; ".join(
        f"{n} tasks: " + ", ".join(f"{k} {v:.2f}" for k, v in found.items()) for n, found in radii.items()
    )
    return f"Hoeffding, Gaffke and betting. {shown}."


def _x(n: int) -> float:
    low, high = math.log(8), math.log(448)
    return round(LEFT + (RIGHT - LEFT) * (math.log(n) - low) / (high - low), 1)


def _y(radius: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * min(radius, 2.3) / 2.3, 1)


def main() -> None:
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    PICTURE.write_text(draw(found["radius_by_n"]), encoding="utf-8")


if __name__ == "__main__":
    main()
