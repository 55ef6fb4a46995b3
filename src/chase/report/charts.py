"""Figures of an evolution and of an audit: selection, rounds, gains under each variant, outcomes task by task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from chase.report.drawing import Box, Dot, Drawing, Label, Line, Mark, hatched
from chase.report.outcomes import PairedOutcomes
from chase.report.scales import Scale, horizontal_grid, shortened, vertical_grid, width_of
from chase.runs.rendering import points

Found = Mapping[str, Any]
WIDTH = 720.0
BAR, GAP = 13.0, 12.0
"""Height of a bar, and the room between two harnesses."""


def selection(name: str, title: str, pool: Sequence[Found], selected: str, epsilon: float | None) -> Drawing:
    """The paper's figure of a selection: gains over H_0 left, gain destruction and ε right."""
    shown = [entry for entry in pool if entry["harness"] != "H0" or len(pool) == 1]
    variants = list(dict.fromkeys(variant for entry in shown for variant in entry["destruction"]))
    labels = [f"{'★ ' if entry['harness'] == selected else ''}{shortened(entry['harness'], 22)}" for entry in shown]
    left, top = 24 + max(80.0, width_of(labels)), 62.0
    rows = max(1, len(variants) + 1)
    height = [rows * BAR + GAP] * len(shown)
    bottom = top + sum(height)
    middle = left + (WIDTH - left) * (0.52 if variants else 0.94)
    gains = [gain for entry in shown for gain in (entry["gain"], *_gains(entry, variants).values())]
    scale = Scale.over([*(gain for gain in gains if gain is not None), 0.02], left + 34, middle - 40)
    marks: list[Mark] = [
        Label(x=left, y=20, text="Gain over H_0, in points", style="strong"),
        *_key(left, 40, variants),
        *vertical_grid(scale, top - 6, bottom),
    ]
    y = top
    for entry, label, each in zip(shown, labels, height, strict=True):
        marks.append(Label(x=left - 10, y=y + each / 2, text=label, anchor="end"))
        marks += _bars(scale, y, [entry["gain"], *(_gains(entry, variants).get(v) for v in variants)])
        y += each
    if variants:
        marks += _destroyed(shown, variants, epsilon, Scale.over(_limits(shown, epsilon), middle + 34, WIDTH - 52), top)
    passed = [entry["harness"] for entry in shown if not entry["violates"] and "stopped" not in entry]
    description = f"{len(shown)} harnesses; {len(passed)} keep every constraint; selected: {selected}."
    return Drawing(name=name, title=title, description=description, width=WIDTH, height=bottom + 30, marks=marks)


def _gains(entry: Found, variants: Sequence[str]) -> dict[str, float]:
    """`Ĝ_b = Ĝ_rel − Δ̂_b`."""
    return {v: entry["gain"] - entry["destruction"][v] for v in variants if v in entry["destruction"]}


def _limits(shown: Sequence[Found], epsilon: float | None) -> list[float]:
    return [*(value for entry in shown for value in entry["destruction"].values()), epsilon or 0.0, 0.02]


def _key(x: float, y: float, variants: Sequence[str]) -> Iterator[Mark]:
    """What is full and what is hatched."""
    yield Box(x=x, y=y - 9, width=18, height=10, style="a")
    yield Label(x=x + 24, y=y, text="released", style="soft")
    if variants:
        names = variants[0] if len(variants) == 1 else f"{variants[0]} to {variants[-1]}, from above"
        yield from hatched(Box(x=x + 88, y=y - 9, width=18, height=10, style="b"), "b-line", 5)
        yield Label(x=x + 112, y=y, text=f"counterfactual {names}", style="soft")


def _bars(scale: Scale, y: float, values: Sequence[float | None]) -> Iterator[Mark]:
    """The first full, the others hatched, each with its figure at its end."""
    zero = scale.at(0)
    for place, value in enumerate(values):
        if value is None:
            continue
        at, top = scale.at(value), y + place * BAR
        box = Box(x=min(zero, at), y=top, width=max(abs(at - zero), 1.0), height=BAR - 3, style="a")
        yield from ([box] if place == 0 else hatched(box, "b-line", 6))
        yield _figure(at, top, value)


def _figure(x: float, top: float, value: float) -> Label:
    side = 5 if value >= 0 else -5
    return Label(x=x + side, y=top + 9, text=points(value), style="soft", anchor="start" if value >= 0 else "end")


