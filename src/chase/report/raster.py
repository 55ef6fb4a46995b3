"""Drawings as PNG, by matplotlib. It is imported here and nowhere else, when a picture is asked for."""

from __future__ import annotations

import io
from typing import Any, Literal

from chase.report.drawing import HALO, STYLES, Box, Dot, Drawing, Label, Line, indexed, outline

DOTS_PER_INCH, SCALE = 100, 2
_ANCHORS: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}


def png(drawing: Drawing) -> bytes:
    """The drawing on white, at twice its size: the same bytes each time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(drawing.width / DOTS_PER_INCH, drawing.height / DOTS_PER_INCH), dpi=DOTS_PER_INCH * SCALE)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for order, mark in enumerate(drawing.marks):
        for artist in _artists(mark):
            artist.set_zorder(order + 1)
            artist.set_clip_on(False)
            axes.add_artist(artist)
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor="white", metadata={"Software": None})
    return file.getvalue()


def _artists(mark: Line | Box | Dot | Label) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Polygon, Rectangle
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    style = STYLES[mark.style]
    pixel = 72 / DOTS_PER_INCH
    filled = {"facecolor": style.light, "edgecolor": "none", "linewidth": 0}
    paint: dict[str, Any] = filled if style.filled else {
        "facecolor": "none", "edgecolor": style.light, "linewidth": style.width * pixel,
    }  # fmt: skip
    if isinstance(mark, Line):
        dashes: Any = "-" if style.dash is None else (0, tuple(length / style.width for length in style.dash))
        width = style.width * pixel
        return [Line2D([mark.x1, mark.x2], [mark.y1, mark.y2], color=style.light, linewidth=width, linestyle=dashes)]
    if isinstance(mark, Box):
        return [Rectangle((mark.x, mark.y), mark.width, mark.height, **paint)]
    if isinstance(mark, Dot):
        shape = Circle((mark.x, mark.y), mark.radius, **paint) if mark.shape == "circle" else None
        return [shape or Polygon(outline(mark), closed=True, **paint)]
    return [
        Text(
            x=mark.x, y=mark.y, text=indexed(mark.text), color=style.light, fontsize=style.size * pixel,
            fontweight="bold" if style.bold else "normal", fontfamily="DejaVu Sans", parse_math=False,
            horizontalalignment=_ANCHORS[mark.anchor], verticalalignment="baseline",
            path_effects=[withStroke(linewidth=HALO.width * pixel, foreground=HALO.light)],
        )
    ]  # fmt: skip
