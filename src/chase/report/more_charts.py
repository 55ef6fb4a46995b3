"""Figures of any run: the radius of certificates, token use, a benchmark's construction, a comparison of methods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from chase.report.charts import WIDTH
from chase.report.drawing import Box, Dot, Drawing, Label, Line, Mark, Shape, hatched
from chase.report.facts import RoleTokens
from chase.report.scales import Scale, horizontal_grid, shortened, unsigned, vertical_grid, width_of
from chase.runs.rendering import millions, points
from chase.stats.theorems import destruction_radius, gain_radius

Found = Mapping[str, Any]
TASKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def radius(n: int, archive_size: int, alpha: float, betting: float | None) -> Drawing:
    """The certificates' radii against the number of tasks, with the run's own marked."""
    left, right, top, bottom = 64.0, WIDTH - 190, 48.0, 268.0
    tasks = sorted({*TASKS, n})
    curves = {
        "Hoeffding, gain destruction": ([destruction_radius(m, archive_size, alpha) for m in tasks], "b-line"),
        "Hoeffding, gain": ([gain_radius(m, archive_size, alpha) for m in tasks], "a-line"),
    }
    x = Scale(low=math.log(tasks[0]), high=math.log(tasks[-1]), start=left, end=right)
    y = Scale(low=0, high=2, start=bottom, end=top)
    marks: list[Mark] = [
        Label(x=left - 40, y=24, text="Radius of a bound, in points; from 200 on it says nothing", style="strong"),
        *horizontal_grid(y, left, right, unsigned),
        *(_task_tick(x.at(math.log(m)), bottom, m) for m in TASKS[::2]),
    ]
    for label, (values, style) in curves.items():
        places = [(x.at(math.log(m)), y.at(min(v, 2.0))) for m, v in zip(tasks, values, strict=True)]
        marks += [Line(x1=a[0], y1=a[1], x2=b[0], y2=b[1], style=style) for a, b in pairwise(places)]
        marks.append(
            Label(x=right + 8, y=places[-1][1] + (4 if "destruction" not in label else -6), text=label, style="soft")
        )
    here = x.at(math.log(n))
    marks.append(Line(x1=here, y1=top, x2=here, y2=bottom, style="limit"))
    marks.append(Label(x=here + 6, y=top + 10, text=f"this run: {n} tasks", style="soft"))
    own = destruction_radius(n, archive_size, alpha)
    marks.append(Dot(x=here, y=y.at(min(own, 2.0)), style="b", shape="square"))
    marks.append(Dot(x=here, y=y.at(min(gain_radius(n, archive_size, alpha), 2.0)), style="a"))
    marks.append(Label(x=(left + right) / 2, y=bottom + 34, text="tasks", anchor="middle"))
    if betting is not None:
        marks.append(Dot(x=here, y=y.at(betting), style="c", shape="diamond"))
        marks.append(Label(x=here + 10, y=y.at(betting) + 4, text=f"betting {100 * betting:.1f}", style="text"))
    return Drawing(
        name="radius", title="Radius of the certificates",
        description=f"At {n} tasks and |A| = {archive_size} Hoeffding's radius is {100 * own:.1f} points"
        + (f", betting's {100 * betting:.1f}." if betting is not None else "."),
        width=WIDTH, height=bottom + 44, marks=marks,
    )  # fmt: skip


def _task_tick(x: float, bottom: float, tasks: int) -> Label:
    return Label(x=x, y=bottom + 16, text=f"{tasks:,}", style="soft", anchor="middle")


def tokens(rows: Sequence[RoleTokens]) -> Drawing:
    """Tokens by role: all that was read and written, and of it what was cached."""
    labels = [row.role for row in rows]
    left, top, each = 40 + max(70.0, width_of(labels)), 48.0, 28.0
    scale = Scale(low=0, high=max([row.total for row in rows] + [1]), start=left, end=WIDTH - 90)
    marks: list[Mark] = [
        Box(x=left, y=14, width=20, height=12, style="a"),
        Label(x=left + 27, y=24, text="without cached input", style="soft"),
        *hatched(Box(x=left + 180, y=14, width=20, height=12, style="c"), "c-line", 5),
        Label(x=left + 207, y=24, text="cached input", style="soft"),
    ]
    for place, row in enumerate(rows):
        y = top + each * place
        uncached, total = scale.at(row.uncached), scale.at(row.total)
        marks.append(Label(x=left - 10, y=y + 13, text=row.role, anchor="end"))
        marks.append(Box(x=left, y=y, width=uncached - left, height=18, style="a"))
        if total - uncached > 1:
            marks += hatched(Box(x=uncached, y=y, width=total - uncached, height=18, style="c"), "c-line", 6)
        marks.append(Label(x=total + 8, y=y + 13, text=f"{millions(row.total)} M", style="soft"))
    said = "; ".join(f"{row.role} {millions(row.total)} M" for row in rows)
    return Drawing(
        name="tokens", title="Token use by role", description=f"{said}.", width=WIDTH,
        height=top + each * len(rows) + 8, marks=marks,
    )  # fmt: skip


def construction(sizes: Mapping[str, int], statistics: Found | None) -> Drawing:
    """Task sets with their families, and how often evidence has each feature's favorable level."""
    splits: Found = (statistics or {}).get("splits") or {}
    features = _balance(splits)
    half = WIDTH * (0.5 if features else 0.94)
    left, top, each = 90.0, 48.0, 30.0
    scale = Scale(low=0, high=max([*sizes.values(), 1]), start=left, end=half - 86)
    marks: list[Mark] = [Label(x=24, y=22, text="Task sets, by family of tasks", style="strong")]
    for place, (role, size) in enumerate(sizes.items()):
        y = top + each * place
        marks.append(Label(x=left - 10, y=y + 14, text=role, anchor="end"))
        families = splits.get(role, {}).get("families") or {"": size}
        marks += _families(scale, y, size, families)
        whole = sum(families.values())
        used = f"{size:,}" if size == whole else f"{size:,} of {whole:,}"
        marks.append(Label(x=scale.at(size) + 8, y=y + 14, text=used, style="soft"))
    bottom = top + each * max(len(sizes), len(features))
    if features:
        marks += _features(features, half, top, each, bottom)
    said = ", ".join(f"{role} {size}" for role, size in sizes.items())
    balance = "; ".join(
        f"{name}: {_range(v['released'])} released, {_range(v['neutral'])} neutral" for name, v in features.items()
    )
    return Drawing(
        name="construction", title="The benchmark's construction and balance",
        description=f"Tasks: {said}. {f'Favorable evidence documents: {balance}.' if features else ''}",
        width=WIDTH, height=bottom + 30, marks=marks,
    )  # fmt: skip


