"""How a benchmark lays out the lines of its documents, and what they say in every layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from chase.benchmarks.corpus.library import Texts
from chase.core.values import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendering:
    """What a corpus needs to know of a benchmark's layouts. The plain one shows lines as they were released."""

    shown: Callable[[Texts, Any], Texts]
    """The documents as a layout shows them, with as many lines as before."""
    name: Callable[[Any], str]
    """What of a layout decides the words of passages, beside the cut."""
    pieces: Callable[[Sequence[str], Any], list[Json]]
    """What the lines of a document say that is shown in this layout: the same in every layout."""


def _as_released(texts: Texts, layout: Any) -> Texts:
    return texts


def _said(lines: Sequence[str], layout: Any) -> list[Json]:
    return [line for line in lines if line.strip()]


PLAIN = Rendering(shown=_as_released, name=lambda _: "released", pieces=_said)
