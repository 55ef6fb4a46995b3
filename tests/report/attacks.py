"""Runs whose every text tries to become markup or code: what a model could have written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from chase.protocol.archive import Archive, ArchiveEntry, read_archive
from chase.runs.folder import RunFolder
from chase.runs.recording import EVENTS
from chase.store.workspace import Workspace
from tests.report.finished_runs import Runs

HOSTILE = (
    '=HYPERLINK("http://evil.example") <script>document.title="pwned"</script> <img src=x onerror=alert(1)>'
    "'\"><svg onload=alert(1)></svg> </style><style>*{display:none}</style> [x](javascript:alert(1)) "
    "![i](http://e/x.png) <a href='javascript:alert(1)'>y</a> | **b** `c` $x$ \\input{/etc/passwd} "
    "\\write18{id} % & # {{7*7}} {% raw %} ]]> "
    "\x1b[31mred \u202eturned G_<b>rel</b>"
)
OURS = ("at", "event", "again")
"""Fields of an event that no model writes."""
ARCHIVE = "archive.json"
OWN = ("result.json", "result.sha256", "config.toml", "parts.json")
"""Files that the run writes from its settings, or that are poisoned by themselves."""


def attack(runs: Runs, text: str) -> Runs:
    """Hostile text in every file of the runs: results, archives, events, records, histories, and every harness's texts.

    Of `H0`, which the program itself wrote, the texts stay: what a harness changes is told against them.
    """
    for run in (runs.evolution, runs.audit, runs.comparison, *members(runs)):
        folder = RunFolder(Workspace(runs.root), run)
        result = folder.read_result()
        keep = keys_of(result) | WORDS | {result.get("verdict", ""), result["run"]}
        keep |= {member["run"] for member in result.get("members", ())}
        folder.write_result("chase.hostile/1", poisoned(result, keep, text))
        poison_files(folder.path, keep, text)
    return runs


def poison_files(folder: Path, keep: set[str], text: str) -> None:
    """The same in every file of a run but its result."""
    spoken = "".join(letter for letter in text if letter.isprintable())  # a harness's files are read by a parser
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in OWN):
        if path.name == ARCHIVE:
            path.write_text(poisoned_archive(read_archive(path), keep, text).to_json())
        elif path.name == EVENTS:
            path.write_text("".join(f"{json.dumps(told)}\n" for told in poisoned_events(path, text)))
        elif path.suffix == ".json":
            path.write_text(json.dumps(poisoned(json.loads(path.read_text()), keep, text)))
        elif path.suffix == ".jsonl":
            lines = [poisoned(json.loads(line), keep, text) for line in path.read_text().splitlines()]
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        elif "H0" not in path.parts:  # texts of harnesses, prompts and notes
            path.write_text(f"{path.read_text()}\n{spoken if path.suffix != '.toml' else f'# {spoken}'}\n")


def poisoned_archive(archive: Archive, keep: set[str], text: str) -> Archive:
    """An archive with hostile entries, whose digests hold: as a run would have written it."""
    entries: list[ArchiveEntry] = []
    for entry in archive.entries:
        hostile = poisoned(entry.model_dump(mode="json"), keep, text)
        previous = entries[-1].digest() if entries else ""
        entries.append(ArchiveEntry(**{**hostile, "name": f"{text} {entry.name}", "previous": previous}))
    return replace(archive, entries=tuple(entries))


def poisoned_events(path: Path, text: str) -> Iterator[dict[str, Any]]:
    for event in map(json.loads, path.read_text().splitlines()):
        yield {name: value if name in OURS else poisoned(value, set(), text) for name, value in event.items()}


def members(runs: Runs) -> list[str]:
    """The evolutions of the comparison."""
    result = RunFolder(Workspace(runs.root), runs.comparison).read_result()
    return [member["run"] for member in result["members"]]


def poisoned(value: Any, keep: set[str], text: str) -> Any:
    """Every text of a result with the hostile one before it, but for what the program itself looks up."""
    if isinstance(value, dict):
        return {key: poisoned(each, keep, text) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, keep, text) for each in value]
    fixed = not isinstance(value, str) or value in keep or re.fullmatch(r"[0-9a-f]{64}|-?[0-9.]+|", value)
    return value if fixed else f"{text} {value}"


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


WORDS = {
    "valid",
    "invalid",
    "refused",
    "duplicate",
    "confirmed",
    "not confirmed",
    "not informative",
    "scales with the base rate",
    "battery",
    "search",
    "given",
    "shortcut",
    "honest",
    "open",
    "component",
    "neighbours",
    "gain",
    "loss",
    "unchanged",
    "H*",
    "H0",
}