def _families(scale: Scale, y: float, size: int, families: Mapping[str, int]) -> Iterator[Mark]:
    """A part for each family, as large as its share of the whole set, of which a run may have used fewer tasks."""
    x, whole = scale.start, sum(families.values())
    for place, count in enumerate(families.values()):
        width = (scale.at(size) - scale.start) * count / whole
        box = Box(x=x, y=y, width=width, height=20, style="a" if place % 2 == 0 else "pale")
        yield from ([box] if place % 2 == 0 else [box, *hatched(box, "a-line", 7)])
        x += width


def _balance(splits: Found) -> dict[str, dict[str, list[float]]]:
    """Feature → variant → the share of favorable evidence documents in each task set."""
    found: dict[str, dict[str, list[float]]] = {}
    for split in splits.values():
        for feature, variants in (split.get("features") or {}).items():
            for variant, counts in variants.items():
                share = counts["favorable"] / counts["total"]
                found.setdefault(feature, {"released": [], "neutral": []}).setdefault(variant, []).append(share)
    return found


def _features(
    features: Mapping[str, Mapping[str, Sequence[float]]], half: float, top: float, each: float, bottom: float
) -> Iterator[Mark]:
    left = half + 16 + width_of(features)
    scale = Scale(low=0, high=1, start=left + 14, end=WIDTH - 24)
    yield Label(x=half + 10, y=22, text="Evidence at the favorable level, %", style="strong")
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield Line(x1=scale.at(value), y1=top - 8, x2=scale.at(value), y2=bottom, style="grid")
        yield Label(x=scale.at(value), y=bottom + 15, text=f"{100 * value:g}", style="soft", anchor="middle")
    shapes: Mapping[str, tuple[str, Shape]] = {"released": ("a", "circle"), "neutral": ("b", "square")}
    for place, (feature, variants) in enumerate(features.items()):
        y = top + each * place + 10
        yield Label(x=left, y=y + 4, text=feature, anchor="end")
        for variant, (style, shape) in shapes.items():
            for share in variants.get(variant, ()):
                yield Dot(x=scale.at(share), y=y, style=style, shape=shape)
    for place, (variant, (style, shape)) in enumerate(shapes.items()):
        yield Dot(x=scale.start + 4 + 90 * place, y=top - 17, style=style, shape=shape, radius=4)
        yield Label(x=scale.start + 12 + 90 * place, y=top - 13, text=variant, style="soft")


