"""Tools and results under a variant's names: shown and brought back they are the same, and what cannot be is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from chase.benchmarks.naming import (
    Operation,
    canonical_fields,
    canonical_limits,
    canonical_tools,
    show_arguments,
    show_fields,
    show_limits,
    show_tools,
)
from chase.core.values import Limits

FIND = Operation(
    name="find",
    description="Find words.",
    required=("words",),
    arguments={"words": {"type": "string"}, "most": {"type": "integer"}},
)
READ = Operation(name="read", description="Read.", required=(), arguments={"words": {"type": "string"}})
LIMITS = Limits(
    total_calls=3,
    group_calls={"look": 2},
    tool_groups={"find": "look", "read": "look"},
    steps=4,
    context_tokens=100,
    wall_seconds=1.0,
)


@dataclass(frozen=True)
class Renamed:
    tool_names: dict[str, str] = field(default_factory=lambda: {"find": "seek", "read": "open"})
    argument_names: dict[str, str] = field(
        default_factory=lambda: {"find.words": "text", "find.most": "top", "read.words": "words"}
    )
    field_names: dict[str, str] = field(default_factory=lambda: {"name": "title", "lines": "span", "text": "body"})
    field_groups: dict[str, str] = field(default_factory=lambda: {"name": "origin", "lines": "origin"})

    def argument(self, name: str) -> str:
        return self.argument_names[name]


NAMES = Renamed()
FIELDS: dict[str, Any] = {"name": "a.txt", "lines": "1-2", "text": "…"}


def test_what_is_shown_has_the_variants_names_and_comes_back_as_it_was() -> None:
    shown = show_tools([FIND, READ], NAMES)
    assert [(tool.name, sorted(tool.parameters["properties"])) for tool in shown] == [
        ("seek", ["text", "top"]),
        ("open", ["words"]),
    ]
    assert shown[0].parameters["required"] == ["text"]
    assert canonical_tools(shown, NAMES) == [
        {
            "name": each.name,
            "description": each.description,
            "parameters": {
                "type": "object",
                "properties": each.arguments,
                "required": list(each.required),
                "additionalProperties": False,
            },
        }
        for each in (FIND, READ)
    ]
    limits = show_limits(LIMITS, NAMES)
    assert limits.tool_groups == {"seek": "look", "open": "look"}
    assert canonical_limits(limits, NAMES) == asdict(LIMITS)
    assert show_arguments(NAMES, "find", {"words": "x"}) == {"text": "x"}
    assert show_fields(NAMES, FIELDS) == {"origin": {"title": "a.txt", "span": "1-2"}, "body": "…"}
    assert canonical_fields(NAMES, show_fields(NAMES, FIELDS)) == FIELDS


def test_names_that_cannot_be_told_apart_are_a_sentence() -> None:
    one_name = replace(NAMES, tool_names={"find": "seek", "read": "seek"})
    assert canonical_tools(show_tools([FIND, READ], one_name), one_name) == "two tools have one name"
    one_argument = replace(NAMES, argument_names={**NAMES.argument_names, "find.most": "text"})
    assert canonical_tools(show_tools([FIND], one_argument), one_argument) == "two arguments of find have one name"
    one_field = replace(NAMES, field_names={**NAMES.field_names, "lines": "title"})
    assert canonical_fields(one_field, {}) == "two fields have one name"
    as_a_group = replace(NAMES, field_names={**NAMES.field_names, "text": "origin"})
    assert canonical_fields(as_a_group, {}) == "two fields have one name"
    assert canonical_fields(NAMES, {}, more_groups=("body",)) == "two fields have one name"


def test_a_field_that_nobody_named_is_told_unless_the_variant_adds_it() -> None:
    shown = {"origin": {"title": "a.txt"}, "wrap": {"content": "…"}}
    assert "has no canonical name" in str(canonical_fields(NAMES, shown))
    more = {("wrap", "content"): "text"}
    assert canonical_fields(NAMES, shown, more=more, more_groups=("wrap",)) == {"name": "a.txt", "text": "…"}
