"""The values that cross folder boundaries."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.values import CheckResult, JsonLayout, ResultItem, Sighting, ToolResult, Usage

usages = st.builds(
    Usage,
    requests=st.integers(0, 5),
    input_tokens=st.integers(0, 1000),
    cached_tokens=st.integers(0, 100),
    output_tokens=st.integers(0, 100),
    cost_usd=st.none() | st.integers(0, 100).map(float),
)


@given(a=usages, b=usages)
def test_usage_adds_up(a: Usage, b: Usage) -> None:
    total = a + b
    for name in ("requests", "input_tokens", "cached_tokens", "output_tokens", "wall_seconds"):
        assert getattr(total, name) == getattr(a, name) + getattr(b, name)


@given(a=usages, b=usages)
def test_a_cost_is_known_only_if_every_request_has_one(a: Usage, b: Usage) -> None:
    costs = [usage.cost_usd for usage in (a, b) if usage.requests]
    expected = None if not costs or None in costs else sum(cost for cost in costs if cost is not None)
    assert (a + b).cost_usd == expected


def test_usage_is_read_only() -> None:
    with pytest.raises(FrozenInstanceError):
        Usage().requests = 3  # type: ignore[misc]


def test_a_tool_results_text_is_its_head_and_items() -> None:
    item = ResultItem(shown=Sighting(id="a", path="a.md"), line="a.md [a]")
    assert ToolResult(head="1 file:", items=(item,)).text == "1 file:\na.md [a]"
    assert ToolResult(head="", items=(item, item)).text == "a.md [a]\na.md [a]"
    assert ToolResult(head="no").text == "no"


def test_an_item_without_a_line_reads_as_its_fields() -> None:
    item = ResultItem(shown=Sighting(id="a", path="a.md", fields={"name": "é", "rows": [1, 2]}))
    assert item.text == '{"name": "é", "rows": [1, 2]}'
    assert ToolResult(head="1 file:", items=(item,)).text == f"1 file:\n{item.text}"
    assert ResultItem(shown=Sighting(id="a", path="a.md", fields={"name": "é"}), line="").text == ""


def test_a_result_laid_out_as_json_is_one_object_with_its_message_and_its_items_fields() -> None:
    items = tuple(
        ResultItem(shown=Sighting(id=name, path=name, hit=place, fields={"doc": name, "score": place}))
        for place, name in enumerate(("é1", "b2"))
    )
    plain = ToolResult(head="2 found", items=items, layout=JsonLayout())
    assert plain.text == ('{"message": "2 found", "results": [{"doc": "é1", "score": 0}, {"doc": "b2", "score": 1}]}')
    named = ToolResult(head="2 found", items=items, layout=JsonLayout(items="hits", message="note"))
    assert json.loads(named.text) == {"note": "2 found", "hits": [item.shown.fields for item in items]}


def test_a_json_result_leaves_out_what_it_does_not_have() -> None:
    item = ResultItem(shown=Sighting(id="a", path="a", fields={"doc": "a"}))
    assert ToolResult(head="", items=(item,), layout=JsonLayout()).text == '{"results": [{"doc": "a"}]}'
    assert ToolResult(head="No calls left.", ok=False, layout=JsonLayout()).text == '{"message": "No calls left."}'
    assert ToolResult(head="", layout=JsonLayout()).text == "{}"


def test_what_was_shown_can_be_compared_and_kept_in_sets_whatever_its_fields() -> None:
    one, two = (Sighting(id="a", path="a", fields={"tags": [tag]}) for tag in ("x", "y"))
    assert one != two
    assert len({one, two, Sighting(id="a", path="a", fields={"tags": ["x"]})}) == 2


def test_a_check_passes_only_if_something_was_checked() -> None:
    assert CheckResult(name="x", count=1).passed
    assert not CheckResult(name="x", count=0).passed
    assert not CheckResult(name="x", count=5, failures=("task: broken",)).passed
