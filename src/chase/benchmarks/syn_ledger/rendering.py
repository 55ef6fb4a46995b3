"""The deterministic renderer: contents and manifest in, files out. Nothing else decides what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chase.benchmarks.syn_ledger.contents import ABSENT, FIELDS, Document, Record
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol

VERSION = 2
WINDOW = 3
"""Records that one `open_file` call shows."""

CASINGS: Mapping[str, Callable[[str], str]] = {"capitalised": str.capitalize, "capitals": str.upper}
"""How field names are written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedFile:
    """A document as shown: its whole text, and the pieces that the tools give out."""

    id: str
    path: str
    text: str
    windows: tuple[str, ...]


def render(document: Document, protocol: DocumentProtocol) -> RenderedFile:
    """The document as its protocol has it shown. The same arguments give the same bytes."""
    records = [document.records[index] for index in protocol.order]
    labels = [CASINGS[protocol.casing](name) for name in FIELDS if getattr(records[0], name) != ABSENT]
    end = protocol.trailing + protocol.newline
    preamble, head, *rows = (end.join([*lines, ""]) for lines in _LAYOUTS[protocol.format](protocol, labels, records))
    between = end if protocol.format == "key-value" else ""
    return RenderedFile(
        id=document.id,
        path=protocol.path,
        text=preamble + head + between.join(rows),
        windows=(preamble + head + between.join(rows[:WINDOW]), head + between.join(rows[WINDOW:])),
    )


def _values(record: Record) -> list[str]:
    """Its fields' values, but for those that records of its form do not have."""
    values = (record.entity, record.period, record.category, record.status, record.version, record.basis)
    return [*(value for value in values if value != ABSENT), str(record.amount)]


def _markdown(protocol: DocumentProtocol, labels: list[str], records: list[Record]) -> list[list[str]]:
    preamble = [
        f"# {protocol.title}",
        *(f"{key}: {value}" for key, value in protocol.metadata),
        "",
        f"## {protocol.section}",
        "",
    ]
    head = ["| " + " | ".join(labels) + " |", "|" + " --- |" * len(labels)]
    return [preamble, head, *(["| " + " | ".join(_values(record)) + " |"] for record in records)]


def _csv(protocol: DocumentProtocol, labels: list[str], records: list[Record]) -> list[list[str]]:
    preamble = [
        f"# {protocol.title}",
        *(f"# {key}: {value}" for key, value in protocol.metadata),
        "",
        f"# {protocol.section}",
    ]
    return [preamble, [",".join(labels)], *([",".join(_values(record))] for record in records)]


def _key_value(protocol: DocumentProtocol, labels: list[str], records: list[Record]) -> list[list[str]]:
    preamble = [
        f"= {protocol.title} =",
        *(f"{key}: {value}" for key, value in protocol.metadata),
        "",
        f"[{protocol.section}]",
    ]
    rows = [[f"{label}: {value}" for label, value in zip(labels, _values(record), strict=True)] for record in records]
    return [preamble, [], *rows]


_LAYOUTS = {"markdown": _markdown, "csv": _csv, "key-value": _key_value}
"""Each gives the lines of the preamble, of the head over the records, and of each record."""
