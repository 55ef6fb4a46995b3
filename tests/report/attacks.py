"""Runs whose every text tries to become markup or code: what a model could have written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def attack(runs: Runs, text: str) -> Runs:
    """Hostile text in every field of the results, events and candidates' records, and in every harness but `H0`."""
    spoken = "".join(letter for letter in text if letter.isprintable())  # a harness's files are read by a parser
    for run in (runs.evolution, runs.audit, runs.comparison, *members(runs)):
        folder = RunFolder(Workspace(runs.root), run)
        result = folder.read_result()
        keep = keys_of(result) | WORDS | {result.get("verdict", ""), result["run"]}
        keep |= {member["run"] for member in result.get("members", ())}
        folder.write_result("chase.hostile/1", poisoned(result, keep, text))
        for prompt in folder.path.rglob("prompt.md"):
            if prompt.parent.name != "H0":
                prompt.write_text(f"{prompt.read_text()}{spoken}\n")
        for record in folder.path.rglob("candidate.json"):
            found = json.loads(record.read_text())
            record.write_text(json.dumps(poisoned(found, keep, text)))
        for path in folder.path.glob(EVENTS):
            path.write_text("".join(f"{json.dumps(told)}\n" for told in poisoned_events(path, text)))
    return runs


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
    "gain",
    "loss",
    "unchanged",
    "H*",
    "H0",
}
