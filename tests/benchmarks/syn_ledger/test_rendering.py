"""Render → parse → render, over arbitrary protocol states and records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import FIELDS, Document, Record
from chase.benchmarks.syn_ledger.manifest import EXTENSIONS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.rendering import render

letters = st.characters(categories=("Lu", "Ll", "Nd"))
word = st.text(letters, min_size=1, max_size=8)
phrase = st.lists(word, min_size=1, max_size=3).map(" ".join)
"""Words without separators: what stands between them in a rendering does not occur in them."""

records = st.builds(
    Record,
    entity=phrase,
    period=word,
    category=phrase,
    status=phrase,
    version=word,
    basis=word,
    amount=st.integers(-(10**12), 10**12),
)
documents = st.builds(
    Document,
    id=word,
    kind=st.just("evidence"),
    records=st.tuples(*[records] * 6),
    block=st.just((0,)),
)
metadata_keys = st.sampled_from(words.METADATA_KEYS) | phrase.filter(lambda key: key.lower() not in FIELDS)


@st.composite
def protocols(draw: st.DrawFn) -> DocumentProtocol:
    return DocumentProtocol(
        id=draw(word),
        root=draw(word),
        folders=tuple(draw(st.lists(word, max_size=3))),
        stem=draw(word),
        suffix=draw(st.sampled_from(["", "-7"])),
        format=draw(st.sampled_from(["markdown", "csv", "key-value"])),
        rank=draw(st.integers(0, 100)),
        listing=draw(st.integers(0, 100)),
        order=tuple(draw(st.permutations(range(6)))),
        title=draw(phrase),
        section=draw(phrase),
        metadata=tuple(draw(st.lists(st.tuples(metadata_keys, phrase), max_size=4))),
        casing=draw(st.sampled_from(["capitalised", "capitals"])),
        newline=draw(st.sampled_from(["\n", "\r\n"])),
        trailing=draw(st.sampled_from(["", " ", "  ", "\t"])),
    )


@given(document=documents, protocol=protocols())
@settings(max_examples=80)
def test_parsing_gives_the_records_back_in_the_order_shown(document: Document, protocol: DocumentProtocol) -> None:
    file = render(document, protocol)
    shown = tuple(document.records[index] for index in protocol.order)
    assert parse(file.text) == shown
    assert tuple(record for window in file.windows for record in parse(window)) == shown
    assert [len(parse(window)) for window in file.windows] == [3, 3]


@given(document=documents, protocol=protocols())
@settings(max_examples=80)
def test_rendering_what_was_parsed_gives_the_same_bytes(document: Document, protocol: DocumentProtocol) -> None:
    file = render(document, protocol)
    back: list[Any] = [None] * 6
    for index, record in zip(protocol.order, parse(file.text), strict=True):
        back[index] = record
    again = render(Document(id=document.id, kind="superseded", records=tuple(back), block=(1, 2)), protocol)
    assert again == file


@given(document=documents, protocol=protocols())
@settings(max_examples=40)
def test_line_endings_and_trailing_space_are_as_the_manifest_has_them(
    document: Document, protocol: DocumentProtocol
) -> None:
    file = render(document, protocol)
    for text in (file.text, *file.windows):
        assert text.endswith(protocol.trailing + protocol.newline)
        lines = text.split(protocol.newline)
        assert lines.pop() == ""
        assert all(line.endswith(protocol.trailing) for line in lines)
        assert text.count("\r") == (len(lines) if protocol.newline == "\r\n" else 0)


@given(document=documents, protocol=protocols())
@settings(max_examples=40)
def test_title_metadata_and_section_open_the_first_window_only(document: Document, protocol: DocumentProtocol) -> None:
    first, second = render(document, protocol).windows
    opening = [line.strip("#=[] \t") for line in first.split(protocol.newline)]
    expected = [protocol.title, *(f"{key}: {value}" for key, value in protocol.metadata), "", protocol.section]
    assert opening[: len(expected)] == expected
    tail = first.split(protocol.newline)[len(expected) :]
    assert len(second.split(protocol.newline)) in (len(tail), len(tail) - 1)  # a blank line follows a Markdown heading


def test_paths_say_folder_name_and_format(ledger: SynLedger) -> None:
    for made in list(ledger.generated.values())[:30]:
        for protocol in made.released:
            parts = [
                protocol.root,
                *protocol.folders,
                f"{protocol.stem}{protocol.suffix}.{EXTENSIONS[protocol.format]}",
            ]
            assert protocol.path.split("/") == parts


def test_the_extension_belongs_to_serialization(ledger: SynLedger) -> None:
    """Neutralising the name keeps it, neutralising serialization changes nothing else of the path."""
    moved = 0
    for task in ledger.tasks()[::16]:
        before = ledger.generated[task].released
        named = ledger.manifest(task, ledger.variant("neutralise-filename"))
        serialized = ledger.manifest(task, ledger.variant("neutralise-serialization"))
        for protocol in before:
            assert protocol.path.rsplit(".")[-1] == named[protocol.id].path.rsplit(".")[-1]
            assert protocol.path.rsplit(".")[0] == serialized[protocol.id].path.rsplit(".")[0]
            moved += protocol.path != serialized[protocol.id].path
    assert moved


def test_a_changed_manifest_leaves_records_question_and_answer(ledger: SynLedger) -> None:
    for task in ledger.tasks()[::20]:
        made = ledger.generated[task].task
        for variant in ledger.variants():
            view = ledger.view(task, ledger.variant(variant))
            assert view.question == made.question
            for document in made.documents:
                text = next(file.text for file in view.files if file.id == document.id)
                assert sorted(parse(text), key=str) == sorted(document.records, key=str)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a text about nothing",
        "| Entity | Period |\n| --- | --- |\n| A | B |\n",
        "Entity: A\nPeriod: B\n",
        "Entity,Period\nA,B\n",
        "Entity,Period,Category,Status,Version,Basis,Amount\nA,B\n",
        "Entity,Period,Category,Status,Version,Basis,Amount\nA,B,C,D,E,F,much\n",
        "| Entity | Period | Category | Status | Version | Basis | Amount |\n| --- |\n| A | B |\n",
    ],
)
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


# The manifest


def test_manifest_orders_are_by_sort_key_then_id_or_name(ledger: SynLedger) -> None:
    manifest = next(iter(ledger.generated.values())).released
    flat = manifest.update({p.id: {"rank": 5, "listing": 5} for p in manifest})
    by_id = sorted(p.id for p in manifest)
    by_name = [p.id for p in sorted(manifest, key=lambda p: (p.path.rsplit("/", 1)[-1], p.path))]
    assert [p.id for p in flat.ranked()] == by_id
    assert [p.id for p in flat.listed()] == [p.id for p in manifest.listed()] == by_name
    last = flat.update({by_id[0]: {"rank": 6}, by_name[-1]: {"listing": 4}})
    assert [p.id for p in last.ranked()] == [*by_id[1:], by_id[0]]
    assert [p.id for p in last.listed()] == [by_name[-1], *by_name[:-1]]


def test_updating_a_manifest_copies_only_what_changes(ledger: SynLedger) -> None:
    manifest = next(iter(ledger.generated.values())).released
    first, *rest = manifest
    same = manifest.update({first.id: {"title": first.title}})
    assert same == manifest
    assert same.documents[0] is first
    other = manifest.update({first.id: {"title": "Another"}})
    assert [p.title for p in other] == ["Another", *(p.title for p in rest)]
    assert manifest.changed_fields(other) == {"title"}
    assert manifest.changed_fields(manifest) == frozenset()
    assert manifest.documents[0].title == first.title
    assert Manifest(other.documents)[first.id].title == "Another"
