"""The values that cross folder boundaries."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.values import CheckResult, ResultItem, Shown, ToolResult, Usage

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
    item = ResultItem(shown=Shown(id="a", path="a.md"), text="a.md [a]")
    assert ToolResult(head="1 file:", items=(item,)).text == "1 file:\na.md [a]"
    assert ToolResult(head="", items=(item, item)).text == "a.md [a]\na.md [a]"
    assert ToolResult(head="no").text == "no"


def test_a_check_passes_only_if_something_was_checked() -> None:
    assert CheckResult(name="x", count=1).passed
    assert not CheckResult(name="x", count=0).passed
    assert not CheckResult(name="x", count=5, failures=("task: broken",)).passed