def _destroyed(
    shown: Sequence[Found], variants: Sequence[str], epsilon: float | None, scale: Scale, top: float
) -> Iterator[Mark]:
    bottom = top + len(shown) * ((len(variants) + 1) * BAR + GAP)
    yield Label(x=scale.start - 30, y=20, text="Gain destruction, in points", style="strong")
    yield from vertical_grid(scale, top - 6, bottom)
    y = top
    for entry in shown:
        zero = scale.at(0)
        for place, variant in enumerate(variants):
            if variant in entry["destruction"]:
                value = entry["destruction"][variant]
                at = scale.at(value)
                box = Box(
                    x=min(zero, at),
                    y=y + place * BAR + BAR / 2,
                    width=max(abs(at - zero), 1.0),
                    height=BAR - 3,
                    style="b",
                )
                broken = variant in entry["violates"]
                yield from ([box] if broken else hatched(box, "b-line", 6))
                word = f"{points(value)} {'✗' if broken else '✓'}"
                yield Label(x=WIDTH - 6, y=box.y + 9, text=word, style="soft", anchor="end")
        y += (len(variants) + 1) * BAR + GAP
    if epsilon is not None:
        x = scale.at(epsilon)
        yield Line(x1=x, y1=top - 10, x2=x, y2=bottom, style="limit")
        yield Label(x=x + 4, y=top - 12, text=f"ε = {100 * epsilon:g}", style="soft")


def evolution(rounds: Sequence[Found], archived: Mapping[int, str]) -> Drawing:
    """What each round selected: its gain as released and under the archive's worst, and the best that was proposed."""
    left, right, top, bottom = 64.0, WIDTH - 170, 48.0, 268.0
    chosen = [selected(record) for record in rounds]
    pools = [record["selection"]["pool"] for record in rounds]
    best = [max(entry["gain"] for entry in pool if entry["gain"] is not None) for pool in pools]
    worst = [min([entry["gain"], *_gains(entry, list(entry["destruction"])).values()]) for entry in chosen]
    lines = {
        "released gain of H_t": ([0.0, *(entry["gain"] for entry in chosen)], "a-line", "a", "circle"),
        "its worst archived gain": ([0.0, *worst], "b-line", "b", "square"),
        "best proposal as released": ([0.0, *best], "c-dashed", "c", "triangle"),
    }
    y = Scale.over([v for values, *_ in lines.values() for v in values], bottom, top)
    x = Scale(low=0, high=max(1, len(rounds)), start=left + 20, end=right - 20)
    marks: list[Mark] = [
        Label(x=left - 40, y=24, text="Gain over H_0 on the search tasks, in points", style="strong"),
        *horizontal_grid(y, left, right),
        *_round_labels(rounds, chosen, archived, x, bottom),
    ]
    ends: list[tuple[float, str]] = []
    for label, (values, line, dot, shape) in lines.items():
        places = [(x.at(t), y.at(value)) for t, value in enumerate(values)]
        for (x1, y1), (x2, y2) in pairwise(places):
            marks.append(Line(x1=x1, y1=y1, x2=x2, y2=y2, style=line))
        marks += [Dot(x=px, y=py, style=dot, shape=shape) for px, py in places]  # type: ignore[arg-type]
        ends.append((places[-1][1], label))
    marks += _apart(ends, right - 6)
    said = ", ".join(
        f"round {r['round']}: {e['harness']} {points(e['gain'])}" for r, e in zip(rounds, chosen, strict=True)
    )
    return Drawing(
        name="evolution", title="Evolution over rounds", description=f"{said}.",
        width=WIDTH, height=bottom + 56, marks=marks,
    )  # fmt: skip


def selected(record: Found) -> Found:
    """The entry of a round's pool that was selected."""
    pool, name = record["selection"]["pool"], record["selection"]["selected"]
    found: Found = next((entry for entry in pool if entry["harness"] == name), pool[0])
    return found


def _round_labels(
    rounds: Sequence[Found], selected: Sequence[Found], archived: Mapping[int, str], x: Scale, bottom: float
) -> Iterator[Mark]:
    yield Label(x=x.at(0), y=bottom + 18, text="H_0", style="soft", anchor="middle")
    for t, (record, entry) in enumerate(zip(rounds, selected, strict=True), 1):
        at = x.at(t)
        yield Label(x=at, y=bottom + 18, text=f"round {record['round']}", style="soft", anchor="middle")
        yield Label(x=at, y=bottom + 33, text=shortened(entry["harness"], 18), style="text", anchor="middle")
        if name := archived.get(record["round"]):
            yield Label(x=at, y=bottom + 48, text=f"then {name} archived", style="soft", anchor="middle")


def _apart(ends: Sequence[tuple[float, str]], x: float) -> Iterator[Mark]:
    """Labels at the ends of lines, moved so that none covers another."""
    last = float("-inf")
    for y, label in sorted(ends):
        last = max(y + 4, last + 15)
        yield Label(x=x, y=last, text=label, style="soft")


