"""The searches that the program makes by itself: the question's own words, fewer of them when nothing was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from chase.models.lexical.directives import Directives
from chase.models.lexical.question import Asked, Wanted

FEWER = (4, 3)
"""To how many words a query shrinks, step by step. The longest stay: long words are rarer. Then two neighbours each."""


def queries(asked: Asked, told: Directives) -> Iterator[str]:
    """All queries in the order in which they would be made; the same words may come twice."""
    if asked.document and told.by_name:
        yield asked.document
    conditions = asked.conditions if told.with_conditions else ()
    more = "".join(f" {said}" for said in (asked.document, *conditions) if said)
    if told.each_period:
        for wanted in asked.wanted:
            yield _joined(wanted.words, _when([wanted])) + more
    measures = {wanted.words: [w for w in asked.wanted if w.words == wanted.words] for wanted in asked.wanted}
    for words, group in measures.items():
        ends = group if len(group) <= 2 or not asked.is_range else [group[0], group[-1]]
        yield _joined(words, _when(ends)) + more
        yield _joined(words, _when(group[:1])) + more
    if told.each_period:
        for wanted in asked.wanted:
            yield _joined(_longest(wanted.words, FEWER[1]), _when([wanted]))
    for count in FEWER:
        for words, group in measures.items():
            yield _joined(_longest(words, count), _year(group[0]))
    for words, group in measures.items():
        yield from (_joined(pair, _year(group[0])) for pair in pairwise(words))
    for words in measures:
        yield _joined(_longest(words, FEWER[1]), "")


def _when(group: Sequence[Wanted]) -> str:
    said = " ".join(wanted.period.in_words for wanted in group if wanted.period is not None)
    return " ".join(dict.fromkeys(said.split()))


def _year(wanted: Wanted) -> str:
    return str(wanted.period.year or "") if wanted.period is not None else ""


def _longest(words: Sequence[str], count: int) -> tuple[str, ...]:
    kept = sorted(words, key=len, reverse=True)[:count]
    return tuple(word for word in words if word in kept)


def _joined(words: Sequence[str], when: str) -> str:
    return " ".join([*words, *([when] if when else [])])
