"""Structural policies as pure functions: what a harness's retrieval and tool policy make of queries and hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from chase.core.interfaces import Observable
from chase.core.keyed import canonical_json
from chase.core.observables import distinct_ranks
from chase.core.stop_words import STOP_WORDS
from chase.core.values import Placeholder, ResultItem, Sighting
from chase.harness.spec import Preference, ReadOn, Retrieval, Rewrite, placeholders_of


def expand(template: str, slots: Mapping[str, Sequence[str]], placeholders: Mapping[str, Placeholder]) -> list[str]:
    """The queries of a template: one, or one for each value of a placeholder that stands for each. An empty slot
    makes none.
    """
    used = dict.fromkeys(placeholders_of(template))
    if any(not slots.get(name) for name in used):
        return []
    each = [name for name in used if placeholders[name].each]
    rows = zip(*(slots[name] for name in each), strict=False) if each else [()]
    first = {name: values[0] for name, values in slots.items() if values}
    return [template.format(**{**first, **dict(zip(each, row, strict=True))}) for row in rows]


def applies(rule: Rewrite, *, calls: int, searches: int) -> bool:
    """Whether a rewrite's condition holds with so many calls left in all, and so many searches."""
    bounds = (
        (rule.calls_left_at_least, calls, rule.calls_left_at_most),
        (rule.searches_left_at_least, searches, rule.searches_left_at_most),
    )
    return all((low is None or low <= left) and (high is None or left <= high) for low, left, high in bounds)


def clean_query(query: str, policy: Retrieval, rule: Rewrite | None = None) -> str:
    """The query without stop words and short ones and cut to the longest length, as policy and rewrite have it."""
    drops = policy.drop_stop_words or (rule is not None and rule.drop_stop_words)
    shortest = rule.shortest_term if rule is not None else 0
    most = min((n for n in (policy.most_terms, rule.most_terms if rule is not None else 0) if n), default=None)
    if not drops and not shortest and most is None:
        return query
    words = [(word, word.lower().strip(".,;:?!")) for word in query.split()]
    kept = [word for word, term in words if not (drops and term in STOP_WORDS) and len(term) >= shortest]
    return " ".join(kept[:most])


def relaxed(query: str) -> str | None:
    """The query with its last third of words dropped, at least one; None where one word is left."""
    words = query.split()
    kept = words[: len(words) - max(1, len(words) // 3)]
    return " ".join(kept) if kept else None


def rerank(
    items: Sequence[ResultItem], preferences: Sequence[Preference], observables: Mapping[str, Observable]
) -> list[ResultItem]:
    """The items by their place plus their rank on each preferred observable, weighted. Ties keep their order, and what
    does not match the query stays behind what does."""
    scores = [float(place) for place in range(len(items))]
    for preference in preferences:
        observable = observables[preference.observable]
        ranks, count = distinct_ranks([observable(item.shown) for item in items])
        for place, rank in enumerate(ranks):
            # What cannot be seen of a document counts as the middle, neither for nor against it.
            known = (count - 1) / 2 if rank is None else rank if preference.prefer == "low" else count - 1 - rank
            scores[place] += preference.weight * known
    order = sorted(range(len(items)), key=lambda place: (items[place].shown.matches is False, scores[place]))
    return [items[place] for place in order]


def hit_key(item: ResultItem) -> str:
    """What makes two hits the same: the document, and where it is opened. Passages of a document are different hits."""
    return canonical_json([item.shown.id, item.opens])


def merge(results: Sequence[Sequence[ResultItem]], policy: Retrieval) -> list[ResultItem]:
    """The hits of several queries in one list, each hit once."""
    if policy.merge == "round-robin":
        rows = [item for row in zip_longest(*results) for item in row if item is not None]
    else:
        rows = [item for result in results for item in result]
    seen: dict[str, ResultItem] = {}
    for item in rows:
        seen.setdefault(hit_key(item), item)
    return list(seen.values())


def documents_in_turn(items: Sequence[ResultItem]) -> list[ResultItem]:
    """The best hit of each document, then the second of each, and so on; what matches stays before what does not."""
    turns: Counter[tuple[bool, str]] = Counter()
    places: list[tuple[bool, int]] = []
    for item in items:
        behind = item.shown.matches is False
        places.append((behind, turns[behind, item.shown.id]))
        turns[behind, item.shown.id] += 1
    return [items[at] for at in sorted(range(len(items)), key=places.__getitem__)]


def reads_on(policy: ReadOn, shown: Sighting, observables: Mapping[str, Observable]) -> bool:
    """Whether the engine reads the document's continuation after this window."""
    if policy.when != "observable" or policy.observable is None:
        return policy.when == "always"
    value = observables[policy.observable](shown)
    if value is None:
        return False
    return value <= policy.at_most if policy.at_most is not None else value >= (policy.at_least or 0.0)
