"""Worked examples that stand in every prompt, in the order of a variant."""

from __future__ import annotations

from collections.abc import Sequence

from chase.benchmarks.corpus.protocol import ResultOrder
from chase.benchmarks.documents.description import Demonstration
from chase.core.keyed import key_bits


def in_order(demonstrations: Sequence[Demonstration], order: ResultOrder) -> list[Demonstration]:
    """The examples as a variant orders them."""
    shown = list(demonstrations)
    if order.seed:
        places = {id(held): place for place, held in enumerate(shown)}
        shown.sort(key=lambda held: key_bits("demonstrations", order.seed, places[id(held)]))
    return shown[::-1] if order.reversed else shown


def shown_examples(demonstrations: Sequence[Demonstration]) -> str:
    """What the model reads of them; nothing where there are none."""
    if not demonstrations:
        return ""
    return "\n\n".join(["Worked examples:", *(f"Question: {d.question}\nAnswer: {d.answer}" for d in demonstrations)])
