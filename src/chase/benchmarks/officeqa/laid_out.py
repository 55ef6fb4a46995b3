"""OfficeQA's documents as a layout shows them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from chase.benchmarks.corpus.library import Texts
from chase.benchmarks.corpus.rendering import Rendering
from chase.benchmarks.officeqa.protocol import LayoutProtocol
from chase.benchmarks.officeqa.rendering import VERSION, is_released, lay_out, pieces

KEPT_DOCUMENTS = 32
"""Documents kept in memory as a layout shows them."""


class LaidOutTexts:
    """The lines of documents in a layout: each document is laid out whole."""

    def __init__(self, texts: Texts, layout: LayoutProtocol) -> None:
        self.line_counts: Mapping[str, int] = texts.line_counts
        # A function without this object in it: a cache that holds its owner is freed late.
        self._whole = lru_cache(maxsize=KEPT_DOCUMENTS)(lambda id_: lay_out(texts.lines(id_), layout))

    def lines(self, id_: str, start: int = 1, end: int | None = None) -> tuple[str, ...]:
        return self._whole(id_)[start - 1 : end]


def _shown(texts: Texts, layout: LayoutProtocol) -> Texts:
    return texts if is_released(layout) else LaidOutTexts(texts, layout)


def _name(layout: LayoutProtocol) -> str:
    """The style of tables changes no word."""
    if (layout.unit_place, layout.note_place) == ("released", "released"):
        return "released"
    return f"units {layout.unit_place}, notes {layout.note_place}, renderer {VERSION}"


OFFICE_RENDERING = Rendering(shown=_shown, name=_name, pieces=pieces)
