"""docs/harness.md says what the schema says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from docs.make_harness import PAGE, made
from pydantic import BaseModel

from chase.agents.submission import plain_schema
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.engine.hook_types import TYPES
from chase.engine.hooks import HOOKS, stubs
from chase.harness.folder import FILE_BYTES, MOST_MODULES, parse_files
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import COMPONENTS, Activation, FrontMatter, Structure
from chase.harness.typed_toml import describe_fields
from chase.testing.scripted import call
from tests.engine.rollouts import events, follow, make_harness, make_job

TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| `")]
FIELDS = {row[0].strip("`"): row for row in ROWS}


def test_every_field_is_documented_with_its_values_default_and_meaning_and_nothing_else_is() -> None:
    """The page is made of the code; the schema says the same of ranges and defaults as the models do."""
    assert made(TEXT) == TEXT, "run `python docs/make_harness.py`"
    fields = [*describe_fields(Structure), *describe_fields(FrontMatter)]
    assert list(FIELDS) == [field.key for field in fields]
    assert [field.key for field in fields if len(field.meaning) < 20 or not field.meaning.endswith(".")] == []
    assert FIELDS["retrieval.most_terms"][1:3] == ["an integer from 0 to 50", "0"]
    assert FIELDS["benchmark"][2] == "required"


def test_the_page_is_made_of_what_stands_in_the_code() -> None:
    spoilt = TEXT.replace("Longest query in words", "Shortest query in words")
    assert spoilt != TEXT
    assert made(spoilt) == TEXT
    assert set(re.findall(r"<!-- made: (\w+) -->", TEXT)) == {
        "top", "retrieval", "tools", "control", "when", "hooks", "types",
    }  # fmt: skip


@pytest.mark.parametrize("model", [Structure, Activation, FrontMatter])
def test_every_field_of_the_schema_says_what_it_means(model: type[BaseModel]) -> None:
    def undescribed(node: Any, place: str) -> list[str]:
        if isinstance(node, list):
            return [key for item in node for key in undescribed(item, place)]
        if not isinstance(node, dict):
            return []
        own = [f"{place}.{key}" for key, field in node.get("properties", {}).items() if "description" not in field]
        return own + [key for name, item in node.items() for key in undescribed(item, f"{place}.{name}")]

    assert undescribed(plain_schema(model), "") == []


def test_every_hook_and_every_key_of_its_types_is_documented() -> None:
    for hook in HOOKS.values():
        assert f"- `{hook.signature}`: {hook.doc}" in TEXT
    stub = stubs()
    for kind in TYPES:
        assert f"class {kind.name}(" in stub
        for key, (_, meaning) in kind.fields.items():
            assert f"    # {meaning}\n    {key}: " in stub
            assert re.search(rf"^\| \| `{key}` \| .* \| {re.escape(meaning)} \|$", TEXT, re.MULTILINE)
    used = " ".join(kind for hook in HOOKS.values() for kind in hook.parameters.values())
    assert set(re.findall(r"[A-Z]\w+", used)) <= {kind.name for kind in TYPES}


async def test_a_hook_gets_exactly_the_keys_that_are_documented(ledger: SynLedger) -> None:
    """Every hook says which keys it got, in the trace."""
    source = """
def plan(task):
    return {"note": " ".join(sorted(task))}

def rerank(hits, state):
    global seen
    seen = " ".join(sorted(hits[0])) + " | " + " ".join(sorted(state))
    return list(range(len(hits)))

def after_tool(tool, result, state):
    return seen + " | " + " ".join(sorted(state))
"""
    rollout, _ = await follow(make_job(ledger, make_harness(source=source)), [call("search", query="a"), "1"])
    keys = {kind.name: set(kind.fields) for kind in TYPES}
    found = {event["hook"]: event["value"] for event in events(rollout, "hook")}
    assert set(found["plan"]["note"].split()) == keys["State"] | keys["Task"]
    hit, state, tool_state = found["after_tool"].split(" | ")
    assert set(hit.split()) == keys["Hit"]
    assert set(state.split()) == keys["State"]
    assert set(tool_state.split()) == keys["State"] | keys["ToolState"]


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
        "search calls": limits.group_calls["search"],
        "characters of all texts together": limits.context_tokens,
    }
    bounded = {key for row in rows for key in re.findall(r"`([^`]+)`", row[1])}
    assert bounded <= set(FIELDS)
    assert re.findall(r"^- `{(\w+)}`: ", TEXT, re.MULTILINE) == list(SynLedger.placeholders)


def test_the_documents_own_examples_are_valid(ledger: SynLedger) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    toml, papers = (text for kind, text in blocks if kind == "toml")
    module = next(text for _, text in blocks if text.startswith("+++"))
    files = {
        "harness.toml": f'benchmark = "syn-ledger"\n{toml}',
        "prompt.md": "Use the tools.",
        "guidance/percent.md": module,
    }
    harness = parse_files(files, where="docs")
    assert harness.structure.retrieval.merge == "round-robin"
    assert harness.guidance[0].when.question_has_any == ("percentage",)
    again = parse_files({**files, "harness.toml": f'benchmark = "syn-ledger"\n{papers}'}, where="docs")
    with pytest.raises(UserError, match="its search cannot be told how to match; remove it"):
        check_for_benchmark(again, ledger)
