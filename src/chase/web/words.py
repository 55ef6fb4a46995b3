"""Figures as pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from chase.models.config import embedded_note
from chase.report.heads import SIMULATED


def seconds(value: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def span(between: tuple[float, float]) -> str:
    """A time that is known but for its bounds."""
    least, most = (seconds(value) for value in between)
    if least == most:
        return f"about {least}"
    return f"{least} to {most}" if between[0] > 0 else f"at most {most}"


def count(value: int) -> str:
    return f"{value:,}"


def score(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def moment(text: str) -> str:
    """A time of the store to the second, in UTC."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


def dollars(value: float | None, unpriced: int = 0) -> str:
    """A cost; what has no known price is said."""
    if value is None:
        return "unknown"
    said = f"${value:,.4f}"
    return f"{said} and {unpriced:,} requests without a known price" if unpriced else said


def simulated(models: Iterable[str]) -> bool:
    """Whether a simulated reader is among the models that answered."""
    return any((embedded_note(model) or "").startswith(SIMULATED) for model in models)


def first_line(text: str, most: int = 110) -> str:
    """The beginning of a text, for the line that opens it."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "(nothing)")
    return line if len(line) <= most else line[: most - 1] + "…"
