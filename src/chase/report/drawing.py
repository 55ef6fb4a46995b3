"""Drawings of a few kinds of marks, as SVG text. Every colour is a class, so that a page decides on light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape

Anchor = Literal["start", "middle", "end"]
Shape = Literal["circle", "square", "diamond", "triangle"]
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, "DejaVu Sans", sans-serif'


@dataclass(frozen=True, kw_only=True, slots=True)
class Style:
    """How a class of marks looks."""

    light: str
    dark: str
    filled: bool = True
    width: float = 0.0
    dash: tuple[int, int] | None = None
    size: float = 0.0
    """Of text."""
    bold: bool = False


STYLES: Mapping[str, Style] = {
    "text": Style(light="#1f2328", dark="#e6edf3", size=12),
    "soft": Style(light="#59636e", dark="#9da7b1", size=11),
    "strong": Style(light="#1f2328", dark="#e6edf3", size=12, bold=True),
    "grid": Style(light="#e4e8ec", dark="#2b323b", filled=False, width=1),
    "axis": Style(light="#8c959f", dark="#6e7681", filled=False, width=1),
    "limit": Style(light="#b42318", dark="#ff8f7f", filled=False, width=1.5, dash=(5, 4)),
    "a": Style(light="#1f5fbf", dark="#79b0ff"),
    "a-line": Style(light="#1f5fbf", dark="#79b0ff", filled=False, width=2),
    "b": Style(light="#c8640a", dark="#f0a35e"),
    "b-line": Style(light="#c8640a", dark="#f0a35e", filled=False, width=2),
    "b-dashed": Style(light="#c8640a", dark="#f0a35e", filled=False, width=2, dash=(6, 4)),
    "c": Style(light="#8c959f", dark="#7d8590"),
    "c-line": Style(light="#6e7781", dark="#8b949e", filled=False, width=1.5),
    "c-dashed": Style(light="#6e7781", dark="#8b949e", filled=False, width=1.5, dash=(2, 3)),
    "pale": Style(light="#eef1f4", dark="#1f262e"),
}
"""Blue is what was released, orange what a counterfactual shows, grey the rest; each has a shape or a hatch too."""
HALO = Style(light="#ffffff", dark="#0f1419", width=5)
"""Around text, in the colour of the paper: a line that runs below it does not strike it through."""
_INDEX = re.compile(r"\b([A-Z])_([0t])\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    style: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    style: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    x: float
    y: float
    style: str
    shape: Shape = "circle"
    radius: float = 4.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    x: float
    y: float
    """Of the base line."""
    text: str
    style: str = "text"
    anchor: Anchor = "start"


Mark = Line | Box | Dot | Label


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Marks on a sheet, in the order in which they are drawn."""

    name: str
    """Of its files."""
    title: str
    description: str
    """In words, for whoever does not see it."""
    width: float
    height: float
    marks: Sequence[Mark]


def hatched(box: Box, style: str, step: float = 6.0) -> Iterator[Mark]:
    """A box of slanted lines with an edge: what is told apart from a full one without colour."""
    x, y, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    offset = step / 2
    while offset < box.width + box.height:
        x1, y1 = (x + offset, y) if offset <= box.width else (right, y + offset - box.width)
        x2, y2 = (x, y + offset) if offset <= box.height else (x + offset - box.height, bottom)
        yield Line(x1=x1, y1=y1, x2=x2, y2=y2, style=style)
        offset += step
    for x1, y1, x2, y2 in ((x, y, right, y), (right, y, right, bottom), (right, bottom, x, bottom), (x, bottom, x, y)):
        yield Line(x1=x1, y1=y1, x2=x2, y2=y2, style=style)


def inline_svg(drawing: Drawing) -> str:
    """The drawing for a page whose style sheet has `css`."""
    return _svg(drawing, "")


def svg_file(drawing: Drawing) -> str:
    """The drawing as a file of its own, with its style inside."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + _svg(drawing, f"<style>{css()}</style>", alone=True) + "\n"


def css() -> str:
    """The classes of all marks, in light and in dark."""
    light = "".join(_rule(name, style) for name, style in STYLES.items())
    dark = "".join(
        f".ch-{name}{{{'fill' if style.filled else 'stroke'}:{style.dark}}}" for name, style in STYLES.items()
    )
    halo = f"paint-order:stroke;stroke:{HALO.light};stroke-width:{HALO.width:g};stroke-linejoin:round"
    return (
        f".chart text{{font-family:{FONT};{halo}}}{light}"
        f"@media (prefers-color-scheme:dark){{.chart text{{stroke:{HALO.dark}}}{dark}}}"
    )


def _rule(name: str, style: Style) -> str:
    said = [f"fill:{style.light}"] if style.filled else ["fill:none", f"stroke:{style.light}"]
    if style.width:
        said.append(f"stroke-width:{style.width:g}")
    if style.dash:
        said.append(f"stroke-dasharray:{style.dash[0]} {style.dash[1]}")
    if style.size:
        said.append(f"font-size:{style.size:g}px")
    if style.bold:
        said.append("font-weight:600")
    return f".ch-{name}{{{';'.join(said)}}}"


def _svg(drawing: Drawing, style: str, *, alone: bool = False) -> str:
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in drawing.name)
    size = f' width="{drawing.width:g}" height="{drawing.height:g}"' if alone else ""
    body = "".join(map(_element, drawing.marks))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {drawing.width:g} {drawing.height:g}"'
        f'{size} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{_text(drawing.title)}</title>'
        f'<desc id="{name}-desc">{_text(drawing.description)}</desc>{style}{body}</svg>'
    )


def _element(mark: Mark) -> str:
    if isinstance(mark, Line):
        ends = f'x1="{mark.x1:.1f}" y1="{mark.y1:.1f}" x2="{mark.x2:.1f}" y2="{mark.y2:.1f}"'
        return f'<line class="ch-{mark.style}" {ends}/>'
    if isinstance(mark, Box):
        corner = f'x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" height="{mark.height:.1f}"'
        return f'<rect class="ch-{mark.style}" {corner}/>'
    if isinstance(mark, Dot):
        return _dot(mark)
    return (
        f'<text class="ch-{mark.style}" x="{mark.x:.1f}" y="{mark.y:.1f}" text-anchor="{mark.anchor}">'
        f"{_text(indexed(mark.text))}</text>"
    )


def indexed(text: str) -> str:
    """A label with the paper's indices as such: `H_0` as H₀."""
    return _INDEX.sub(lambda found: found[1] + {"0": "₀", "t": "ₜ"}[found[2]], text)


def outline(dot: Dot) -> list[tuple[float, float]]:
    """The corners of a dot that is no circle."""
    x, y, r = dot.x, dot.y, dot.radius
    if dot.shape == "square":
        return [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]
    if dot.shape == "diamond":
        return [(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)]
    return [(x, y - 1.2 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)]


def _dot(dot: Dot) -> str:
    if dot.shape == "circle":
        return f'<circle class="ch-{dot.style}" cx="{dot.x:.1f}" cy="{dot.y:.1f}" r="{dot.radius:g}"/>'
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline(dot))
    return f'<polygon class="ch-{dot.style}" points="{points}"/>'


def _text(text: str) -> str:
    """Text that stays text, without what XML cannot hold."""
    return escape("".join(c if c.isprintable() else " " for c in text))
