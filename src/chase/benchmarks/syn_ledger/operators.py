"""Syn-Ledger's allowlist: question-independent rules on protocol state and a seed.

An operator sees a task's manifest and nothing else. It tells documents apart by their paths, never by their ids, so
a rule cannot single out a document that it was told about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.features import HALF, Change
from chase.benchmarks.syn_ledger.manifest import EXTENSIONS, DocumentProtocol, Manifest
from chase.core.keyed import key_bits, opaque_id, rng
from chase.core.values import Neutral
from chase.protocol.operators import Arguments, OperatorKind

ORDER_SPAN = 2 * HALF
"""Sort keys lie below it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aspect:
    """A protocol component that can be exchanged between documents."""

    fields: tuple[str, ...]
    level: Callable[[DocumentProtocol], float]
    """What is low and what is high in it."""
    alike: Callable[[DocumentProtocol, DocumentProtocol, int], Change]
    """(document, the one whose level is taken, seed) → the values that make all documents alike."""

    def of(self, protocol: DocumentProtocol) -> Change:
        return {name: getattr(protocol, name) for name in self.fields}


def _copy(*names: str) -> Callable[[DocumentProtocol, DocumentProtocol, int], Change]:
    return lambda _, model, __: {name: getattr(model, name) for name in names}


def _neutral_name(protocol: DocumentProtocol, model: DocumentProtocol, seed: int) -> Change:
    """A name of its own for each document, as long as the model's: names cannot be equal."""
    letters = max(5, len(model.stem))
    return {"stem": opaque_id("name", seed, protocol.path, letters=letters), "suffix": ""}


def _neutral_key(field: str) -> Callable[[DocumentProtocol, DocumentProtocol, int], Change]:
    return lambda protocol, _, seed: {field: key_bits(field, seed, protocol.path) % ORDER_SPAN}


ASPECTS: Mapping[str, Aspect] = {
    "name": Aspect(fields=("stem", "suffix"), level=lambda p: len(p.stem), alike=_neutral_name),
    "digits": Aspect(fields=("suffix",), level=lambda p: len(p.suffix), alike=_copy("suffix")),
    "folder": Aspect(fields=("root",), level=lambda p: ord(p.root[0]), alike=_copy("root")),
    "depth": Aspect(fields=("folders",), level=lambda p: len(p.folders), alike=_copy("folders")),
    "format": Aspect(fields=("format",), level=lambda p: len(EXTENSIONS[p.format]), alike=_copy("format")),
    "rank": Aspect(fields=("rank",), level=lambda p: p.rank, alike=_neutral_key("rank")),
    "listing": Aspect(fields=("listing",), level=lambda p: p.listing, alike=_neutral_key("listing")),
    "title": Aspect(fields=("title",), level=lambda p: len(p.title), alike=_copy("title")),
    "casing": Aspect(fields=("casing",), level=lambda p: p.casing == "capitals", alike=_copy("casing")),
    "preamble": Aspect(fields=("metadata",), level=lambda p: len(p.metadata), alike=_copy("metadata")),
    "section": Aspect(fields=("section",), level=lambda p: ord(p.section[0]), alike=_copy("section")),
}
_ASPECT_WORDS: Mapping[str, str] = {
    "name": "file names",
    "digits": "numbers in file names",
    "folder": "top folders",
    "depth": "folder depths",
    "format": "file formats",
    "rank": "order of search results",
    "listing": "order of file listings",
    "title": "titles",
    "casing": "capitals of field names",
    "preamble": "preambles",
    "section": "section labels",
}
AspectName = Literal[
    "name", "digits", "folder", "depth", "format", "rank", "listing", "title", "casing", "preamble", "section"
]
AspectOrRecords = AspectName | Literal["records"]
Changes = Mapping[str, Change]


class OnAspect(Arguments):
    aspect: AspectOrRecords


class Equalise(Arguments):
    aspect: AspectName
    to: Literal["low", "high"] = "low"

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        """A neutral order has no level: both ways to write it are one."""
        if self.aspect in ("rank", "listing"):
            object.__setattr__(self, "to", "low")
        return self


class Reencode(Arguments):
    format: Literal["markdown", "csv", "key-value"]


class Relayout(Arguments):
    depth: int = Field(ge=0, le=4)


class Reorder(Arguments):
    order: Literal["rank", "listing"]
    by: Literal["path", "name", "depth", "format", "seed"]


class Shift(Arguments):
    by: int = Field(ge=1, le=5)


class Restyle(Arguments):
    detail: Literal["line-endings", "trailing-whitespace", "metadata-order", "section-labels"]


def _by_path(manifest: Manifest) -> list[DocumentProtocol]:
    return sorted(manifest, key=lambda p: p.path)


def _aspect_fields(arguments: OnAspect | Equalise) -> frozenset[str]:
    return frozenset({"order"} if arguments.aspect == "records" else ASPECTS[arguments.aspect].fields)


