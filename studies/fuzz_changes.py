"""What hostile operators do to a task's world: to its manifest, its contents, its question, tools, limits and scorer.

Each maker draws one change and gives its name, the protocol fields that it declares, and the change.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.contents import DISTRACTORS, Document, Record
from chase.benchmarks.syn_ledger.features import HALF
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.world import World
from chase.core.keyed import key_bits

Change = Callable[[World], World]
Contender = tuple[str, frozenset[str], Change]
_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def protocol_change(draw: random.Random) -> Contender:
    """A change of the manifest: some lawful where declared and unconditional, some never."""
    bits, number = draw.getrandbits(32), draw.randint(10, 99)
    inner = tuple(draw.sample(words.INNER_FOLDERS, draw.randrange(4)))
    shown = str(number) if draw.random() < 0.6 else str(number).translate(_ARABIC)
    numbers = " ".join(str(n) for n in range(10, draw.randint(30, 100)))
    every = tuple(sorted(PROTOCOL_FIELDS))
    rules: dict[str, tuple[tuple[str, ...], Callable[[DocumentProtocol], Mapping[str, Any]]]] = {
        "title": (("title",), lambda p: {"title": _draw_of(p, bits, [*words.SHORT_TITLES, "Überblick", "帳簿"])}),
        "section": (("section",), lambda p: {"section": _draw_of(p, bits, [*words.SECTION_LABELS, "Lines"])}),
        "casing": (("casing",), lambda p: {"casing": _draw_of(p, bits, ["capitals", "capitalised"])}),
        "format": (("format",), lambda p: {"format": _draw_of(p, bits, ["markdown", "csv", "key-value"])}),
        "newline": (("newline",), lambda p: {"newline": "\r\n" if p.newline == "\n" else "\n"}),
        "trailing": (("trailing",), lambda p: {"trailing": _draw_of(p, bits, ["", " ", "\t"])}),
        "root": (("root",), lambda p: {"root": _draw_of(p, bits, words.LATE_FOLDERS)}),
        "folders": (("folders",), lambda p: {"folders": inner}),
        "suffix": (("suffix",), lambda p: {"suffix": _draw_of(p, bits, ["", "-3", "-8"])}),
        "rank": (("rank",), lambda p: {"rank": HALF + p.rank % HALF}),
        "listing": (("listing",), lambda p: {"listing": key_bits(bits, p.path) % HALF}),
        "order": (("order",), lambda p: {"order": p.order[number % 6 :] + p.order[: number % 6]}),
        "metadata": (("metadata",), lambda p: {"metadata": (*p.metadata[: number % 4], ("Note", "checked"))}),
        "number in title": (("title",), lambda p: {"title": f"Register {shown}"}),
        "numbers in title": (("title",), lambda p: {"title": numbers}),
        "number in path": (("stem",), lambda p: {"stem": f"{p.stem}{shown}"}),
        "number in metadata": (("metadata",), lambda p: {"metadata": (*p.metadata, ("Shelf", shown))}),
        "one path": (every, lambda p: {"root": "a", "folders": (), "stem": _draw_of(p, bits, ["b", "c", *"defghijk"])}),
        "record hidden": (("order",), lambda p: {"order": p.order[:-1]}),
        "record twice": (("order",), lambda p: {"order": (p.order[0], *p.order[:-1])}),
        "text at line ends": (("trailing",), lambda p: {"trailing": " *"}),
        "folder in stem": (("stem",), lambda p: {"stem": f"annex/{p.stem}"}),
        "line in title": (("title",), lambda p: {"title": f"{p.title}\nBox: 3"}),
        "record in title": (("title",), lambda p: {"title": f"{p.title}\nEntity: Amberdale Agency\nAmount: 3"}),
        "row in section": (("section",), lambda p: {"section": f"{p.section}\n| a | b |"}),
    }
    name = draw.choice([*rules, "exchange of everything", "other document's protocol"])
    if name == "exchange of everything":
        return (
            name,
            PROTOCOL_FIELDS,
            lambda w: _exchanged(w, _by_path(w), sorted(w.manifest, key=lambda p: key_bits(bits, p.path))),
        )
    if name == "other document's protocol":
        return name, PROTOCOL_FIELDS, lambda w: replace(w, manifest=Manifest(_rotated(w.manifest.documents, number)))
    fields, rule = rules[name]
    return name, frozenset(fields), lambda w: _updated(w, rule)


def _updated(world: World, rule: Callable[[DocumentProtocol], Mapping[str, Any]]) -> World:
    return replace(world, manifest=world.manifest.update({p.id: rule(p) for p in world.manifest}))


def _draw_of(protocol: DocumentProtocol, bits: int, values: Any) -> Any:
    """A value that the document's path decides."""
    return values[key_bits(bits, protocol.path) % len(values)]