def gains(rows: Sequence[tuple[str, str, Found]], title: str, over: str = "the initial harness") -> Drawing:
    """Gains with their intervals, one row for each variant: `(name, words, estimate)`."""
    labels = [shortened(f"{name}: {words}", 48) for name, words, _ in rows]
    left, top, each = 24 + width_of(labels), 40.0, 34.0
    scale = Scale.over([end for *_, e in rows for end in (e["low"], e["high"])], left + 16, WIDTH - 70)
    bottom = top + each * len(rows)
    marks: list[Mark] = [
        Label(x=left + 16, y=18, text=f"Gain over {over}, in points", style="strong"),
        *vertical_grid(scale, top - 8, bottom),
    ]
    for place, ((name, _, found), label) in enumerate(zip(rows, labels, strict=True)):
        y = top + each * place + each / 2
        marks.append(Label(x=left, y=y + 4, text=label, anchor="end"))
        marks += with_interval(scale, y, found, released=name == "released")
    said = "; ".join(f"{name} {points(e['value'])} ({points(e['low'])} to {points(e['high'])})" for name, _, e in rows)
    return Drawing(name="gains", title=title, description=f"{said}.", width=WIDTH, height=bottom + 26, marks=marks)


def with_interval(scale: Scale, y: float, found: Found, *, released: bool) -> Iterator[Mark]:
    """An estimate as a dot on its interval, with its figure behind it."""
    style, ends = "a" if released else "b", (found["low"], found["high"])
    yield Line(x1=scale.at(ends[0]), y1=y, x2=scale.at(ends[1]), y2=y, style=f"{style}-line")
    for end in ends:
        yield Line(x1=scale.at(end), y1=y - 5, x2=scale.at(end), y2=y + 5, style=f"{style}-line")
    yield Dot(x=scale.at(found["value"]), y=y, style=style, shape="circle" if released else "square")
    yield Label(x=scale.at(ends[1]) + 8, y=y + 4, text=points(found["value"]), style="soft")


def paired(outcomes: Sequence[PairedOutcomes], words: Mapping[str, str]) -> Drawing:
    """On how many tasks a harness does better, the same and worse, one bar for each variant."""
    labels = [_paired_label(found, words) for found in outcomes]
    left, top, each = 24 + width_of(labels), 48.0, 32.0
    most = max((len(found.tasks) for found in outcomes), default=1)
    scale = Scale(low=0, high=most, start=left + 8, end=WIDTH - 16)
    marks: list[Mark] = [*_outcome_key(left + 8)]
    for place, (found, label) in enumerate(zip(outcomes, labels, strict=True)):
        y, x = top + each * place, scale.start
        marks.append(Label(x=left, y=y + 15, text=label, anchor="end"))
        for count, kind in ((found.better, "better"), (found.same, "same"), (found.worse, "worse")):
            width = scale.at(count) - scale.start
            if count:
                marks += _outcome(Box(x=x, y=y, width=width, height=20, style="a"), kind)
                marks += _count(x + width / 2, y + 14, count, kind, width)
            x += width
    said = "; ".join(f"{o.variant}: {o.better} better, {o.same} the same, {o.worse} worse" for o in outcomes)
    return Drawing(
        name="paired-outcomes", title="The same tasks with both harnesses", description=f"{said}.",
        width=WIDTH, height=top + each * len(outcomes) + 6, marks=marks,
    )  # fmt: skip


def _paired_label(found: PairedOutcomes, words: Mapping[str, str]) -> str:
    said = f"{found.variant}: {words[found.variant]}" if found.variant in words else found.variant
    return shortened(said if found.harness in ("H", "H*") else f"{found.harness}, {said}", 44)


def _outcome_key(x: float) -> Iterator[Mark]:
    for place, (kind, word) in enumerate((("better", "better"), ("same", "the same"), ("worse", "worse"))):
        at = x + 130 * place
        yield from _outcome(Box(x=at, y=14, width=20, height=12, style="a"), kind)
        yield Label(x=at + 27, y=24, text=word, style="soft")


def _outcome(box: Box, kind: str) -> Iterator[Mark]:
    if kind == "worse":
        yield from hatched(box, "b-line", 6)
    else:
        style = "a" if kind == "better" else "pale"
        yield Box(x=box.x, y=box.y, width=box.width, height=box.height, style=style)


def _count(x: float, y: float, count: int, kind: str, width: float) -> Iterator[Mark]:
    """The figure in its part, on a plate where it would be hard to read."""
    if width < 22:
        return
    yield Box(x=x - 14, y=y - 11, width=28, height=14, style="pale")
    yield Label(x=x, y=y, text=str(count), style="text", anchor="middle")