def _spread(ordered: Sequence[DocumentProtocol], order: str) -> Changes:
    """Sort keys that put documents in this order, spread evenly."""
    step = ORDER_SPAN // len(ordered)
    return {p.id: {order: place * step} for place, p in enumerate(ordered)}


def _with_keys(manifest: Manifest, aspect: str) -> Manifest:
    """The manifest, in which a listing by name has become one by sort keys where the listing is to be changed."""
    return manifest.update(_spread(manifest.listed(), "listing")) if aspect == "listing" else manifest


def _exchange(aspect: Aspect, receivers: list[DocumentProtocol], givers: list[DocumentProtocol]) -> Changes:
    return {receiver.id: aspect.of(giver) for receiver, giver in zip(receivers, givers, strict=True)}


def _permute(manifest: Manifest, arguments: OnAspect, seed: int) -> Manifest:
    """Documents exchange the aspect's values at random; records are shuffled within each document."""
    if arguments.aspect == "records":
        return manifest.update(
            {p.id: {"order": tuple(rng("records", seed, p.path).sample(p.order, len(p.order)))} for p in manifest}
        )
    manifest = _with_keys(manifest, arguments.aspect)
    givers = sorted(manifest, key=lambda p: key_bits("permute", seed, arguments.aspect, p.path))
    return manifest.update(_exchange(ASPECTS[arguments.aspect], _by_path(manifest), givers))


def _reverse(manifest: Manifest, arguments: OnAspect, seed: int) -> Manifest:
    """Low and high documents exchange the aspect's values; records are shown last to first."""
    if arguments.aspect == "records":
        return manifest.update({p.id: {"order": p.order[::-1]} for p in manifest})
    if arguments.aspect in ("rank", "listing"):
        name = arguments.aspect
        manifest = _with_keys(manifest, name)
        return manifest.update({p.id: {name: ORDER_SPAN - 1 - getattr(p, name)} for p in manifest})
    aspect = ASPECTS[arguments.aspect]
    ordered = sorted(manifest, key=lambda p: (aspect.level(p), p.path))
    return manifest.update(_exchange(aspect, ordered, ordered[::-1]))


def _reverse_inverse(arguments: OnAspect) -> Mapping[str, Any] | None:
    """Exact for ranks and records; elsewhere ties make it irreversible, and a listing is no longer one by name."""
    return {"aspect": arguments.aspect} if arguments.aspect in ("rank", "records") else None


def _equalise(manifest: Manifest, arguments: Equalise, seed: int) -> Manifest:
    """All documents get the lowest or the highest level; names and orders become neutral."""
    aspect = ASPECTS[arguments.aspect]
    pick = min if arguments.to == "low" else max
    model = pick(_by_path(manifest), key=aspect.level)
    return manifest.update({p.id: aspect.alike(p, model, seed) for p in manifest})


def _reencode(manifest: Manifest, arguments: Reencode, seed: int) -> Manifest:
    return manifest.update({p.id: {"format": arguments.format} for p in manifest})


def _relayout(manifest: Manifest, arguments: Relayout, seed: int) -> Manifest:
    """Every file lies the same number of folders deep, in folders drawn by the seed."""
    return manifest.update(
        {
            p.id: {"folders": tuple(rng("layout", seed, p.path).sample(words.INNER_FOLDERS, arguments.depth))}
            for p in manifest
        }
    )


_REORDER_KEYS: Mapping[str, Callable[[DocumentProtocol, int], tuple[Any, ...]]] = {
    "path": lambda p, _: (p.path,),
    "name": lambda p, _: (p.stem, p.path),
    "depth": lambda p, _: (len(p.folders), p.path),
    "format": lambda p, _: (p.format, p.path),
    "seed": lambda p, seed: (key_bits("reorder", seed, p.path),),
}


def _reorder(manifest: Manifest, arguments: Reorder, seed: int) -> Manifest:
    """Listing or search results in another order; what matches stays before what does not."""
    ordered = sorted(manifest, key=lambda p: _REORDER_KEYS[arguments.by](p, seed))
    return manifest.update(_spread(ordered, arguments.order))


def _shift(manifest: Manifest, arguments: Shift, seed: int) -> Manifest:
    """Records move on by some places, the last ones to the front; by three exchanges the two windows."""
    return manifest.update({p.id: {"order": p.order[-arguments.by :] + p.order[: -arguments.by]} for p in manifest})


_DETAILS: Mapping[str, tuple[str, Callable[[DocumentProtocol], Any]]] = {
    "line-endings": ("newline", lambda p: "\r\n" if p.newline == "\n" else "\n"),
    "trailing-whitespace": ("trailing", lambda p: "" if p.trailing else "  "),
    "metadata-order": ("metadata", lambda p: p.metadata[::-1]),
    "section-labels": ("section", lambda p: words.SECTION_LABELS[-1 - words.SECTION_LABELS.index(p.section)]),
}
"""Each change undoes itself."""