def _range(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def kept(rows: Mapping[str, tuple[Found, Found]], symbol: str, title: str) -> Drawing:
    """Gain kept against gain released, method by method; on the line all of it is kept."""
    left, right, top, bottom = 74.0, WIDTH - 40, 44.0, 400.0
    ends = [
        end
        for pair in rows.values()
        for found in pair
        for end in (found["value"] - found["se"], found["value"] + found["se"])
    ]
    x = Scale.over(ends, left, right)
    y = Scale(low=x.low, high=x.high, start=bottom, end=top)
    marks: list[Mark] = [
        Label(x=24, y=22, text=f"{symbol}, in points; on the dashed line all of it is kept", style="strong"),
        *horizontal_grid(y, left, right),
        *vertical_grid(x, top, bottom),
        Line(x1=x.at(x.low), y1=y.at(x.low), x2=x.at(x.high), y2=y.at(x.high), style="limit"),
        Label(
            x=(left + right) / 2,
            y=bottom + 34,
            text="gain as released (G_rel), in points",
            style="text",
            anchor="middle",
        ),
    ]
    shapes: Sequence[Shape] = ("circle", "square", "diamond", "triangle")
    labels: list[tuple[float, float, str]] = []
    for place, (name, (released, left_of)) in enumerate(rows.items()):
        px, py = x.at(released["value"]), y.at(left_of["value"])
        for found, axis in ((released, x), (left_of, y)):
            low, high = axis.at(found["value"] - found["se"]), axis.at(found["value"] + found["se"])
            ends_of = (low, py, high, py) if axis is x else (px, low, px, high)
            marks.append(Line(x1=ends_of[0], y1=ends_of[1], x2=ends_of[2], y2=ends_of[3], style="c-line"))
        marks.append(Dot(x=px, y=py, style="a" if place % 2 == 0 else "b", shape=shapes[place % 4], radius=5))
        labels.append((px, py, f"{shortened(name, 26)} {points(released['value'])} / {points(left_of['value'])}"))
    marks += _beside(labels, right)
    said = "; ".join(
        f"{name} {points(a['value'])} released, {points(b['value'])} kept" for name, (a, b) in rows.items()
    )
    return Drawing(name="kept", title=title, description=f"{said}.", width=WIDTH, height=bottom + 48, marks=marks)


def _beside(labels: Sequence[tuple[float, float, str]], right: float) -> Iterator[Mark]:
    """Labels below and beside their dots, off the rising line, moved down so that none covers another."""
    placed: list[tuple[float, float, float]] = []
    for x, y, text in sorted(labels, key=lambda each: each[1]):
        width = width_of([text])
        start = x + 9 if x + 9 + width < right + 36 else x - 9 - width
        at = y + 14
        while any(abs(at - other) < 13 and start < end and begin < start + width for begin, end, other in placed):
            at += 13
        placed.append((start, start + width, at))
        yield Label(x=start, y=at, text=text, style="soft")
