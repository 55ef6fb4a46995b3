"""docs/harness.md says what the schema says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.hooks import HOOKS
from chase.harness.folder import FILE_BYTES, MOST_MODULES, parse_files
from chase.harness.spec import COMPONENTS, FrontMatter, Structure
from chase.harness.typed_toml import describe_fields

DOCS = Path(__file__).parents[2] / "docs" / "harness.md"
TEXT = DOCS.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| `")]
FIELDS = {row[0].strip("`"): row for row in ROWS}


def default_at(value: Any, key: str) -> str:
    for part in key.split("."):
        value = value[part]
    return "unset" if value is None else json.dumps(value)


def defaults(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True)


def test_every_field_is_documented_with_its_values_and_nothing_else_is() -> None:
    fields = {**describe_fields(Structure), **describe_fields(FrontMatter)}
    assert {key: row[1] for key, row in FIELDS.items()} == fields


def test_the_documented_defaults_are_the_defaults() -> None:
    known = {**defaults(Structure(benchmark="any")), **defaults(FrontMatter())}
    in_lists = {"retrieval.rewrites[].calls_left_at_most", "retrieval.rewrites[].template"}
    in_lists |= {"retrieval.rank[].observable", "retrieval.rank[].prefer"}
    required = in_lists | {"benchmark"}
    for key, row in FIELDS.items():
        if "[]" not in key and key not in required:
            assert row[2] == default_at(known, key), key
    assert {key for key, row in FIELDS.items() if row[2] == "required"} == required


def test_every_hook_is_documented_as_it_is_called() -> None:
    assert set(re.findall(r"^- `(\w+)\(", TEXT, re.MULTILINE)) == set(HOOKS)
    for hook in HOOKS.values():
        assert f"- `{hook.signature}`:" in TEXT


def test_components_placeholders_and_sizes_are_documented() -> None:
    for name, track in COMPONENTS.items():
        assert f"| {name} | {track} |" in TEXT
    for name in SynLedger.placeholders:
        assert f"`{{{name}}}`" in TEXT
    assert f"{FILE_BYTES >> 10} KiB" in TEXT
    assert f"at most {MOST_MODULES} guidance modules" in TEXT


def test_syn_ledgers_bounds_and_placeholders_are_documented() -> None:
    bounds, limits = SynLedger.bounds, SynLedger.limits
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if "| at most " in line]
    assert {row[0]: int(row[2].removeprefix("at most ")) for row in rows} == {
        "results that a search shows": bounds.results,
        "query templates": bounds.templates,
        "different files opened": bounds.opened,
        "calls kept for reading on": bounds.reserved_reads,
        "file-opening calls": limits.group_calls["open"],
        "calls in all": limits.total_calls,
        "characters of all texts together": limits.context_tokens,
    }
    bounded = {key for row in rows for key in re.findall(r"`([^`]+)`", row[1])}
    assert bounded <= {*FIELDS, "retrieval.rewrites"}
    assert re.findall(r"^- `{(\w+)}`: ", TEXT, re.MULTILINE) == list(SynLedger.placeholders)


def test_the_documents_own_examples_are_valid() -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    toml = next(text for kind, text in blocks if kind == "toml")
    module = next(text for _, text in blocks if text.startswith("+++"))
    files = {
        "harness.toml": f'benchmark = "syn-ledger"\n{toml}',
        "prompt.md": "Use the tools.",
        "guidance/percent.md": module,
    }
    harness = parse_files(files, where="docs")
    assert harness.structure.retrieval.merge == "round-robin"
    assert harness.guidance[0].when.question_has_any == ("percentage",)
