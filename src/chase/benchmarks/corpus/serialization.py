"""How a variant writes results and messages, and the way back from what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chase.core.result_lines import read_items, write_item
from chase.core.values import Json, JsonLayout

Serialization = Literal["json", "lines", "markdown"]
Feedback = Literal["plain", "labelled", "bracketed"]
_LABELS: Mapping[Feedback, tuple[str, str]] = {
    "plain": ("", ""),
    "labelled": ("Note: ", "Error: "),
    "bracketed": ("[ok] ", "[refused] "),
}
"""What stands before a message: of a result, of a refusal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manner:
    """How results and messages are written."""

    serialization: Serialization = "json"
    feedback: Feedback = "plain"

    def say(self, message: str, *, ok: bool) -> str:
        """A message to the agent; no message stays none."""
        return _LABELS[self.feedback][not ok] + message if message else ""

    def said(self, shown: str, *, ok: bool) -> str:
        """The way back."""
        return shown.removeprefix(_LABELS[self.feedback][not ok])

    def line(self, place: int, fields: Mapping[str, Json]) -> str | None:
        """How an item reads in a result made of lines; None where the result is JSON."""
        return None if self.serialization == "json" else write_item(place, fields, self.serialization)

    def items(self, text: str, layout: JsonLayout) -> list[Mapping[str, Json]] | None:
        """The items of a result's text, as they were shown; None where it cannot be read back."""
        try:
            found = json.loads(text).get(layout.items, []) if self.serialization == "json" else read_items(text)
        except ValueError:
            return None
        return found if isinstance(found, list) else None
