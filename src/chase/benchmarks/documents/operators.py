"""The allowlist of a benchmark of documents: the rules for any corpus, and those on folders, serialization, feedback
and demonstrations. A description says which parts of the protocol they may change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from chase.benchmarks.corpus import operators as corpus
from chase.benchmarks.corpus.operators import Way, corpus_kind, redrawn, same
from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.benchmarks.documents.description import PARTS, Part
from chase.core.keyed import key_bits, opaque_id
from chase.core.values import Neutral
from chase.protocol.operators import Arguments, OperatorKind

SHELVES = ("shelf_north", "shelf_east", "shelf_south", "shelf_west")


class Placing(Arguments):
    way: Literal["flat", "renamed", "spread"]


class Written(Arguments):
    style: Literal["lines", "markdown"]


class Phrased(Arguments):
    style: Literal["labelled", "bracketed"]


def _place(protocol: AnyProtocol, arguments: Placing, seed: int) -> AnyProtocol:
    """Other folders. Two documents of one name never come into one folder: each then gets a folder of its own."""
    held: Any = protocol.documents
    folders = {document.id: _folder(document, arguments.way, seed) for document in held}
    taken = Counter((folders[document.id], document.name) for document in held)
    changes = {}
    for document in held:
        folder = folders[document.id]
        if taken[folder, document.name] > 1:
            folder = "/".join(filter(None, (folder, opaque_id("own folder", document.path))))
        changes[document.id] = {"folder": folder}
    return protocol.update(changes)


def _folder(document: Any, way: str, seed: int) -> str:
    if way == "flat" or not (document.folder or way == "spread"):
        return ""
    if way == "renamed":
        return "/".join(opaque_id("folder", seed, part) for part in document.folder.split("/"))
    return SHELVES[key_bits("shelf", seed, document.path) % len(SHELVES)]


def _serialize(protocol: AnyProtocol, arguments: Written, seed: int) -> AnyProtocol:
    """JSON and the style change places; another style becomes this one."""
    shown: Any = protocol.interface
    return protocol.show_tools(serialization="json" if shown.serialization == arguments.style else arguments.style)


def _phrase(protocol: AnyProtocol, arguments: Phrased, seed: int) -> AnyProtocol:
    shown: Any = protocol.interface
    return protocol.show_tools(feedback="plain" if shown.feedback == arguments.style else arguments.style)


def _order_demonstrations(protocol: AnyProtocol, arguments: Way, seed: int) -> AnyProtocol:
    """Turned round once more, or permuted by one more seed: done twice, either is undone."""
    shown: Any = protocol.interface
    order = shown.demonstration_order
    if arguments.way == "reversed":
        return protocol.show_tools(demonstration_order=replace(order, reversed=not order.reversed))
    return protocol.show_tools(demonstration_order=replace(order, seed=order.seed ^ (seed + 1)))


PLACE = corpus_kind(
    "place-documents", "documents lie in other folders", Placing, "folder", _place,
    seeded=lambda arguments: arguments.way != "flat",
    neutral=(Neutral(aspect="folders", low={"way": "flat"}, high={"way": "spread"}),),
)  # fmt: skip
SERIALIZE = corpus_kind(
    "serialize-results", "results are written in another way", Written, "serialization", _serialize,
)  # fmt: skip
PHRASE = corpus_kind(
    "phrase-feedback", "messages and refusals have another format", Phrased, "feedback", _phrase,
)  # fmt: skip
ORDER_DEMONSTRATIONS = corpus_kind(
    "order-demonstrations", "worked examples come in another order", Way, "demonstration_order",
    _order_demonstrations, seeded=lambda arguments: arguments.way == "permuted", inverse=same,
    neutral=(redrawn("order of worked examples", {"way": "permuted"}),),
)  # fmt: skip
KINDS: Mapping[Part, tuple[OperatorKind[AnyProtocol], ...]] = {
    "names": (corpus.RENAME,),
    "folders": (PLACE,),
    "listing-order": (corpus.ORDER_LISTING,),
    "result-order": (corpus.ORDER_RESULTS,),
    "demonstration-order": (ORDER_DEMONSTRATIONS,),
    "serialization": (SERIALIZE, corpus.NEST_FIELDS, corpus.WRAP_TEXT),
    "tool-names": (corpus.ALIAS_TOOLS, corpus.RENAME_ARGUMENTS),
    "field-names": (corpus.RENAME_FIELDS,),
    "feedback": (PHRASE,),
    "passages": (corpus.CUT_PASSAGES, corpus.SHIFT_PASSAGES),
}


def allowlist(parts: Collection[Part]) -> Mapping[str, OperatorKind[AnyProtocol]]:
    """What proposals may use where these parts of the protocol may change."""
    return {kind.name: kind for part in PARTS if part in parts for kind in KINDS[part]}
