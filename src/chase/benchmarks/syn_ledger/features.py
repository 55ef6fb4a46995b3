"""Observable features that can be planted: each has a favorable and an unfavorable way to show a document.

The paper's five are planted by default. Five more exist so that the same machinery can be tried on a
benchmark that plants something else. A feature that is not planted takes its level from a hash of the
document's id.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.contents import Document
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol

Change = Mapping[str, Any]
"""Values for some fields of a document's protocol."""

SHORT_PREAMBLE = 2
"""Lines of metadata, of four that there are."""
HALF = 1 << 31
"""Sort keys below it belong to the favorable half of an order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """One observable feature. `styles` gives each document its two ways to be shown."""

    name: str
    favorable: str
    unfavorable: str
    styles: Callable[[tuple[Document, ...], random.Random], list[tuple[Change, Change]]]
    """(favorable, unfavorable) changes for each document; may look at nothing that tells evidence apart."""
    is_favorable: Callable[[DocumentProtocol, Document], bool]
    """The level that a document is shown with, read from its protocol state."""


def _filename(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    short = rng.sample(words.SHORT_STEMS, len(documents))
    long = rng.sample(words.LONG_STEMS, len(documents))
    return [({"stem": a}, {"stem": b}) for a, b in zip(short, long, strict=True)]


def _depth(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    return [({"folders": ()}, {"folders": tuple(rng.sample(words.INNER_FOLDERS, 2))}) for _ in documents]


def _rank(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    keys = [rng.randrange(HALF) for _ in documents]
    return [({"rank": key}, {"rank": HALF + key}) for key in keys]


def _position(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    """The block opens the first window, or the continuation: the two halves exchanged."""
    styles: list[tuple[Change, Change]] = []
    for document in documents:
        rest = [i for i in range(len(document.records)) if i not in document.block]
        rng.shuffle(rest)
        first = (*document.block, *rest)
        styles.append(({"order": first}, {"order": first[3:] + first[:3]}))
    return styles


def _serialization(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    return [({"format": "markdown"}, {"format": rng.choice(("csv", "key-value"))}) for _ in documents]


def _digits(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    return [({"suffix": ""}, {"suffix": f"-{rng.randint(2, 9)}"}) for _ in documents]


def _preamble(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
    """The same lines, two of them or all four."""
    styles: list[tuple[Change, Change]] = []
    for _ in documents:
        values = {
            "Prepared by": rng.choice(words.PREPARERS),
            "Held at": rng.choice(words.OFFICES),
            "Box": _code(rng, 4),
            "Desk": _code(rng, 3),
        }
        lines = tuple((key, values[key]) for key in rng.sample(words.METADATA_KEYS, len(words.METADATA_KEYS)))
        styles.append(({"metadata": lines[:SHORT_PREAMBLE]}, {"metadata": lines}))
    return styles


def _code(rng: random.Random, letters: int) -> str:
    return "".join(rng.choices(words.CODE_LETTERS, k=letters))


def _choice(
    field: str, favorable: tuple[str, ...], unfavorable: tuple[str, ...]
) -> Callable[[tuple[Document, ...], random.Random], list[tuple[Change, Change]]]:
    def styles(documents: tuple[Document, ...], rng: random.Random) -> list[tuple[Change, Change]]:
        return [({field: rng.choice(favorable)}, {field: rng.choice(unfavorable)}) for _ in documents]

    return styles


FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature(
            name="filename",
            favorable="short, regular, lexically early name",
            unfavorable="longer, lexically late name",
            styles=_filename,
            is_favorable=lambda p, _: p.stem in words.SHORT_STEMS,
        ),
        Feature(
            name="depth",
            favorable="shallow path",
            unfavorable="deeper path",
            styles=_depth,
            is_favorable=lambda p, _: not p.folders,
        ),
        Feature(
            name="rank",
            favorable="earlier in broad-query results",
            unfavorable="later in broad-query results",
            styles=_rank,
            is_favorable=lambda p, _: p.rank < HALF,
        ),
        Feature(
            name="position",
            favorable="candidate block in the first window",
            unfavorable="candidate block in the continuation",
            styles=_position,
            is_favorable=lambda p, d: all(p.order.index(i) < 3 for i in d.block),
        ),
        Feature(
            name="serialization",
            favorable="fixed-order Markdown table",
            unfavorable="equivalent CSV or key–value records",
            styles=_serialization,
            is_favorable=lambda p, _: p.format == "markdown",
        ),
        Feature(
            name="digits",
            favorable="no digit in the name",
            unfavorable="a digit at the end of the name",
            styles=_digits,
            is_favorable=lambda p, _: p.suffix == "",
        ),
        Feature(
            name="folder",
            favorable="top folder early in the alphabet",
            unfavorable="top folder late in the alphabet",
            styles=_choice("root", words.EARLY_FOLDERS, words.LATE_FOLDERS),
            is_favorable=lambda p, _: p.root in words.EARLY_FOLDERS,
        ),
        Feature(
            name="preamble",
            favorable="two lines of metadata over the records",
            unfavorable="four of them",
            styles=_preamble,
            is_favorable=lambda p, _: len(p.metadata) == SHORT_PREAMBLE,
        ),
        Feature(
            name="title",
            favorable="short title",
            unfavorable="long title",
            styles=_choice("title", words.SHORT_TITLES, words.LONG_TITLES),
            is_favorable=lambda p, _: p.title in words.SHORT_TITLES,
        ),
        Feature(
            name="casing",
            favorable="field names capitalised",
            unfavorable="field names in capitals",
            styles=_choice("casing", ("capitalised",), ("capitals",)),
            is_favorable=lambda p, _: p.casing == "capitalised",
        ),
    )
}

PAPER_FEATURES = ("filename", "depth", "rank", "position", "serialization")