def _restyle(manifest: Manifest, arguments: Restyle, seed: int) -> Manifest:
    field, change = _DETAILS[arguments.detail]
    return manifest.update({p.id: {field: change(p)} for p in manifest})


def _permuted(arguments: OnAspect) -> str:
    if arguments.aspect == "records":
        return "records shuffled within each file"
    between = "" if arguments.aspect in ("rank", "listing") else " between files"
    return f"{_ASPECT_WORDS[arguments.aspect]} shuffled{between}"


def _reversed(arguments: OnAspect) -> str:
    if arguments.aspect == "records":
        return "records shown last to first"
    if arguments.aspect in ("rank", "listing"):
        return f"{_ASPECT_WORDS[arguments.aspect]} turned round"
    return f"{_ASPECT_WORDS[arguments.aspect]} swapped"


def _equalised(arguments: Equalise) -> str:
    if arguments.aspect == "name":
        return f"file names made meaningless, all of one {'short' if arguments.to == 'low' else 'long'} length"
    if arguments.aspect in ("rank", "listing"):
        return f"{_ASPECT_WORDS[arguments.aspect]} made neutral"
    return f"{_ASPECT_WORDS[arguments.aspect]} made equal ({arguments.to})"


def _reordered(arguments: Reorder) -> str:
    by = "drawn at random" if arguments.by == "seed" else f"by {arguments.by}"
    return f"{_ASPECT_WORDS[arguments.order]} {by}"


_REDRAWN = ("name", "rank", "listing")
"""Aspects whose values differ between files in any case: neutral values are drawn."""


def _neutral_aspects() -> tuple[Neutral, ...]:
    """Equal values for every aspect; numbers in names go with the names."""
    return tuple(
        Neutral(
            aspect=words,
            low={"aspect": aspect, "to": "low"},
            high={"aspect": aspect, "to": "high"},
            equal=aspect not in _REDRAWN,
        )
        for aspect, words in _ASPECT_WORDS.items()
        if aspect != "digits"
    )


ALLOWLIST: Mapping[str, OperatorKind[Manifest]] = {
    kind.name: kind
    for kind in (
        OperatorKind(
            name="permute",
            version=1,
            summary="documents exchange an aspect's values at random; records are shuffled",
            arguments=OnAspect,
            fields=_aspect_fields,
            in_words=_permuted,
            run=_permute,
            seeded=lambda _: True,
            neutral=(
                Neutral(aspect="order of records", low={"aspect": "records"}, high={"aspect": "records"}, equal=False),
            ),
        ),
        OperatorKind(
            name="reverse",
            version=1,
            summary="low and high documents exchange an aspect's values; orders are turned round",
            arguments=OnAspect,
            fields=_aspect_fields,
            in_words=_reversed,
            run=_reverse,
            inverse=_reverse_inverse,
        ),
        OperatorKind(
            name="equalise",
            version=1,
            summary="all documents get one level of an aspect",
            arguments=Equalise,
            fields=_aspect_fields,
            in_words=_equalised,
            run=_equalise,
            seeded=lambda a: a.aspect in _REDRAWN,
            neutral=_neutral_aspects(),
        ),
        OperatorKind(
            name="re-encode",
            version=1,
            summary="all documents are written in one format",
            arguments=Reencode,
            fields=lambda _: frozenset({"format"}),
            in_words=lambda a: f"all files written as {a.format}",
            run=_reencode,
        ),
        OperatorKind(
            name="re-layout",
            version=1,
            summary="all files lie equally deep",
            arguments=Relayout,
            fields=lambda _: frozenset({"folders"}),
            in_words=lambda a: f"all files put {a.depth} folder{'s'[: a.depth != 1]} deep",
            run=_relayout,
            seeded=lambda a: a.depth > 0,
        ),
        OperatorKind(
            name="re-order",
            version=1,
            summary="the listing or search results come in another order",
            arguments=Reorder,
            fields=lambda a: frozenset({a.order}),
            in_words=_reordered,
            run=_reorder,
            seeded=lambda a: a.by == "seed",
        ),
        OperatorKind(
            name="shift",
            version=1,
            summary="records move on by some places within their document",
            arguments=Shift,
            fields=lambda _: frozenset({"order"}),
            in_words=lambda a: f"records moved on by {a.by} within each file",
            run=_shift,
            inverse=lambda a: {"by": 6 - a.by},
        ),
        OperatorKind(
            name="restyle",
            version=1,
            summary="a presentation detail changes: line endings, trailing white space, metadata order, labels",
            arguments=Restyle,
            fields=lambda a: frozenset({_DETAILS[a.detail][0]}),
            in_words=lambda a: f"{a.detail.replace('-', ' ')} changed",
            run=_restyle,
            inverse=lambda a: {"detail": a.detail},
        ),
    )
}
"""What proposals for Syn-Ledger may use. Constructions are not here."""
