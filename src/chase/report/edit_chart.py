"""The figure of an audit's edits: each one's contribution as released and under the battery's probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.report.charts import WIDTH, with_interval
from chase.report.drawing import Drawing, Label, Line, Mark
from chase.report.scales import Scale, shortened, vertical_grid, width_of
from chase.runs.rendering import points

Found = Mapping[str, Any]
ROW, HEAD, GAP = 22.0, 24.0, 12.0
"""Height of a contribution, of an edit's name above its own, and the room between two edits."""
RELEASED = "as released"


def edits(parts: Sequence[Found]) -> Drawing:
    """A group of rows for each edit: its contribution as released, and under each probe that was run for it."""
    rows = [_rows(part) for part in parts]
    left, top = 40 + width_of(name for group in rows for name, _ in group), 40.0
    bottom = top + sum(HEAD + GAP + ROW * max(1, len(group)) for group in rows)
    ends = [end for group in rows for _, found in group for end in (found["low"], found["high"])]
    scale = Scale.over(ends or [0.0], left + 16, WIDTH - 60)
    marks: list[Mark] = [
        Label(x=24, y=18, text="Contribution of each edit to the gain, in points", style="strong"),
        *vertical_grid(scale, top - 8, bottom),
    ]
    y = top
    for part, group in zip(parts, rows, strict=True):
        marks += _edit(part, group, scale, y, left)
        y += HEAD + GAP + ROW * max(1, len(group))
    return Drawing(
        name="edits", title="Each edit as released and with everything neutral", width=WIDTH, height=bottom + 26,
        description="; ".join(f"{part['name']} ({in_words(part)}): {_said(group)}" for part, group in
                              zip(parts, rows, strict=True)) + ".",
        marks=marks,
    )  # fmt: skip


def in_words(part: Found) -> str:
    """ "shortcut, rests on folder depths"."""
    rests = f", rests on {' and '.join(part['rests_on'])}" if part["rests_on"] else ""
    return f"{part['label']}{rests}"


def _rows(part: Found) -> list[tuple[str, Found]]:
    released = [] if part["contribution"] is None else [(RELEASED, part["contribution"])]
    return [*released, *((name, under["gain"]) for name, under in part["under"].items())]


def _said(group: Sequence[tuple[str, Found]]) -> str:
    figures = (f"{name} {points(e['value'])} ({points(e['low'])} to {points(e['high'])})" for name, e in group)
    return ", ".join(figures) or "not measured"


def _edit(part: Found, group: Sequence[tuple[str, Found]], scale: Scale, y: float, left: float) -> Iterator[Mark]:
    word = in_words(part)
    room = int((WIDTH - 24 - 24 - 8 - width_of([word])) / 6.8)
    yield Line(x1=24, y1=y - 4, x2=WIDTH - 12, y2=y - 4, style="grid")
    yield Label(x=24, y=y + 13, text=shortened(part["name"], max(20, room)), style="strong")
    yield Label(x=WIDTH - 12, y=y + 13, text=word, style="strong", anchor="end")
    for place, (name, found) in enumerate(group):
        at = y + HEAD + ROW * place + ROW / 2
        yield Label(x=left, y=at + 4, text=name, anchor="end")
        yield from with_interval(scale, at, found, released=name == RELEASED)
    if not group:
        yield Label(x=left, y=y + HEAD + ROW / 2 + 4, text="not measured", style="soft", anchor="end")
