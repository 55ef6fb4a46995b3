"""An independent reader of the sample's texts: finds a printed figure by words, knowing nothing of the generator."""

from __future__ import annotations

import re
from decimal import Decimal

from chase.core.markdown_tables import cells, is_row

_UNIT = re.compile(
    r"\bin ((?:thousands|millions|billions) of dollars|dollars|percent|(?:thousands of )?fine troy ounces)",
    re.IGNORECASE,
)
_SCALES = {"thousands": 10**3, "millions": 10**6, "billions": 10**9}


def tables(text: str) -> list[tuple[str, list[str]]]:
    """(caption, the lines up to the next caption) of each table with a number."""
    parts = re.split(r"^### (Table .*)$", text, flags=re.MULTILINE)[1:]
    return [(caption, body.split("\n")) for caption, body in zip(parts[::2], parts[1::2], strict=True)]


def unit_of(found: list[tuple[str, list[str]]], place: int) -> str:
    """From the caption or a line around the table, else from an earlier part of it."""
    caption, lines = found[place]
    for line in (caption, *(line for line in lines if not is_row(line) and len(line) < 60)):
        if stated := _UNIT.search(line):
            return stated[1].lower()
    assert place > 0, caption
    assert found[place - 1][0].split(".—")[0] == caption.split(".—")[0]
    return unit_of(found, place - 1)


def printed(text: str, title: str, item: str, labels: set[str]) -> Decimal:
    """The figure in whole dollars, percent or ounces: of the item, for the period that one of the labels stands for."""
    found = tables(text)
    for place, (caption, lines) in enumerate(found):
        if not re.fullmatch(rf"Table [^ ]+\.—{re.escape(title)}( \(Part \d of \d\))?(, in .*)?", caption):
            continue
        rows = [cells(line) for line in lines if is_row(line)]
        bare = [re.sub(r" p$", "", name) for name in rows[0]]
        for row in rows[2:]:
            label = re.sub(r" p$", "", row[0])
            for name, figure in zip(bare[1:], row[1:], strict=True):
                if (label in labels and name == item) or (label == item.replace(" > ", ", ") and name in labels):
                    return Decimal(figure.replace(",", "")) * _SCALES.get(unit_of(found, place).split(" ")[0], 1)
    raise AssertionError(f"{title}: {item} for {labels} is not printed")
