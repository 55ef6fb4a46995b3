"""Where a report's figures come from: settings, hashes, versions, the seal's record, the command that reproduces it."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from chase import __version__
from chase.report import more_charts, tables
from chase.report.document import Block, Figure, Listing, Section, Tabular, Text
from chase.report.facts import Measured, RunFacts
from chase.runs.tables import Table

CONFIG = "config.toml"
"""A copy of the run's settings, beside the report."""
_COMMANDS = {"compare-member": "compare"}


def token_section(measured: Measured) -> Section | None:
    """What each role used."""
    if not measured.tokens:
        return None
    table = tables.tokens(measured.tokens)
    figure = Figure(drawing=more_charts.tokens(measured.tokens), table=table, caption="Token use by role.")
    return Section(id="tokens", title="Token use", blocks=[figure])


def provenance_section(facts: RunFacts, *, beside: bool = False) -> Section:
    """Everything that somebody else needs to make the same; `beside`: a copy of the settings stands beside it."""
    blocks: list[Block] = [
        Listing(title="To reproduce", lines=_command(facts, beside=beside)),
        Tabular(table=_table("settings", "What decides the result", dict(_flat(facts.config))), folded=True),
        Tabular(table=_table("hashes", "Hashes", dict(_hashes(facts)), "lm"), folded=True),
        Tabular(table=_table("versions", "Versions", _versions())),
        *_seals(facts),
    ]
    if facts.problems:
        blocks.append(Text(text="Could not be read, and is left out: " + " ".join(facts.problems)))
    return Section(id="provenance", title="Settings, hashes, seal", blocks=blocks)


def _command(facts: RunFacts, *, beside: bool) -> list[str]:
    command = _COMMANDS.get(facts.head.command, facts.head.command)
    if not facts.settings:
        return [f"chase {command} …   # this run kept no settings of its own: they are its comparison's, or below"]
    if beside:
        return [f"chase {command} --config {CONFIG}   # {CONFIG} stands beside this report"]
    return [f"chase {command} --config {shlex.quote(str(facts.folder / CONFIG))}"]


def _table(name: str, title: str, values: Mapping[str, str], alignments: str = "lp") -> Table:
    return Table(
        name=name,
        title=title,
        headings=("Name", "Value"),
        rows=[[key, value] for key, value in values.items()],
        fields=("name", "value"),
        data=[[key, value] for key, value in values.items()],
        alignments=alignments,
    )


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif not _is_hash(value):
            yield f"{prefix}{key}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _hashes(facts: RunFacts) -> Iterator[tuple[str, str]]:
    named = {"content_hash": "benchmark content", "model_fingerprint": "model", "initial": "H_0"}
    for key, value in facts.config.items():
        if _is_hash(value):
            yield named.get(key, key), str(value)
    for harness in facts.harnesses:
        yield f"harness {harness.name}", harness.hash
    for entry in facts.archive.entries if facts.archive is not None else ():
        yield f"counterfactual {entry.name}", entry.hash
        yield f"counterfactual {entry.name}, what it shows", entry.views


def _versions() -> dict[str, str]:
    return {"chase-harness (this report)": __version__, "Python": platform.python_version()}


def _seals(facts: RunFacts) -> Iterator[Block]:
    if not facts.seals:
        yield Text(text="The sealed tasks were not opened for this run.")
        return
    rows = [[seal.opened_at, seal.reason or "first opening", json.dumps(seal.hashes)] for seal in facts.seals]
    yield Tabular(
        table=Table(
            name="seals",
            title="Openings of the sealed tasks, and what was fixed before each",
            headings=("Opened", "Reason", "Fixed before it"),
            rows=[
                [opened, reason, _fixed(seal.hashes)]
                for seal, (opened, reason, _) in zip(facts.seals, rows, strict=True)
            ],
            fields=("opened_at", "reason", "hashes"),
            data=rows,
            alignments="llp",
        )
    )


def _fixed(hashes: Mapping[str, Any]) -> str:
    """What a seal commits to, in short; the CSV has it whole."""
    said = [
        f"{name} {value[:12]}" if isinstance(value, str) else f"{len(value)} {name}" for name, value in hashes.items()
    ]
    return ", ".join(said)