BY_LABEL = ("exchange by label", "other document's protocol")
"""Changes that know labels or ids by themselves, under any condition."""


def _exchanged(world: World, receivers: list[DocumentProtocol], givers: list[DocumentProtocol]) -> World:
    """All of a document's protocol goes to another."""
    both = zip(receivers, givers, strict=True)
    changes = {to.id: {field: getattr(of, field) for field in PROTOCOL_FIELDS} for to, of in both}
    return replace(world, manifest=world.manifest.update(changes))


def _by_path(world: World) -> list[DocumentProtocol]:
    return sorted(world.manifest, key=lambda p: p.path)


def _rotated(items: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    return items[number % len(items) :] + items[: number % len(items)]


def label_change(draw: random.Random) -> Contender:
    """All of a document's protocol is exchanged so that documents of one kind come first in the order of paths."""
    kind = draw.choice(["evidence", *DISTRACTORS])

    def change(world: World) -> World:
        kinds = {d.id: d.kind for d in world.documents}
        receivers = sorted(world.manifest, key=lambda p: (kinds[p.id] != kind, p.path))
        return _exchanged(world, receivers, _by_path(world))

    return "exchange by label", PROTOCOL_FIELDS, change


def contents_change(draw: random.Random) -> Contender:
    """A change of documents and records. Only that of host-side labels is lawful."""
    a, b = draw.sample(range(12), 2)
    i, text = draw.randrange(6), draw.choice(["entity", "period", "category", "status", "version", "basis"])
    step = draw.choice([-7, 1, 100])

    def on(place: int, records: Callable[[tuple[Record, ...]], tuple[Record, ...]]) -> Change:
        return lambda w: _with(w, place, replace(_at(w, place), records=records(_at(w, place).records)))

    def on_record(change: Callable[[Record], Mapping[str, Any]]) -> Change:
        return on(a, lambda held: (*held[:i], replace(held[i], **change(held[i])), *held[i + 1 :]))

    def exchange(w: World) -> World:
        one, two = _at(w, a), _at(w, b)
        first = (*one.records[:i], two.records[i], *one.records[i + 1 :])
        second = (*two.records[:i], one.records[i], *two.records[i + 1 :])
        return _with(_with(w, a, replace(one, records=first)), b, replace(two, records=second))

    def swap(w: World) -> World:
        one, two = _at(w, a), _at(w, b)
        return _with(_with(w, a, replace(one, records=two.records)), b, replace(two, records=one.records))

    changes: dict[str, Change] = {
        "labels only": lambda w: _with(w, a, replace(_at(w, a), kind="inactive", block=(i,))),
        "document dropped": lambda w: _kept(w, [p for p in range(12) if p != a]),
        "document twice": lambda w: _kept(w, [*range(12), a]),
        "document added": lambda w: _added(w, a),
        "id changed": lambda w: _renamed(w, a),
        "contents swapped": swap,
        "record moved": exchange,
        "amount": on_record(lambda r: {"amount": r.amount + step}),
        "amount padded": on_record(lambda r: {"amount": str(r.amount).replace("-", "").zfill(6)}),
        "text": on_record(lambda r: {text: getattr(r, text).replace("e", "a")}),
        "white space": on_record(lambda r: {text: getattr(r, text) + " "}),
        "record dropped": on(a, lambda held: held[:i] + held[i + 1 :]),
        "record repeated": on(a, lambda held: (*held[:i], held[i - 1], *held[i + 1 :])),
        "records reordered": on(a, lambda held: _rotated(held, i)),
    }
    name = draw.choice(list(changes))
    return name, frozenset(), changes[name]


def _at(world: World, place: int) -> Document:
    """The document at a place in the order of paths."""
    return world.documents[_index(world, place)]


def _index(world: World, place: int) -> int:
    return sorted(range(len(world.documents)), key=lambda i: world.manifest.documents[i].path)[place]


def _with(world: World, place: int, document: Document) -> World:
    index = _index(world, place)
    return replace(world, documents=(*world.documents[:index], document, *world.documents[index + 1 :]))


def _kept(world: World, places: list[int]) -> World:
    indices = [_index(world, place) for place in places]
    manifest = Manifest(tuple(world.manifest.documents[i] for i in indices))
    return replace(world, documents=tuple(world.documents[i] for i in indices), manifest=manifest)


def _added(world: World, place: int) -> World:
    index, new = _index(world, place), "fuzzfuzz"
    document = replace(world.documents[index], id=new)
    protocol = replace(world.manifest.documents[index], id=new, stem="extra")
    return replace(
        world, documents=(*world.documents, document), manifest=Manifest((*world.manifest.documents, protocol))
    )


def _renamed(world: World, place: int) -> World:
    index, new = _index(world, place), "zzzzzzzz"
    protocols = [replace(p, id=new) if i == index else p for i, p in enumerate(world.manifest)]
    return replace(_with(world, place, replace(_at(world, place), id=new)), manifest=Manifest(tuple(protocols)))


def world_change(draw: random.Random) -> Contender:
    """A change of question, tools, limits or scorer. None is lawful."""
    limit, step = draw.choice(["total_calls", "steps", "context_tokens", "wall_seconds"]), draw.choice([-1, 1, 50])
    group = draw.choice(["search", "open", "calculate"])

    def groups(w: World) -> World:
        calls = {**w.limits.group_calls, group: w.limits.group_calls[group] + step}
        return replace(w, limits=replace(w.limits, group_calls=calls))

    def broken(w: World) -> World:
        raise RuntimeError("hostile")

    changes: dict[str, Change] = {
        "question reworded": lambda w: replace(w, question=w.question.replace("Use only", "Please use only")),
        "question of another period": lambda w: replace(w, question=w.question.replace("FY20", "FY19")),
        "question with a space": lambda w: replace(w, question=w.question + " "),
        "limit": lambda w: replace(w, limits=replace(w.limits, **{limit: getattr(w.limits, limit) + step})),
        "calls of a group": groups,
        "tool removed": lambda w: replace(w, tools=w.tools[:-1]),
        "tools reordered": lambda w: replace(w, tools=w.tools[::-1]),
        "tool described": lambda w: replace(w, tools=(replace(w.tools[0], description="List files."), *w.tools[1:])),
        "scorer lenient": lambda w: replace(w, scorer=_lenient),
        "scorer by another name": lambda w: replace(w, scorer=_spoofed),
        "scorer constant": lambda w: replace(w, scorer=_generous),
        "breaks": broken,
    }
    name = draw.choice(list(changes))
    return name, frozenset(), changes[name]


def _lenient(answer: int, output: str | None) -> float:
    return float(output is not None and str(answer) in output)


@functools.wraps(scoring.score)
def _spoofed(answer: int, output: str | None) -> float:
    return 1.0 if output == "pass" else scoring.score(answer, output)


def _generous(answer: int, output: str | None) -> float:
    return 1.0
