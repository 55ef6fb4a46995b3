"""Variants of a benchmark of documents by name: each changes one side of the protocol. None is known as neutral."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.protocol.operators import KindOperator, OperatorKind

Allowed = Mapping[str, OperatorKind[AnyProtocol]]
_VARIANTS: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = {
    "released": (),
    "plain-names": (
        ("rename-documents", {"style": "opaque"}),
        ("place-documents", {"way": "spread"}),
        ("order-listing", {"way": "permuted"}),
    ),
    "other-order": (("order-results", {"among": "page", "way": "permuted"}),),
    "reversed-order": (("order-results", {"among": "page", "way": "reversed"}),),
    "other-tools": (("alias-tools", {"words": "desk"}), ("rename-arguments", {"words": "library"})),
    "other-results": (("rename-fields", {"words": "desk"}), ("nest-fields", {"group": "origin"})),
    "in-lines": (("serialize-results", {"style": "lines"}), ("phrase-feedback", {"style": "labelled"})),
    "in-markdown": (("serialize-results", {"style": "markdown"}),),
    "other-passages": (("cut-passages", {"lines": 20}), ("shift-passages", {"by": 5})),
}
"""Name → operators; those that the description does not allow are left out."""


def variants_of(allowed: Allowed) -> Iterator[str]:
    """The variants of which something is left."""
    for name in _VARIANTS:
        if name == "released" or variant_operators(name, allowed):
            yield name


def variant_operators(name: str, allowed: Allowed) -> tuple[KindOperator[AnyProtocol], ...]:
    return tuple(allowed[kind].make(arguments) for kind, arguments in _VARIANTS[name] if kind in allowed)
