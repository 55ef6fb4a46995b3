"""Axes of drawings: from a figure to a place on the sheet, with round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chase.report.drawing import Label, Line, Mark

CHAR_WIDTH = 6.4
"""Of a letter at 12 pixels, on average: for room, not for measure."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A range of figures on a range of places. `low` may be below, above or right of `high` on the sheet."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, *, zero: bool = True) -> Scale:
        """With some room around the values, and 0 among them."""
        known = [*values, *([0.0] if zero else [])]
        low, high = min(known), max(known)
        room = 0.08 * (high - low) or 0.05
        return cls(low=low - (room if low < 0 or not zero else 0), high=high + room, start=start, end=end)

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values in the range."""
        step = _round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= step - 1e-12)


def signed_percent(value: float) -> str:
    """Points on an axis: `+5`, `0`, `−5`."""
    said = f"{100 * value:+.4g}"
    return "0" if float(said) == 0 else said.replace("-", "−")


def vertical_grid(scale: Scale, top: float, bottom: float, *, ticks: Iterable[float] | None = None) -> Iterator[Mark]:
    """Lines at the ticks of a horizontal scale, with their figures below, and the line of zero."""
    for value in scale.ticks() if ticks is None else ticks:
        x = scale.at(value)
        yield Line(x1=x, y1=top, x2=x, y2=bottom, style="axis" if abs(value) < 1e-9 else "grid")
        yield Label(x=x, y=bottom + 15, text=signed_percent(value), style="soft", anchor="middle")


def unsigned(value: float) -> str:
    """Points on an axis that has no sign."""
    return f"{100 * value:g}"


def horizontal_grid(
    scale: Scale, left: float, right: float, words: Callable[[float], str] = signed_percent
) -> Iterator[Mark]:
    """The same of a vertical scale, with its figures to the left."""
    for value in scale.ticks():
        y = scale.at(value)
        yield Line(x1=left, y1=y, x2=right, y2=y, style="axis" if abs(value) < 1e-9 else "grid")
        yield Label(x=left - 8, y=y + 4, text=words(value), style="soft", anchor="end")


def width_of(texts: Iterable[str]) -> float:
    """Room for the longest of these texts."""
    return CHAR_WIDTH * max((len(text) for text in texts), default=0)


def shortened(text: str, most: int = 34) -> str:
    """On one line and no longer than there is room for."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
